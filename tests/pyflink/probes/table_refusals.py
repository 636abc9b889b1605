"""What tables, functions and environments refuse, and the texts of their parts."""

from pyflink.common import Configuration, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    FormatDescriptor,
    Schema,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from pyflink.table.catalog import CatalogDatabase, ObjectPath
from pyflink.table.expressions import col, lit
from pyflink.table.udf import AggregateFunction, TableAggregateFunction, udaf, udf, udtaf, udtf

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
table = t_env.from_elements([(1, "a")], ["n", "s"])
schema = (
    Schema.new_builder()
    .column("a", DataTypes.INT(False))
    .column_by_expression("b", "a + 1")
    .column_by_metadata("c", DataTypes.TIMESTAMP(3), "timestamp", True)
    .watermark("c", "c - INTERVAL '5' SECOND")
    .primary_key("a")
    .build()
)

# --- columns that are not there
raises(
    lambda: table.nothing,
    AttributeError,
    "The current table has no column named 'nothing', available columns: [n, s]",
)
raises(lambda: table.select(col("nothing")), Exception, "nothing")
raises(lambda: table.filter(col("nothing") > 1), Exception, "nothing")
raises(lambda: table.drop_columns(col("nothing")), Exception)
raises(lambda: table.group_by(col("nothing")).select(col("n").sum), Exception)
raises(lambda: table.order_by(col("nothing")), Exception)
raises(lambda: table.rename_columns(col("nothing").alias("x")), Exception)
raises(lambda: table.add_columns(col("n")), Exception)

# --- expressions of the wrong type
raises(lambda: table.filter(col("n")), Exception)
raises(lambda: table.select(col("n").like("x")), Exception)
raises(lambda: table.select(col("s").sum), Exception)
raises(lambda: table.select(col("n").sum, col("s")), Exception)
raises(lambda: table.join(table, col("n") == col("n")), Exception)
raises(lambda: table.union(table.select(col("n"))), Exception)
raises(lambda: table.union_all(table.select(col("s"), col("n"))), Exception)

# --- environments
raises(
    lambda: TableEnvironment.create(1),
    TypeError,
    "argument should be EnvironmentSettings or Configuration",
)
conf = Configuration()
conf.set_string("execution.runtime-mode", "BATCH")
print(TableEnvironment.create(conf).get_config().get("execution.runtime-mode", "none"))
settings = (
    EnvironmentSettings.new_instance()
    .in_batch_mode()
    .with_built_in_catalog_name("c")
    .with_built_in_database_name("d")
    .build()
)
print(
    settings.is_streaming_mode(),
    settings.get_built_in_catalog_name(),
    settings.get_built_in_database_name(),
)
other = TableEnvironment.create(settings)
print(
    other.get_current_catalog(),
    other.get_current_database(),
    other.list_catalogs(),
    other.list_databases(),
)
config = t_env.get_config()
config.set("table.exec.state.ttl", "5 s").set_local_timezone("Europe/Berlin")
print(
    config.get("table.exec.state.ttl", ""),
    config.get_local_timezone(),
    config.get("nothing.like.it", "default"),
)
raises(lambda: config.set_local_timezone("Nowhere/Land"), Exception)
print(config.get_sql_dialect(), config.get_max_generated_code_length())

# --- functions of aggregates


class Bare(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, *args):
        pass

    def get_value(self, accumulator):
        return 1


class BareTable(TableAggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, *args):
        pass

    def emit_value(self, accumulator):
        yield 1


raises(lambda: Bare().retract([0], 1), RuntimeError, "Method retract is not implemented")
raises(lambda: Bare().merge([0], [[0]]), RuntimeError, "Method merge is not implemented")
raises(lambda: Bare().get_result_type(), RuntimeError, "Method get_result_type is not implemented")
raises(
    lambda: Bare().get_accumulator_type(),
    RuntimeError,
    "Method get_accumulator_type is not implemented",
)
Bare.get_accumulator_type = lambda self: DataTypes.INT()
raises(lambda: udaf(Bare()), RuntimeError, "Method get_result_type is not implemented")
raises(
    lambda: udaf(Bare(), result_type=1),
    TypeError,
    "Invalid returnType: returnType should be DataType or str but is 1",
)
raises(
    lambda: udaf(Bare(), result_type=DataTypes.INT(), accumulator_type=1),
    TypeError,
    "Invalid accumulator_type: accumulator_type should be DataType or str but is 1",
)
raises(
    lambda: udtaf(BareTable(), result_type=DataTypes.INT(), func_type="pandas"),
    ValueError,
    "The func_type must be 'general', got pandas.",
)
raises(
    lambda: udtf(1, result_types=[DataTypes.INT()]),
    TypeError,
    "Invalid function: not a function or callable (__call__ is not defined)",
)
raises(
    lambda: udtf(lambda x: x, input_types=[1], result_types=[DataTypes.INT()]),
    TypeError,
    "Invalid input_type: input_type should be DataType or str but contains 1",
)

# --- views that are refused
stream = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
raises(lambda: t_env.from_data_stream(stream, 1), ValueError, "Invalid arguments for 'fields'")
raises(
    lambda: t_env.create_temporary_view("v", stream, 1),
    ValueError,
    "Invalid arguments for 'fields'",
)
t_env.create_temporary_view("v", table)
raises(lambda: t_env.create_temporary_view("v", table), Exception, "already exists")
print(
    t_env.list_temporary_views(),
    t_env.list_views(),
    t_env.drop_temporary_view("v"),
    t_env.drop_temporary_view("v"),
)

# --- texts of schemas
print(schema)
print(Schema.new_builder().from_schema(schema).column("z", "BIGINT").build())
print(
    schema == Schema.new_builder().from_schema(schema).build(),
    schema == Schema.new_builder().build(),
)

# --- texts of descriptors
descriptor = (
    TableDescriptor.for_connector("filesystem")
    .schema(schema)
    .option("path", "/tmp/x")
    .format(FormatDescriptor.for_format("csv").option("field-delimiter", ";").build())
    .partitioned_by("a")
    .comment("a table")
    .build()
)
print(descriptor)
print(sorted(descriptor.get_options().items()))
print(descriptor.get_comment(), descriptor.get_partition_keys(), descriptor.get_schema() == schema)
print(FormatDescriptor.for_format("json").option("a", "b").build())

# --- older schemas
old = TableSchema.builder().field("a", DataTypes.INT()).field("b", DataTypes.STRING()).build()
print(
    old,
    old.get_field_names(),
    old.get_field_count(),
    old.get_field_data_type("a"),
    old.get_field_data_type(1),
    old.get_field_name(0),
)
print(
    old.get_field_data_type("nothing"),
    old.get_field_name(5),
    old == old.copy(),
    old.to_row_data_type(),
)
raises(lambda: old.get_field_data_type(1.5), TypeError, "Expected field index or field name")

# --- texts of paths and tables of catalogs
path = ObjectPath("d", "t")
print(
    path,
    path.get_full_name(),
    path.get_database_name(),
    path.get_object_name(),
    path == ObjectPath.from_string("d.t"),
)
print(
    CatalogDatabase.create_instance({"k": "v"}, "comment").get_properties(),
    CatalogDatabase.create_instance({}, "c").get_comment(),
)
print(str(table)[:13], table.get_schema())

# --- plans
text = table.select(col("n") + 1).explain(ExplainDetail.CHANGELOG_MODE)
print(
    "== Abstract Syntax Tree ==" in text,
    "== Optimized Execution Plan ==" in text,
    "changelogMode=[I]" in text,
)
print("== Abstract Syntax Tree ==" in t_env.explain_sql("SELECT 1"))

# --- columns and conditions that do not fit
from py4j.protocol import Py4JJavaError
from pyflink.table.expressions import range_, with_columns, without_columns
from pyflink.table.window import Session, Slide, Tumble

batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
one = batch.from_elements([(1, "a")], ["n", "s"])
other = batch.from_elements([("x", 1)], ["a", "b"])
narrow = batch.from_elements([(1,)], ["m"])
grows = t_env.from_elements([(1, "a")], ["n", "s"])
boolean = "Filter operator requires a boolean expression as input"
raises(lambda: one.filter(one.n), Py4JJavaError, boolean, "is of type BIGINT")
raises(lambda: one.join(other, one.n + 1), Py4JJavaError, boolean, "plus(n, 1) is of type BIGINT")
wide = "operation on two tables of different column sizes: 2 and 1 is not supported"
raises(lambda: one.union(narrow), Py4JJavaError, f"The union {wide}")
raises(lambda: one.union_all(narrow), Py4JJavaError, f"The union {wide}")
raises(lambda: one.intersect(narrow), Py4JJavaError, f"The intersect {wide}")
kinds = "Could not find a common type at position 0 for 'BIGINT' and 'STRING'."
raises(
    lambda: one.union_all(other), Py4JJavaError, f"Incompatible types for union operation. {kinds}"
)
raises(lambda: one.minus(other), Py4JJavaError, f"Incompatible types for minus operation. {kinds}")
raises(lambda: one.drop_columns(col("z")), Py4JJavaError, "Field z does not exist in source table")
print(one.drop_columns().get_schema().get_field_names())
raises(
    lambda: one.select(with_columns(range_(2, 1))), Py4JJavaError, "should not bigger than end:1"
)
raises(lambda: one.select(with_columns(range_(1, 5))), Py4JJavaError)
raises(lambda: one.select(without_columns(7)), Py4JJavaError)
raises(lambda: one.limit(1, -1), Py4JJavaError, "Offset should be greater or equal 0")
properties = "Window properties can only be used on windowed tables."
raises(lambda: grows.group_by(grows.n).select(col("w").start), Py4JJavaError, properties)
raises(lambda: grows.select(col("n").end), Py4JJavaError, properties)
for window, chosen, where in (
    (Tumble.over(lit(1).second).on(col("n")), grows, "stream"),
    (Slide.over(lit(2).second).every(lit(1).second).on(col("n")), grows, "stream"),
    (Session.with_gap(lit(1).second).on(col("n")), grows, "stream"),
    (Tumble.over(lit(1).second).on(col("s")), one, "batch"),
):
    raises(
        lambda: chosen.window(window.alias("w")).group_by(col("w")).select(col("n").sum),
        Py4JJavaError,
        f"A group window expects a time attribute for grouping in a {where} environment.",
    )
for expression in (col("n").upper_case, col("s").abs, col("s") * 2):
    raises(lambda: one.select(expression), Py4JJavaError, "Invalid function call:")
