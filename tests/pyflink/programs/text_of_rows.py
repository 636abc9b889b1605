"""Rows with and without field names, declared and not, with a missing value."""

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.from_collection([(1, "one"), (2, None)], type_info=NAMED).print("named")
env.from_collection([Row(3, "three")], type_info=Types.ROW([Types.INT(), Types.STRING()])).print(
    "positions"
)
env.from_collection([Row(name="four", id=4)], type_info=NAMED).print("keywords")
plain = env.from_collection([(5, "five")], type_info=NAMED)
plain.map(lambda r: (r.id, r["name"], r[0], len(r), r.as_dict())).print("access")
plain.map(lambda r: Row(r.name, r.id)).print("row")
plain.map(lambda r: repr(r)).print("repr")
plain.map(lambda r: Row(id=r.id, name="x"), output_type=NAMED).map(repr).print("again")
env.execute()
