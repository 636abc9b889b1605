"""The prefix of print() at parallelism 2, where broadcast decides the subtasks.

compare: rows with subtasks
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
numbers.broadcast().print()
numbers.broadcast().print("all")
numbers.map(lambda x: x * 10, output_type=Types.INT()).set_parallelism(1).broadcast().print("ten")
sink = numbers.print("one")
sink.set_parallelism(1)
sink.name("a sink")
env.execute()
