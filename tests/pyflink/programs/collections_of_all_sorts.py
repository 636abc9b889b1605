"""What from_collection takes."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection(x * x for x in range(3)).print("generator")
env.from_collection(range(2)).print("range")
env.from_collection((5, 6)).print("tuple")
env.from_collection({7}).print("set")
env.from_collection({"key": "value"}).print("dict")
env.from_collection("abc").print("text")
env.from_collection([]).print("empty")
env.from_collection([], type_info=Types.INT()).print("empty typed")
env.from_collection([1, "a", None, (2,)]).map(repr).print("mixed")
env.from_collection([[1, "a"]], Types.ROW([Types.INT(), Types.STRING()])).print("list as row")
env.from_collection([{"a": 1}], Types.ROW_NAMED(["a"], [Types.INT()])).print("dict as row")
env.execute()
