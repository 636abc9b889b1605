"""Names, orders, texts and refusals of the methods of tables."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
)
from pyflink.table.expressions import col, lit, row
from pyflink.table.udf import udf, udtf
from pyflink.table.window import Tumble
from py4j.protocol import Py4JJavaError

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
stream = StreamTableEnvironment.create(env)
batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
s = stream.from_elements([(1, "a", 2.5), (2, "b", 3.5), (3, "a", None)], ["n", "s", "f"])
b = batch.from_elements([(1, "a", 2.5), (2, "b", 3.5), (3, "a", None)], ["n", "s", "f"])
times = stream.from_data_stream(
    env.from_collection(
        [(1, 1000), (2, 4000), (3, 11000)],
        type_info=Types.ROW_NAMED(["k", "ms"], [Types.LONG(), Types.LONG()]),
    ),
    Schema.new_builder()
    .column("k", "BIGINT")
    .column("ms", "BIGINT")
    .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
    .column_by_expression("p", "PROCTIME()")
    .watermark("ts", "ts - INTERVAL '5' SECOND")
    .build(),
)


def printed(table):
    with table.execute().collect() as rows:
        for r in rows:
            print(r)


def names(table):
    print(table.get_schema().get_field_names())


# --- names of columns that nobody named
names(b.select(b.n + 1, b.s, b.n.cast(DataTypes.INT()), b.n.try_cast(DataTypes.INT()), lit(1)))
names(b.add_columns(b.n + 1, b.n * 2))
names(b.add_or_replace_columns(b.n + 1, (b.n * 2).alias("s")))
names(b.group_by(b.s).select(b.s, b.n.sum, b.n.max + 1, b.f.avg))
names(b.select(b.n.sum, b.n.max.alias("x"), b.f.avg))
r = b.select(row(b.n, b.s, row(1, 2)).alias("r"))
print(r.get_schema())
names(r.select(col("r").get(0), col("r").get("f1"), col("r").get("f2").get("f0")))
names(r.select(col("r").get("f0").cast(DataTypes.STRING()), col("r").flatten))

# --- names of the times of windows
window = Tumble.over(lit(5).seconds).on(col("ts")).alias("w")
grouped = times.window(window).group_by(col("w"))
names(grouped.select(col("w").start, col("k").sum, col("w").end))
names(grouped.select(col("k").sum, col("w").start.alias("x"), col("w").rowtime))


# --- groups by expressions with names
def sums(*groups):
    """Sums of groups, in no particular order."""
    with b.group_by(*groups).select(col("p"), b.n.sum, b.f.max).execute().collect() as rows:
        for r in sorted(rows, key=str):
            print(r)


sums((b.n % 2).alias("p"))
sums(b.s.alias("p"))
sums((b.n > 1).alias("p"), b.s)
names(b.group_by((b.n % 2).alias("p")).select(col("p"), b.n.sum))

# --- where NULL is in an order
printed(b.order_by(b.f))
printed(b.order_by(b.f.asc))
printed(b.order_by(b.f.desc))
printed(b.order_by(b.f.desc).fetch(2))
printed(s.order_by(s.f.asc).fetch(2))
printed(batch.sql_query(f"SELECT * FROM {b} ORDER BY f DESC"))

# --- orders of expressions
printed(b.order_by(b.n * -1))
printed(b.order_by((b.n % 2).desc, b.n.desc))
printed(b.order_by(b.n * -1).fetch(2))
printed(b.order_by(b.n * -1).offset(1).fetch(1))
printed(b.order_by(b.n * -1).limit(1, 1))

# --- schemas of streams with time
for spec in times.get_resolved_schema().get_watermark_specs():
    print(spec)
print(times.get_resolved_schema())
print(times.select(col("ts"), col("k")).get_schema())
print(times.get_schema().copy() == times.get_schema())
stream.execute_sql(
    "CREATE TEMPORARY TABLE keyed (a INT, b AS a + 1, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "
    "PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'datagen')"
)
print(stream.from_path("keyed").get_schema())

# --- names that do not fit
raises(lambda: b.alias("x", "y", "z", "w"), Py4JJavaError, "Aliasing more fields than we actually")
raises(lambda: b.alias("*"), Py4JJavaError, "Alias can not accept '*' as name.")
raises(lambda: b.alias("x", "x"), Py4JJavaError, "Ambiguous column name: x")
raises(lambda: b.add_columns((b.n + 1).alias("n")), Py4JJavaError, "Ambiguous column name: n")
raises(lambda: b.rename_columns(b.n.alias("s")), Py4JJavaError, "Ambiguous column name: s")
raises(
    lambda: b.rename_columns(b.n), Py4JJavaError, "Invalid alias for a renaming column", "was: n"
)
raises(
    lambda: b.rename_columns((b.n + 1).alias("k")),
    Py4JJavaError,
    "Invalid alias for a renaming column operation.",
    "But was: as(plus(n, 1), 'k')",
)
raises(
    lambda: b.add_columns(b.n.sum),
    Py4JJavaError,
    "The added field expression cannot be an aggregation",
)
raises(
    lambda: batch.from_elements([(1, "a")], ["x", "x"]),
    Py4JJavaError,
    "Field names must be unique. Found duplicates: [x]",
)
raises(
    lambda: times.window(window).group_by(col("k")).select(col("k")),
    Py4JJavaError,
    "GroupBy must contain exactly one window alias",
)

# --- numbers of rows and tables that do not fit
raises(lambda: b.fetch(-1), Py4JJavaError, "FETCH count must be equal or larger than 0.")
raises(lambda: b.offset(-1), Py4JJavaError, "Offset should be greater or equal 0")
other = "Only tables from the same TableEnvironment can be joined."
raises(lambda: s.join(b.alias("x", "y", "z"), col("n") == col("x")), Py4JJavaError, other)
raises(lambda: s.union_all(b), Py4JJavaError, other)

# --- statements that cannot be read
failed = "SQL parse failed."
raises(lambda: stream.execute_sql("SELEC 1"), Py4JJavaError, failed)
raises(lambda: stream.sql_query("SELECT 1 +"), Py4JJavaError, failed)
raises(lambda: stream.execute_sql("SELECT 'a"), Py4JJavaError, failed)
raises(lambda: stream.explain_sql("SELECT a FRO b c d"), Py4JJavaError, failed)
raises(lambda: stream.execute_sql("SELECT 1; SELECT 2"), Py4JJavaError, "only single statement")
raises(
    lambda: stream.execute_sql("SELECT nothing(1)"),
    Py4JJavaError,
    "No match found for function signature",
)
raises(
    lambda: s.execute_insert("nothing"),
    Py4JJavaError,
    "in any of the catalogs [default_catalog], nor as a temporary table",
)
try:
    stream.execute_sql("SELECT 1 +")
except Py4JJavaError as error:
    print(error.java_exception.getClass().getName())

# --- functions instead of operators
mine = StreamTableEnvironment.create(env)
mine.create_temporary_system_function("plus", udf(lambda x, y: 99, result_type=DataTypes.BIGINT()))
mine.create_temporary_system_function("UPPER", udf(lambda x: "up", result_type="STRING"))
mine.create_temporary_system_function("charLength", udf(lambda x: 77, result_type="INT"))
t = mine.from_elements([(1, "a")], ["n", "s"])
printed(t.select(t.n + 1, 1 + t.n, t.s.upper_case, t.s.char_length, t.n - 1))

# --- schemas of schemas
print(Schema.new_builder().from_resolved_schema(times.get_resolved_schema()).build())
print(Schema.new_builder().from_resolved_schema(b.get_resolved_schema()).build())
builder = Schema.new_builder()
raises(lambda: builder.column("a", 5), TypeError, "Unsupported data type: 5")
raises(lambda: builder.primary_key(), Py4JJavaError, "must be defined for at least a single column")
raises(
    lambda: builder.from_fields(["a"], []),
    Py4JJavaError,
    "Field names and field data types must have the same length.",
)

# --- sinks without a schema
pipeline = s.insert_into(TableDescriptor.for_connector("blackhole").build())
print(pipeline.get_sink_identifier())
print(pipeline.execute().get_resolved_schema().get_column_data_types())

# --- frames with fewer names
import pandas as pd

frame = pd.DataFrame({"x": [1], "y": ["a"]})
printed(batch.from_pandas(frame, ["a"]))
names(batch.from_pandas(frame, ["a"]))

# --- functions of rows
scalar = udf(lambda x: x, result_type="BIGINT")
several = udtf(lambda x: [x], result_types=["BIGINT"])
names(s.map(scalar(s.n)))
names(s.flat_map(several(s.n)))
raises(lambda: s.map(several), Py4JJavaError, "Only a scalar function can be used in the map")
raises(
    lambda: s.flat_map(scalar), Py4JJavaError, "Only a table function can be used in the flatMap"
)
raises(lambda: s.map(1), Exception)
raises(lambda: s.map("x"), Exception)
from pyflink.table.expressions import call

raises(lambda: s.select(call("nope", s.n)), Py4JJavaError, "Undefined function: nope")
raises(
    lambda: stream.compile_plan_sql("SELECT 1"),
    Exception,
    "only accepts a single SQL statement of type INSERT",
)

# --- streams of another type than their table
own = [Types.LONG(), Types.STRING(), Types.DOUBLE()]
differ = "Column types of query result and sink"
print(stream.to_append_stream(s, Types.ROW(own)).get_type())
print(stream.to_append_stream(s, Types.ROW_NAMED(["x", "y", "z"], own)).get_type())
for wrong in ([Types.INT(), *own[1:]], [*own[:2], Types.FLOAT()], own[:2], [*own, Types.INT()]):
    raises(lambda: stream.to_append_stream(s, Types.ROW(wrong)), Py4JJavaError, differ)
    raises(lambda: stream.to_retract_stream(s, Types.ROW(wrong)), Py4JJavaError, differ)
