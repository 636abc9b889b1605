"""DataStream.get_type() and names after each transformation; the text of types.

compare: exactly
"""

from pyflink.common import Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessFunction


class Same(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment.get_execution_environment()
pair = Types.TUPLE([Types.STRING(), Types.INT()])
pairs = env.from_collection([("a", 1)], type_info=pair)
rows = env.from_collection([("a", 1)], Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
plain = env.from_collection([1, 2])
print(pairs.get_type(), rows.get_type(), plain.get_type())
print(env.from_collection([("a",)], Types.ROW([Types.STRING()])).get_type())
print(pairs.map(lambda x: x).get_type(), pairs.map(lambda x: 1, Types.INT()).get_type())
print(pairs.filter(bool).get_type(), pairs.flat_map(list).get_type())
print(pairs.process(Same()).get_type(), pairs.rebalance().get_type())
keyed = pairs.key_by(lambda x: x[0])
print(keyed.reduce(lambda a, b: a).get_type(), keyed.sum(1).get_type(), keyed.map(str).get_type())
print(pairs.union(pairs).get_type(), pairs.project(1, 0).get_type())
print(pairs.map(str).get_side_output(OutputTag("t", Types.LONG())).get_type())
print(pairs.get_name(), pairs.map(str).get_name(), pairs.map(str).name("mine").get_name())
print(pairs.filter(bool).get_name(), pairs.flat_map(list).get_name(), keyed.sum(1).get_name())

for made in (
    [Types.STRING(), Types.BYTE(), Types.BOOLEAN(), Types.SHORT(), Types.INT(), Types.LONG()],
    [Types.FLOAT(), Types.DOUBLE(), Types.CHAR(), Types.BIG_INT(), Types.BIG_DEC()],
    [Types.INSTANT(), Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP()],
    [Types.PICKLED_BYTE_ARRAY(), Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.INT())],
    [Types.BASIC_ARRAY(Types.INT()), Types.PRIMITIVE_ARRAY(Types.INT())],
    [Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), Types.ROW_NAMED(["a"], [Types.INT()])],
):
    print(*made, sep=" | ")
print(Types.INT() == Types.INT(), Types.INT() == Types.LONG(), pair == pairs.get_type())
print(rows.get_type().get_field_names(), [str(t) for t in rows.get_type().get_field_types()])
