"""Table environments: names, catalogs, modules, functions and their errors."""

from pyflink.common import Configuration
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from pyflink.table.catalog import (
    Catalog,
    CatalogBaseTable,
    CatalogDatabase,
    CatalogDescriptor,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
)
from pyflink.table.expressions import call, col
from pyflink.table.udf import udf
from pyflink.util.exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
SCHEMA = Schema.new_builder().column("f0", DataTypes.STRING()).build()
SINK = TableDescriptor.for_connector("blackhole").schema(SCHEMA).build()
SOURCE = (
    TableDescriptor.for_connector("datagen").option("number-of-rows", "3").schema(SCHEMA).build()
)


def catalog():
    """A fresh catalog with a database."""
    name = f"c{len(t_env.list_catalogs())}"
    t_env.execute_sql(f"CREATE CATALOG {name} WITH ('type' = 'generic_in_memory')")
    found = t_env.get_catalog(name)
    found.create_database("db1", CatalogDatabase.create_instance({"k": "v"}, "about"), False)
    return found


def rows(statement):
    with t_env.execute_sql(statement).collect() as found:
        for row in found:
            print(row)


def table(partitions=()):
    schema = TableSchema(
        ["first", "second", "third"], [DataTypes.STRING(), DataTypes.INT(), DataTypes.STRING()]
    )
    return CatalogBaseTable.create_table(schema, list(partitions), {"k": "v"}, "about")


# --- names of tables
t_env.create_temporary_table("t1", SOURCE)
t_env.create_table("t2", SINK)
t_env.create_temporary_view("v1", t_env.from_path("t1"))
print(
    t_env.list_tables(),
    t_env.list_temporary_tables(),
    t_env.list_views(),
    t_env.list_temporary_views(),
)
print(
    t_env.drop_temporary_table("t1"),
    t_env.drop_temporary_table("t1"),
    t_env.drop_temporary_view("v1"),
    t_env.drop_temporary_view("v1"),
    t_env.drop_table("t2"),
)
print(t_env.list_tables())

# --- tables that are there already
t_env.create_table("again", SINK)
raises(
    lambda: t_env.create_table("again", SINK),
    Exception,
    "Could not execute CreateTable in path `default_catalog`.`default_database`.`again`",
)
t_env.create_temporary_table("twice", SINK)
raises(
    lambda: t_env.create_temporary_table("twice", SINK),
    Exception,
    "Temporary table '`default_catalog`.`default_database`.`twice`' already exists",
)
t_env.drop_table("again")
t_env.drop_temporary_table("twice")

# --- tables that are not there
raises(lambda: t_env.from_path("nowhere"), Exception, "Table `nowhere` was not found.")
raises(lambda: t_env.sql_query("SELECT * FROM nowhere"), Exception, "Object 'nowhere' not found")
raises(
    lambda: t_env.execute_sql("DROP TABLE nowhere"),
    Exception,
    "Table with identifier 'default_catalog.default_database.nowhere' does not exist.",
)
raises(
    lambda: t_env.execute_sql("INSERT INTO nowhere SELECT 1"),
    Exception,
    "Cannot find table '`default_catalog`.`default_database`.`nowhere`' in any of the catalogs",
)
raises(lambda: t_env.use_catalog("nowhere"), Exception, "nowhere")
raises(lambda: t_env.use_database("nowhere"), Exception, "nowhere")

# --- connectors that are not there
t_env.create_temporary_table(
    "odd", TableDescriptor.for_connector("no-such-thing").schema(SCHEMA).build()
)
raises(lambda: t_env.from_path("odd").execute(), Exception, "no-such-thing")
t_env.drop_temporary_table("odd")

# --- catalogs
print(
    t_env.list_catalogs()[:1],
    t_env.get_current_catalog(),
    t_env.get_current_database(),
    t_env.list_databases(),
)
config = Configuration()
config.set_string("type", "generic_in_memory")
t_env.create_catalog("mine", CatalogDescriptor.of("mine", config, None))
t_env.use_catalog("mine")
print(t_env.get_current_catalog(), t_env.get_current_database(), t_env.list_databases())
t_env.use_catalog("default_catalog")
print(t_env.get_catalog("nowhere"))

# --- modules
print(t_env.list_modules(), [(m.name(), m.used()) for m in t_env.list_full_modules()])
raises(lambda: t_env.use_modules("core", "core"), Exception, "Module 'core' appears more than once")
raises(lambda: t_env.use_modules("core", "dummy"), Exception, "No module with name 'dummy' exists")
raises(lambda: t_env.unload_module("dummy"), Exception, "No module with name 'dummy' exists")

# --- functions by name
plus = udf(lambda x: x + 1, result_type=DataTypes.BIGINT())
t_env.create_temporary_function("f1", plus)
t_env.create_temporary_system_function("f2", plus)
print(sorted(f for f in t_env.list_user_defined_functions() if f in ("f1", "f2")))
raises(lambda: t_env.create_temporary_function("f1", plus), Exception, "f1")
print(
    t_env.drop_temporary_function("f1"),
    t_env.drop_temporary_system_function("f2"),
    t_env.drop_temporary_function("f1"),
    t_env.drop_temporary_system_function("f2"),
)

# --- results of statements
result = t_env.execute_sql("CREATE TABLE made (a INT) WITH ('connector' = 'blackhole')")
print(result.get_result_kind(), list(result.collect()), result.get_job_client())
print(result.get_resolved_schema())
print(list(t_env.execute_sql("SHOW TABLES").collect()))
t_env.execute_sql("DROP TABLE made")

# --- rows of inserts
t_env.create_temporary_table("from_here", SOURCE)
t_env.create_temporary_table("to_there", SINK)
result = t_env.from_path("from_here").execute_insert("to_there")
result.wait()
print(
    result.get_result_kind(),
    result.get_resolved_schema().get_column_names(),
    list(result.collect()),
)
pipeline = t_env.from_path("from_here").insert_into("to_there")
print(pipeline.get_sink_identifier().as_summary_string())
print(t_env.from_path("from_here").insert_into(SINK).get_sink_identifier())
print(pipeline.compile_plan().as_json_string() != "")
raises(
    lambda: (
        t_env.from_path("from_here")
        .select(col("f0"), col("f0").char_length)
        .insert_into("to_there")
        .execute()
    ),
    Exception,
    "do not match.",
)

# --- databases of a catalog
c = catalog()
print(
    sorted(c.list_databases()),
    c.get_database("db1").get_comment(),
    c.get_database("db1").get_properties(),
    c.database_exists("db1"),
    c.database_exists("db2"),
)
raises(
    lambda: c.create_database("db1", CatalogDatabase.create_instance({}), False),
    DatabaseAlreadyExistException,
    "Database db1 already exists in Catalog",
)
c.create_database("db1", CatalogDatabase.create_instance({}), True)
raises(
    lambda: c.get_database("db2"),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
raises(
    lambda: c.drop_database("db2", False),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
c.drop_database("db2", True)
raises(
    lambda: c.alter_database("db2", CatalogDatabase.create_instance({}), False),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
c.create_table(ObjectPath("db1", "t1"), table(), False)
raises(
    lambda: c.drop_database("db1", False),
    DatabaseNotEmptyException,
    "Database db1 in catalog",
    "is not empty.",
)

# --- tables of a catalog
c = catalog()
path, other = ObjectPath("db1", "t1"), ObjectPath("db2", "t1")
c.create_table(path, table(), False)
print(
    c.list_tables("db1"),
    c.list_views("db1"),
    c.table_exists(path),
    c.table_exists(other),
    c.get_table(path).get_comment(),
    c.get_table(path).get_options(),
)
raises(
    lambda: c.create_table(path, table(), False),
    TableAlreadyExistException,
    "Table (or view) db1.t1 already exists in Catalog",
)
raises(
    lambda: c.create_table(other, table(), False),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
raises(
    lambda: c.get_table(other),
    TableNotExistException,
    "Table (or view) db2.t1 does not exist in Catalog",
)
raises(
    lambda: c.list_tables("db2"),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
raises(
    lambda: c.drop_table(other, False),
    TableNotExistException,
    "Table (or view) db2.t1 does not exist in Catalog",
)
raises(
    lambda: c.alter_table(other, table(), False),
    TableNotExistException,
    "Table (or view) db2.t1 does not exist in Catalog",
)
raises(
    lambda: c.rename_table(other, "t2", False),
    TableNotExistException,
    "Table (or view) db2.t1 does not exist in Catalog",
)
c.create_table(ObjectPath("db1", "t2"), table(), False)
raises(
    lambda: c.rename_table(path, "t2", False),
    TableAlreadyExistException,
    "Table (or view) db1.t2 already exists in Catalog",
)
c.drop_table(other, True)
c.rename_table(path, "t3", False)
print(sorted(c.list_tables("db1")))
print(
    path.get_full_name(),
    path.get_database_name(),
    path.get_object_name(),
    str(path),
    ObjectPath.from_string("a.b") == ObjectPath("a", "b"),
)
raises(lambda: ObjectPath.from_string("a"), Exception)

# --- functions of a catalog
c = catalog()
path, other = ObjectPath("db1", "f1"), ObjectPath("db2", "f1")
function = CatalogFunction.create_instance(
    "org.apache.flink.table.functions.python.PythonScalarFunction"
)
c.create_function(path, function, False)
print(
    c.list_functions("db1"),
    c.function_exists(path),
    c.function_exists(other),
    c.get_function(path).get_class_name(),
)
raises(
    lambda: c.create_function(path, function, False),
    FunctionAlreadyExistException,
    "Function db1.f1 already exists in Catalog",
)
raises(
    lambda: c.create_function(other, function, False),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
raises(
    lambda: c.get_function(other),
    FunctionNotExistException,
    "Function db2.f1 does not exist in Catalog",
)
raises(
    lambda: c.drop_function(other, False),
    FunctionNotExistException,
    "Function db2.f1 does not exist in Catalog",
)
raises(
    lambda: c.list_functions("db2"),
    DatabaseNotExistException,
    "Database db2 does not exist in Catalog",
)
c.drop_function(other, True)

# --- partitions of a catalog
c = catalog()
path, plain, nowhere = ObjectPath("db1", "p"), ObjectPath("db1", "t"), ObjectPath("db1", "x")
c.create_table(path, table(["third", "second"]), False)
c.create_table(plain, table(), False)
spec = CatalogPartitionSpec({"third": "2000", "second": "1"})
wrong = CatalogPartitionSpec({"third": "2000"})
partition = CatalogPartition.create_instance({"k": "v"}, "about")
c.create_partition(path, spec, partition, False)
print(
    [p.get_partition_spec() for p in c.list_partitions(path)],
    c.partition_exists(path, spec),
    c.get_partition(path, spec).get_properties(),
)
raises(
    lambda: c.create_partition(path, spec, partition, False),
    PartitionAlreadyExistsException,
    "already exists.",
)
raises(
    lambda: c.create_partition(plain, spec, partition, False),
    TableNotPartitionedException,
    "Table db1.t in catalog",
    "is not partitioned.",
)
raises(
    lambda: c.create_partition(nowhere, spec, partition, False),
    TableNotExistException,
    "Table (or view) db1.x does not exist in Catalog",
)
raises(
    lambda: c.create_partition(path, wrong, partition, False),
    PartitionSpecInvalidException,
    "does not match partition keys",
)
raises(
    lambda: c.drop_partition(path, CatalogPartitionSpec({"third": "1", "second": "2"}), False),
    PartitionNotExistException,
    "does not exist.",
)
raises(lambda: c.drop_partition(plain, spec, False), Exception)
raises(lambda: c.drop_partition(nowhere, spec, False), Exception)
raises(lambda: c.get_partition(path, wrong), PartitionNotExistException, "does not exist.")
raises(lambda: c.get_partition(plain, spec), PartitionNotExistException, "does not exist.")
raises(lambda: c.get_partition(nowhere, spec), PartitionNotExistException, "does not exist.")
raises(
    lambda: c.alter_partition(plain, spec, partition, False),
    PartitionNotExistException,
    "does not exist.",
)
raises(lambda: c.list_partitions(plain), TableNotPartitionedException, "is not partitioned.")
raises(
    lambda: c.list_partitions(nowhere),
    TableNotExistException,
    "Table (or view) db1.x does not exist in Catalog",
)
c.drop_partition(path, spec, False)
print(c.list_partitions(path))

# --- views keep their columns
t_env.execute_sql("CREATE TABLE grows (a INT) WITH ('connector' = 'datagen')")
t_env.execute_sql("CREATE VIEW kept AS SELECT * FROM grows")
t_env.execute_sql("CREATE VIEW inner_star AS SELECT a FROM (SELECT g.*, 1 AS x FROM grows AS g)")
t_env.execute_sql("ALTER TABLE grows ADD (b STRING FIRST)")
rows("DESCRIBE kept")
rows("DESCRIBE inner_star")
print(t_env.from_path("kept").get_schema())
t_env.execute_sql("ALTER VIEW kept AS SELECT * FROM grows")
t_env.execute_sql("ALTER TABLE grows ADD (c STRING)")
rows("DESCRIBE kept")

# --- names of a star in a view
for query in (
    "SELECT * FROM grows JOIN grows AS other ON grows.a = other.a",
    "SELECT grows.a AS a0, grows.*, other.* FROM grows JOIN grows AS other ON grows.a = other.a",
    "SELECT *, * FROM grows",
    "SELECT a0 FROM (SELECT * FROM grows JOIN grows AS other ON grows.a = other.a)",
    "SELECT * FROM grows JOIN grows AS other USING (a)",
    "SELECT * FROM grows, LATERAL (SELECT g.* FROM grows AS g WHERE g.a = grows.a)",
    "SELECT r.* FROM (SELECT ROW(1, 2) AS r)",
):
    t_env.execute_sql(f"CREATE TEMPORARY VIEW starred AS {query}")
    rows("DESCRIBE starred")
    t_env.execute_sql("DROP TEMPORARY VIEW starred")
for query in ("SELECT a, a FROM grows", "SELECT *, a FROM grows"):
    raises(
        lambda: t_env.execute_sql(f"CREATE TEMPORARY VIEW starred AS {query}"),
        Exception,
        "A column with the same name `a` has been defined",
    )

# --- tables that cannot be read have a schema
b_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
for name, options in {
    "sink_only": "'connector' = 'print'",
    "of_nothing": "'connector' = 'no-such-thing'",
    "unbounded": "'connector' = 'datagen'",
    "mistaken": "'connector' = 'datagen', 'no.such.option' = '1'",
}.items():
    b_env.execute_sql(f"CREATE TABLE {name} (a INT, b STRING) WITH ({options})")
    found = b_env.from_path(name)
    print(found.get_schema())
    print(found.select(col("a") + 1).filter(col("_c0") > 1).get_schema())
    raises(found.execute, Exception)
    raises(found.explain, Exception)
    raises(lambda: b_env.sql_query(f"SELECT * FROM {name}"), Exception)
fake = TableDescriptor.for_connector("no-such-thing").schema(SCHEMA).build()
print(b_env.from_descriptor(fake).get_schema())
raises(b_env.from_descriptor(fake).execute, Exception, "no-such-thing")
