"""What tables look like as text, and intervals as numbers."""

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import call, col, lit

stream = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def described(t_env, name):
    with t_env.execute_sql(f"DESCRIBE {name}").collect() as rows:
        for row in rows:
            print(row)


def created(t_env, what):
    with t_env.execute_sql(f"SHOW CREATE {what}").collect() as rows:
        for row in rows:
            print(row[0])


def written(select, kind):
    """What a query writes into a column of a type."""
    batch.execute_sql("DROP TEMPORARY TABLE IF EXISTS written")
    import tempfile

    path = tempfile.mkdtemp()
    batch.execute_sql(
        f"CREATE TEMPORARY TABLE written (v {kind}) WITH ('connector' = 'filesystem', "
        f"'path' = '{path}/t', 'format' = 'csv')"
    )
    batch.execute_sql(f"INSERT INTO written SELECT {select}").wait()
    with batch.execute_sql("SELECT * FROM written").collect() as rows:
        print(list(rows))


# --- all functions of the core module
print(sorted(stream.list_functions()))

# --- an interval of days as a number
written("CAST(INTERVAL '3' DAY AS INTERVAL DAY)", "BIGINT")

# --- an interval of hours as a number
written("INTERVAL '3' HOUR", "BIGINT")

# --- an interval of seconds as a number
written("INTERVAL '3.5' SECOND", "BIGINT")

# --- an interval of days to seconds as a number
written("INTERVAL '1 02:03:04' DAY TO SECOND", "BIGINT")

# --- an interval of minutes as an int
written("INTERVAL '90' MINUTE", "INT")

# --- an interval of months as a number
written("INTERVAL '14' MONTH", "BIGINT")

# --- an interval of months as an int
written("INTERVAL '14' MONTH", "INT")

# --- an interval of years as an int
written("INTERVAL '2' YEAR", "INT")

# --- an interval of years to months as an int
written("INTERVAL '2-3' YEAR TO MONTH", "INT")

# --- an interval of hours as a text
raises(lambda: written("INTERVAL '3' HOUR", "STRING"), Exception, "sink column 'v' at position 1")

# --- days between two timestamps as a number
written("(TIMESTAMP '2020-01-03 00:00:00' - TIMESTAMP '2020-01-01 00:00:00') DAY", "BIGINT")

# --- hours between two timestamps as a number
written("(TIMESTAMP '2020-01-03 00:00:00' - TIMESTAMP '2020-01-01 00:00:00') HOUR", "BIGINT")

# --- days between two dates as a number
written("(DATE '2020-01-03' - DATE '2020-01-01') DAY", "BIGINT")

# --- months between two dates as a number
written("(DATE '2020-03-01' - DATE '2020-01-01') MONTH", "BIGINT")

# --- days and seconds between two columns
batch.execute_sql(
    "CREATE TEMPORARY VIEW pairs AS SELECT * FROM (VALUES (TIMESTAMP '2020-01-01 00:00:00', "
    "TIMESTAMP '2020-01-03 01:00:00')) AS t(a, b)"
)
for unit in ("DAY", "HOUR", "MINUTE", "SECOND", "MONTH", "YEAR", "DAY TO SECOND"):
    written(f"(b - a) {unit} FROM pairs", "BIGINT")
    written(f"(a - b) {unit} FROM pairs", "BIGINT")

# --- time and an interval between two others
written("a + (b - a) DAY FROM pairs", "TIMESTAMP(0)")
written("a + (b - a) HOUR FROM pairs", "TIMESTAMP(0)")

# --- a time attribute in batch mode
for t_env in (stream, batch):
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE clicks (ts TIMESTAMP(3), p AS PROCTIME(), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '1')"
    )
    described(t_env, "clicks")
    print(t_env.from_path("clicks").get_resolved_schema())
    print(t_env.from_path("clicks").select(col("ts"), col("p")).get_resolved_schema())

# --- time attributes of a view in batch mode
for t_env in (stream, batch):
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE clicks2 (ts TIMESTAMP(3), p AS PROCTIME(), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', "
        "'number-of-rows' = '1')"
    )
    t_env.execute_sql("CREATE TEMPORARY VIEW seen AS SELECT ts, p FROM clicks2")
    described(t_env, "seen")

# --- an unresolved schema with a key
schema = (
    Schema.new_builder()
    .column("id", DataTypes.BIGINT())
    .column("name", DataTypes.STRING())
    .primary_key("id")
    .build()
)
print(schema)

# --- an unresolved schema with a key and more
schema = (
    Schema.new_builder()
    .column("id", DataTypes.BIGINT().not_null())
    .column("ts", DataTypes.TIMESTAMP(3))
    .column_by_expression("later", col("ts") + lit(1).hour)
    .column_by_metadata("at", DataTypes.TIMESTAMP(3), "timestamp", True)
    .watermark("ts", col("ts") - lit(5).seconds)
    .primary_key_named("pk", "id")
    .build()
)
print(schema)


# --- a key of a column that may be null
def keyed(kind):
    schema = Schema.new_builder().column("id", kind).primary_key("id").build()
    return TableDescriptor.for_connector("datagen").schema(schema).build()


for make in (stream.create_temporary_table, stream.create_table):
    raises(
        lambda: make("nullable_key", keyed(DataTypes.BIGINT())),
        Exception,
        "Invalid primary key 'PK_id'. Column 'id' is nullable.",
    )
raises(
    lambda: stream.from_descriptor(keyed(DataTypes.BIGINT())),
    Exception,
    "Invalid primary key 'PK_id'. Column 'id' is nullable.",
)
stream.create_temporary_table("keyed", keyed(DataTypes.BIGINT().not_null()))
described(stream, "keyed")
created(stream, "TABLE keyed")

# --- a table of a descriptor with expressions
stream.create_temporary_table(
    "computed",
    TableDescriptor.for_connector("datagen")
    .schema(
        Schema.new_builder()
        .column("id", DataTypes.BIGINT())
        .column("ts", DataTypes.TIMESTAMP(3))
        .column_by_expression("twice", col("id") * 2 + 1)
        .column_by_expression("big", call("upper", col("id").cast(DataTypes.STRING())))
        .watermark("ts", col("ts") - lit(5).seconds)
        .build()
    )
    .option("number-of-rows", "1")
    .build(),
)
described(stream, "computed")
print(stream.from_path("computed").get_resolved_schema())
with stream.execute_sql("SHOW CREATE TABLE computed").collect() as rows:
    print([line for line in list(rows)[0][0].split("\n") if "WATERMARK" not in line])

# --- a view of elements
elements = stream.from_elements([(1, "a")], ["id", "name"])
stream.create_temporary_view("elements", elements)
described(stream, "elements")
raises(
    lambda: created(stream, "VIEW elements"),
    Exception,
    "SHOW CREATE VIEW is not supported for views registered by Table API.",
)

# --- a view of a filter
stream.execute_sql(
    "CREATE TEMPORARY TABLE numbers (id BIGINT, name STRING) WITH ('connector' = 'datagen')"
)
stream.create_temporary_view(
    "few",
    stream.from_path("numbers")
    .filter(col("id") > 3)
    .select(col("id") + 1, col("name").upper_case.alias("n")),
)
described(stream, "few")

# --- a function of Python in a plan
from pyflink.table.udf import udf

stream.create_temporary_function("added", udf(lambda a, b: a + b, result_type="BIGINT"))
numbers = stream.from_elements([(1, 2)], ["a", "b"])
plan = numbers.select(call("added", col("a"), col("b"))).explain()
print("PythonCalc(select=[added(a, b) AS _c0])" in plan)

# --- advice on a group of a stream
from pyflink.table import ExplainDetail

numbers = stream.from_elements([(1, 2)], ["a", "b"])
stream.get_config().set("table.exec.mini-batch.enabled", "false")
plan = numbers.group_by(col("a")).select(col("b").sum).explain(ExplainDetail.PLAN_ADVICE)
print("advice[1]: [ADVICE] You might want to enable local-global two-phase optimization" in plan)
