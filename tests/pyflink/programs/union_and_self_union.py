"""union() of several streams and of a stream with itself."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
one = env.from_collection([1, 2], type_info=Types.INT())
two = env.from_collection([3], type_info=Types.INT())
three = env.from_collection([4], type_info=Types.INT()).map(lambda x: x, Types.INT())
one.union(two, three).print("all")
one.union(one).map(lambda x: x * 100).print("self")
print(one.union(two).get_type())
env.execute()
