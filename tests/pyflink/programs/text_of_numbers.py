"""Declared numbers and booleans print as Java writes them."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
doubles = [0.0, -0.0, 1.0, 0.1, 100.0, 1234567.0, 12345678.0, 123456789.125, 0.001, 0.0001, 1e-7]
doubles += [1e10, 1e21, 1e300, -2.5e-10, float("inf"), float("-inf"), float("nan"), 3.14159]
env.from_collection(doubles, type_info=Types.DOUBLE()).print("double")
floats = [1.1, 0.1, 3.0, 1e10, 1.5e-7, 100.0, 16777216.0, 0.001, 33554432.5]
env.from_collection(floats, type_info=Types.FLOAT()).print("float")
env.from_collection([True, False], type_info=Types.BOOLEAN()).print("boolean")
env.from_collection([1, -1, 2**31 - 1], type_info=Types.INT()).print("int")
env.from_collection([2**62], type_info=Types.LONG()).print("long")
env.from_collection(
    [(1.5, True, 2.0)], type_info=Types.TUPLE([Types.DOUBLE(), Types.BOOLEAN(), Types.FLOAT()])
).print("tuple")
env.execute()
