"""What programs make tables of: arguments of types, columns, schemas, plans and settings."""

import tempfile

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    PlanReference,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from pyflink.table.catalog import Column, ObjectPath, ResolvedSchema
from pyflink.table.changelog_mode import ChangelogMode
from pyflink.table.expressions import col, lit
from pyflink.table.model_descriptor import ModelDescriptor
from pyflink.util.exceptions import TableException
from py4j.protocol import Py4JJavaError

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
ROWS = [(1, "a", 1000), (2, "b", 2000)]
ROW_TYPE = Types.ROW_NAMED(["id", "s", "ms"], [Types.INT(), Types.STRING(), Types.LONG()])
stream = env.from_collection(ROWS, type_info=ROW_TYPE)
grouped = t_env.from_elements([("x", 3), ("x", 4)], ["k", "n"])
grouped = grouped.group_by(col("k")).select(col("k"), col("n").sum.alias("s"))

invalid = "Invalid primary key 'PK_{0}'. Column '{0}' "


def schema(*columns):
    builder = Schema.new_builder()
    for name, kind in columns:
        builder.column(name, kind)
    return builder


# --- types of arguments that they do not take
element = "should be an instance of"
raises(lambda: DataTypes.ARRAY("INT"), AssertionError, "element_type INT", element)
raises(lambda: DataTypes.MULTISET("INT"), AssertionError, "element_type INT", element)
raises(lambda: DataTypes.LIST_VIEW(5), AssertionError, "element_type 5", element)
raises(lambda: DataTypes.MAP("INT", DataTypes.INT()), AssertionError, "key_type INT", element)
raises(lambda: DataTypes.MAP(DataTypes.INT(), 5), AssertionError, "value_type 5", element)
raises(lambda: DataTypes.MAP_VIEW(DataTypes.INT(), 5), AssertionError, element)
raises(lambda: DataTypes.FIELD("x", "INT"), AssertionError, "data_type INT", element)
raises(lambda: DataTypes.FIELD(5, DataTypes.INT()), AssertionError, "field name 5 should be string")
raises(lambda: DataTypes.FIELD("x", DataTypes.INT(), 5), AssertionError, "description 5 should be")
for wrong in (
    lambda: DataTypes.DECIMAL(0, 0),
    lambda: DataTypes.DECIMAL(39, 2),
    lambda: DataTypes.DECIMAL(3, 5),
    lambda: DataTypes.TIME(10),
    lambda: DataTypes.TIMESTAMP(10),
    lambda: DataTypes.TIMESTAMP(-1),
    lambda: DataTypes.TIMESTAMP_LTZ(10),
    lambda: DataTypes.INTERVAL(DataTypes.YEAR(5)),
    lambda: DataTypes.INTERVAL(DataTypes.DAY(7)),
    lambda: DataTypes.INTERVAL(DataTypes.SECOND(10)),
):
    raises(wrong, AssertionError)
raises(lambda: t_env.from_elements([(1, "a")], ["a", 5]), AssertionError, "field name 5")
two = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.INT())])
print(two.from_sql_type((1,)))

# --- fields of rows as attributes
print(col("a").foo, col("a").foo.bar, col("a").alias("x").foo)
row = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.INT())])
nested = t_env.from_elements([(Row(1, 2),)], DataTypes.ROW([DataTypes.FIELD("r", row)]))
with nested.select(col("r").x, nested.r.y + 1).execute().collect() as rows:
    print(list(rows))

# --- operators with the value in front
a = col("a")
print(2 * a, 2 + a, 2 - a, 2 / a, True & (a > 1), True | (a > 1))
print(lit(1.5), lit("x"), lit(True))
raises(lambda: lit(1, "INT"), TypeError, "Unsupported data type: INT")
raises(lambda: lit(1.5, DataTypes.INT()), Py4JJavaError)

# --- columns
print(Column.physical("a`b", DataTypes.INT()))
print(Column.metadata("m", DataTypes.BIGINT(), "k", True).with_comment("it's"))
raises(lambda: Column.physical("a", "INT"), TypeError, "Unsupported data type: INT")
raises(lambda: Column.physical("a", None), TypeError, "Unsupported data type: None")
raises(
    lambda: ResolvedSchema.physical(["a"], [DataTypes.INT(), DataTypes.INT()]),
    Py4JJavaError,
    "Mismatch between number of columns names and data types.",
)
raises(lambda: ObjectPath.from_string(""), Py4JJavaError, "fullName cannot be null or empty")

# --- columns with comments
t_env.execute_sql(
    "CREATE TEMPORARY TABLE noted (a INT NOT NULL COMMENT 'it''s', b AS a + 1 COMMENT 'bb', "
    "PRIMARY KEY (a) NOT ENFORCED) WITH ('connector' = 'datagen')"
)
noted = t_env.from_path("noted")
print(noted.get_resolved_schema())
print(noted.get_schema())
print(Schema.new_builder().from_resolved_schema(noted.get_resolved_schema()).build())
computed = noted.get_resolved_schema().get_columns()[1].get_expression()
print(str(computed))

# --- texts of schemas
print(Schema.new_builder().build())
print(schema(("a b", "INT"), ("c`d", DataTypes.INT())).build())
print(schema(("a", DataTypes.INT(False))).primary_key("a").build())

# --- schemas that cannot be
raises(
    lambda: schema(("a", "INT")).primary_key("a").primary_key("a"),
    Py4JJavaError,
    "Multiple primary keys are not supported.",
)
raises(
    lambda: Schema.new_builder().from_row_data_type(DataTypes.INT()),
    Py4JJavaError,
    "Data type of ROW expected.",
)
raises(
    lambda: TableSchema(["a", "a"], [DataTypes.INT(), DataTypes.INT()]),
    Py4JJavaError,
    "Field names must be unique. Duplicate field: 'a'",
)


def described(builder):
    descriptor = TableDescriptor.for_connector("datagen").schema(builder.build()).build()
    return t_env.from_descriptor(descriptor).get_resolved_schema()


raises(
    lambda: described(schema(("a", DataTypes.INT())).primary_key("b")),
    Py4JJavaError,
    invalid.format("b") + "does not exist.",
)
raises(
    lambda: described(schema(("a", DataTypes.INT())).primary_key("a")),
    Py4JJavaError,
    invalid.format("a") + "is nullable.",
)
raises(
    lambda: described(schema(("a", "INT")).column_by_expression("c", "a + 1").primary_key("c")),
    Py4JJavaError,
    invalid.format("c") + "is not a physical column.",
)
raises(
    lambda: described(schema(("a", "INT"), ("a", "INT"))),
    Py4JJavaError,
    "Schema must not contain duplicate column names. Found duplicates: [a]",
)
named = schema(("a", DataTypes.INT(False))).primary_key_named("mine", "a")
print(described(named))

# --- schemas of streams with further columns
print(
    t_env.from_data_stream(
        stream,
        Schema.new_builder()
        .column_by_expression("t", "TO_TIMESTAMP_LTZ(ms, 3)")
        .watermark("t", "t - INTERVAL '1' SECOND")
        .build(),
    ).get_resolved_schema()
)
timed = Schema.new_builder().column_by_metadata("t", "TIMESTAMP_LTZ(3)", "rowtime")
timed = t_env.from_data_stream(stream, timed.watermark("t", "SOURCE_WATERMARK()").build())
print(timed.get_resolved_schema())
more = Schema.new_builder().column_by_expression("n", col("id") + 1).build()
print(t_env.from_data_stream(stream, more).get_resolved_schema())
print(t_env.from_data_stream(stream, Schema.new_builder().build()).get_resolved_schema())
print(t_env.from_data_stream(stream, col("s"), col("p").proctime).get_resolved_schema())
print(t_env.from_data_stream(stream, col("s"), col("r").rowtime).get_resolved_schema())

# --- schemas of changelogs
first = Row("a", 1)
first.set_row_kind(RowKind.INSERT)
changes = env.from_collection([first], type_info=Types.ROW([Types.STRING(), Types.INT()]))
keyed = schema(("f0", DataTypes.STRING(False)), ("f1", "INT")).primary_key("f0").build()
print(t_env.from_changelog_stream(changes, keyed, ChangelogMode.upsert()).get_resolved_schema())

# --- streams of tables with another schema
differ = "Column types of query result and sink"
for wrong in (
    schema(("s", "BIGINT"), ("k", "STRING")),
    schema(("k", "STRING"), ("s", "INT")),
    schema(("k", "STRING")),
):
    raises(lambda: t_env.to_changelog_stream(grouped, wrong.build()), Py4JJavaError, differ)
raises(
    lambda: t_env.to_changelog_stream(
        grouped, schema(("k", "STRING"), ("s", "BIGINT")).primary_key("k").build()
    ),
    Py4JJavaError,
    invalid.format("k") + "is nullable.",
)
raises(
    lambda: t_env.to_data_stream(grouped),
    TableException,
    "doesn't support consuming update changes which is produced by node",
)
wider = schema(("k", "STRING"), ("s", "DOUBLE")).build()
print(list(t_env.to_changelog_stream(grouped, wider).execute_and_collect()))

# --- compiled plans and what refers to them
own = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
own.execute_sql("CREATE TABLE bh (n BIGINT, s STRING) WITH ('connector' = 'blackhole')")
pipeline = own.from_elements([(1, "a")], ["n", "s"]).insert_into("bh")
print(str(pipeline))
plan = own.compile_plan_sql("INSERT INTO bh VALUES (1, 'a')")
print(str(plan).splitlines()[0], plan.explain().splitlines()[0])
for kept in (
    PlanReference.from_smile_bytes(plan.as_smile_bytes()),
    PlanReference.from_json_string(plan.as_json_string()),
):
    print(own.load_plan(kept).explain().splitlines()[0])
with tempfile.TemporaryDirectory() as folder:
    file = f"{folder}/new/plan.json"
    plan.write_to_file(file)
    plan.write_to_file(file, True)
    raises(lambda: plan.write_to_file(file), TableException, "Cannot overwrite the plan file")
    print(own.load_plan(PlanReference.from_file(file)).explain().splitlines()[0])
gone = PlanReference.from_file("/nowhere/plan.json")
print(gone, repr(gone.get_file()))
print(PlanReference.from_json_string("{"), PlanReference.from_smile_bytes(b"abc"))
raises(lambda: own.load_plan(gone), TableException, "Cannot load Plan from file")

# --- statement sets of nothing
empty = t_env.create_statement_set()
print(repr(empty.explain()))
raises(lambda: empty.execute(), Py4JJavaError, "No operators defined in streaming topology.")
raises(
    lambda: empty.add_insert_sql("SELECT 1"), TableException, "Only insert statement is supported"
)

# --- descriptors of models
print(ModelDescriptor.for_provider("p").build())
print(ModelDescriptor.for_provider("p").option("a", "b").comment("c").build())

# --- time zones and dialects
config = TableEnvironment.create(EnvironmentSettings.in_streaming_mode()).get_config()
for zone in ("GMT+08:00", "GMT-03:00", "+09:00", "Asia/Tokyo", "UTC"):
    config.set_local_timezone(zone)
    print(config.get_local_timezone())
raises(lambda: config.set_local_timezone("nope"), Exception, "Unknown time-zone ID: nope")
raises(lambda: config.set_sql_dialect("x"), TypeError, "Unsupported SQL dialect: x, supported SQL")
print(config.get_python_executable())

# --- times in a zone that is an offset
zoned = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
zoned.get_config().set_local_timezone("GMT+08:00")
text = "SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING), DATE_FORMAT(TO_TIMESTAMP_LTZ(0, 3), 'HH:mm')"
with zoned.execute_sql(text).collect() as rows:
    print(list(rows))

# --- names of functions without parentheses
asked = "SELECT CURRENT_DATE, current_timestamp, LocalTime, CURRENT_DATE AS d, NOW()"
print(t_env.sql_query(asked).get_schema().get_field_names())
