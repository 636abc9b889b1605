"""Lists and maps with declared types."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)


def show(name, values, type_info):
    stream = env.from_collection(values).map(lambda value: value, output_type=type_info)
    stream.print(name)
    stream.map(repr, output_type=Types.STRING()).print(name + " seen")


show("list", [[1, 2], []], Types.LIST(Types.INT()))
show("map", [{"a": 1}, {}], Types.MAP(Types.STRING(), Types.INT()))
show(
    "inside",
    [([1, 2], {"k": 2.0})],
    Types.TUPLE([Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.DOUBLE())]),
)
env.execute()
