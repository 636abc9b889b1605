"""No record is lost or repeated by any partitioner, at parallelism 2."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection(list(range(6)), type_info=Types.INT())
same = numbers.map(lambda x: x, output_type=Types.INT())
same.rebalance().map(lambda x: x).print("rebalance")
same.rescale().map(lambda x: x).print("rescale")
same.shuffle().map(lambda x: x).print("shuffle")
same.forward().map(lambda x: x).print("forward")
same.broadcast().map(lambda x: x).print("broadcast")
env.execute()
