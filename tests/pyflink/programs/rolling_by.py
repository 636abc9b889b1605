"""min and max replace one field, min_by and max_by take the whole record."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
rows = env.from_collection(
    [("a", 2, 1.5), ("a", 3, 0.5), ("a", 3, 7.5), ("a", 1, 9.0), ("a", 1, 8.0)],
    type_info=Types.ROW_NAMED(["k", "v", "w"], [Types.STRING(), Types.INT(), Types.FLOAT()]),
)
keyed = rows.key_by(lambda row: row.k)
keyed.min("v").print("min")
keyed.max("v").print("max")
keyed.min_by("v").print("min_by")
keyed.max_by("v").print("max_by")
keyed.sum("v").print("sum")
keyed.sum(1).print("position")
env.execute()
