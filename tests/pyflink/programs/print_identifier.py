"""The prefix of print() at parallelism 1."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([1, 2], type_info=Types.INT()).print()
env.from_collection(["x"]).print("named")
env.execute()
