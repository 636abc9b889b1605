"""In batch mode only the final value of each key comes out."""

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
env.set_parallelism(1)
pairs = env.from_collection(
    [("a", 1), ("b", 2), ("a", 3), ("c", 9), ("b", 0)],
    type_info=Types.TUPLE([Types.STRING(), Types.INT()]),
)
keyed = pairs.key_by(lambda pair: pair[0], key_type=Types.STRING())
keyed.sum(1).print("sum")
keyed.max_by(1).print("max_by")
keyed.reduce(lambda one, two: (one[0], one[1] * 10 + two[1])).print("reduce")
env.execute()
