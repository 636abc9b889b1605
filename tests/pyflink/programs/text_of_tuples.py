"""A declared tuple prints as Java's tuple, an undeclared one as Python's."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
source = env.from_collection([("a", 1), ("b c", -2)], type_info=PAIR)
source.print("declared")
source.map(lambda t: t).print("plain")
source.map(lambda t: t, output_type=PAIR).print("mapped")
source.map(lambda t: (t, 1.0), output_type=Types.TUPLE([PAIR, Types.DOUBLE()])).print("nested")
env.execute()
