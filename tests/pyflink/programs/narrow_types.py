"""Values that do not fit the type declared for a collection."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([40000, -40000, 32767], type_info=Types.SHORT()).print("short")
env.from_collection([200, -129, 127], type_info=Types.BYTE()).print("byte")
env.from_collection([2**31, 2**40 + 5], type_info=Types.INT()).print("int")
env.from_collection([1.1, 1e-50, 1e10], type_info=Types.FLOAT()).map(
    repr, output_type=Types.STRING()
).print("float")
env.from_collection([7, "s"], type_info=Types.STRING()).print("string")
env.from_collection([1.9, -1.9]).map(lambda x: x, output_type=Types.INT()).print("truncated")
env.from_collection([2, 0]).map(lambda x: x, output_type=Types.BOOLEAN()).print("boolean")
env.execute()
