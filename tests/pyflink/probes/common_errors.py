"""Which `except` clauses of programs catch what, and what they find in it."""

from py4j.protocol import Py4JError, Py4JJavaError
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment
from pyflink.table.catalog import ObjectPath
from pyflink.table.expressions import col
from pyflink.util.exceptions import (
    CatalogException,
    DatabaseNotExistException,
    FunctionNotExistException,
    JavaException,
    TableException,
    TableNotExistException,
)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.execute_sql("CREATE TABLE g (a INT) WITH ('connector'='datagen', 'number-of-rows'='1')")
t_env.execute_sql("CREATE TABLE gone (a INT, n BIGINT) WITH ('connector'='blackhole')")
grouped = t_env.sql_query("SELECT a, COUNT(*) AS n FROM g GROUP BY a")
catalog = t_env.get_catalog("default_catalog")


def name(call):
    try:
        call()
    except Py4JJavaError as error:
        java = error.java_exception
        name = java.getClass().getName()
        print(name, java.toString().startswith(name), java.getMessage() in java.toString())


def innermost(call, words):
    try:
        call()
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        print(words in cause.getMessage(), words in str(error))


def collect(table):
    with table.execute().collect() as rows:
        return list(rows)


# --- statements that cannot be parsed
raises(lambda: t_env.execute_sql("SELECT FROM WHERE"), Py4JJavaError)
raises(lambda: t_env.sql_query("SELECT * FROM g WHERE"), Py4JError)
raises(lambda: t_env.execute_sql("CREATE TABLE x (a NOTHING("), Exception)

# --- tables, columns and functions that are not there


def missing():
    return t_env.sql_query("SELECT * FROM nothing")


raises(missing, Py4JJavaError, "Object 'nothing' not found")
name(missing)
innermost(missing, "Object 'nothing' not found")
raises(lambda: t_env.from_path("nothing"), Py4JJavaError, "Table `nothing` was not found.")
name(lambda: t_env.from_path("nothing"))
raises(lambda: t_env.execute_sql("DROP TABLE nothing"), Py4JJavaError, "nothing' does not exist.")
raises(
    lambda: t_env.execute_sql("INSERT INTO nothing SELECT 1"), Py4JJavaError, "Cannot find table"
)
raises(lambda: t_env.execute_sql("DESCRIBE nothing"), Py4JJavaError, "nothing' doesn't exist.")
raises(lambda: t_env.sql_query("SELECT b FROM g"), Py4JJavaError, "Column 'b' not found")
name(lambda: t_env.sql_query("SELECT b FROM g"))
raises(
    lambda: t_env.sql_query("SELECT nofun(a) FROM g"), Py4JJavaError, "No match found for function"
)
raises(
    lambda: t_env.from_path("g").select(col("b")),
    Py4JJavaError,
    "Cannot resolve field [b], input field list:[a].",
)
name(lambda: t_env.from_path("g").select(col("b")))

# --- catalogs and databases
raises(lambda: t_env.use_catalog("nothing"), CatalogException, "A catalog with name [nothing]")
raises(lambda: t_env.use_database("nothing"), JavaException, "A database with name [nothing]")
raises(lambda: t_env.execute_sql("USE CATALOG nothing"), CatalogException, "[nothing]")
raises(lambda: t_env.execute_sql("DROP DATABASE nothing"), Py4JJavaError)
raises(lambda: t_env.execute_sql("CREATE DATABASE default_database"), Py4JJavaError)
raises(lambda: t_env.execute_sql("CREATE CATALOG c WITH ('type'='nothing')"), Py4JJavaError)
path = ObjectPath("default_database", "x")
raises(lambda: catalog.get_table(path), TableNotExistException, "default_database.x does not exist")
raises(lambda: catalog.get_database("x"), DatabaseNotExistException, "Database x does not exist")
raises(lambda: catalog.get_function(path), FunctionNotExistException, "default_database.x")
try:
    catalog.drop_table(path, False)
except JavaException as error:
    print("default_database.x" in error.stack_trace, error.stack_trace == str(error))

# --- tables that cannot be made or read
raises(
    lambda: t_env.execute_sql("CREATE TABLE g (a INT)"),
    Py4JJavaError,
    "Could not execute CreateTable",
)
raises(lambda: t_env.execute_sql("CREATE TABLE h (a INT, a INT)"), Py4JJavaError, "olumn named 'a'")
t_env.execute_sql("CREATE TEMPORARY TABLE i (a INT) WITH ('connector'='nothing')")
raises(lambda: t_env.execute_sql("SELECT * FROM i"), Py4JJavaError, "identifier 'nothing'")
t_env.execute_sql("CREATE TEMPORARY TABLE j (a INT) WITH ('connector'='datagen', 'foo'='bar')")
raises(
    lambda: t_env.execute_sql("SELECT * FROM j"),
    Py4JJavaError,
    "Unsupported options found for 'datagen'.",
)
raises(lambda: t_env.execute_sql("INSERT INTO gone SELECT 'x', 1"), Py4JJavaError)

# --- what no stream can do
raises(lambda: t_env.to_data_stream(grouped), TableException, "doesn't support consuming update")
raises(
    lambda: t_env.execute_sql("SELECT * FROM g ORDER BY a").collect(),
    TableException,
    "Sort on a non-time-attribute field is not supported",
)
raises(lambda: t_env.sql_query("SELECT * FROM g ORDER BY a").explain(), TableException)

# --- jobs that fail
divided = t_env.sql_query("SELECT 1 / a FROM (VALUES (0)) AS t(a)")
innermost(lambda: collect(divided), "/ by zero")
t_env.execute_sql("CREATE TEMPORARY TABLE numbers (a INT) WITH ('connector'='blackhole')")
inserted = divided.execute_insert("numbers")
raises(inserted.wait, Py4JJavaError, "/ by zero")
result = inserted.get_job_client().get_job_execution_result()
raises(result.result, Py4JJavaError, "/ by zero")

# --- settings
raises(lambda: env.set_parallelism(0), Py4JJavaError, "arallelism")
name(lambda: env.set_parallelism(0))
raises(lambda: env.set_max_parallelism(-5), Py4JJavaError, "maxParallelism is out of bounds")
raises(lambda: env.enable_checkpointing(0), Py4JJavaError)
name(lambda: env.enable_checkpointing(0))
raises(lambda: t_env.get_config().set_local_timezone("nowhere"), Py4JJavaError, "nowhere")
raises(lambda: t_env.use_modules("nothing"), Py4JJavaError, "No module with name 'nothing' exists")
raises(lambda: t_env.create_statement_set().execute(), Py4JJavaError)
