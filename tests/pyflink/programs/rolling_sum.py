"""Rolling aggregates in streaming mode give a result for every record."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
pairs = env.from_collection(
    [("a", 1), ("b", 2), ("a", 3), ("b", 0), ("a", -5)],
    type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
)
keyed = pairs.key_by(lambda pair: pair[0])
keyed.sum(1).print("sum")
keyed.min(1).print("min")
keyed.max(1).print("max")
plain = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda pair: pair[0])
plain.sum(1).print("plain")
plain.sum(-1).print("last")
plain.sum(0).print("text")
env.from_collection([3, 1, 2], type_info=Types.INT()).key_by(lambda x: 0).sum().print("int")
env.execute()
