"""Tables as PyFlink's documentation shows them: operations, joins, windows, conversions, catalogs."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    StreamTableEnvironment,
    TableEnvironment,
)
from pyflink.table import expressions as E
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("Asia/Tokyo")
b_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
b_env.get_config().set("parallelism.default", "1")
b_env.get_config().set_local_timezone("Asia/Tokyo")

ORDERS = [
    ("Jack", "FRANCE", 10),
    ("Rose", "ENGLAND", 30),
    ("Jack", "FRANCE", 20),
    ("Bob", "CHINA", 40),
    (None, "CHINA", 5),
]
orders = t_env.from_elements(ORDERS, ["name", "country", "revenue"])
b_orders = b_env.from_elements(ORDERS, ["name", "country", "revenue"])


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def show(*tables, ordered=True):
    for table in tables:
        found = rows(table)
        for r in found if ordered else sorted(found, key=str):
            print(r)
        print("-")


# --- columns
show(orders.add_columns(E.concat(col("name"), "!").alias("x")).drop_columns(col("country")))
show(orders.add_or_replace_columns((col("revenue") * 2).alias("revenue")))
show(
    orders.rename_columns(col("name").alias("n"), col("revenue").alias("r")).select(
        col("n"), col("r")
    )
)
show(
    orders.select(E.with_columns(E.range_("country", "revenue")), E.without_columns(E.range_(2, 3)))
)
show(orders.select(E.with_all_columns()).alias("a", "b", "c").select(col("c")))
show(orders.alias("a", "b", "c").filter((col("a") == "Jack") & (col("c") > 10)))
print(
    orders.get_schema().get_field_names(),
    orders.select(col("revenue"), col("revenue") + 1, lit(5)).get_schema().get_field_names(),
)
print(orders.name, orders.revenue + 1, orders.select(orders.name).get_schema())

# --- sets
a = b_env.from_elements([(1,), (2,), (2,), (3,)], ["a"])
b = b_env.from_elements([(2,), (3,), (3,), (4,)], ["a"])
for kind in ["union", "union_all", "intersect", "intersect_all", "minus", "minus_all"]:
    print(kind, sorted(rows(getattr(a, kind)(b)), key=str))

# --- explain
for part in ["== Abstract Syntax Tree ==", "== Optimized Execution Plan ==", "Sum"]:
    print(part in orders.select(col("revenue").sum).explain() or part)
print(
    "== Abstract Syntax Tree ==" in t_env.explain_sql("SELECT 1"),
    "== Optimized Execution Plan ==" in t_env.explain_sql("SELECT 1", ExplainDetail.CHANGELOG_MODE),
)
print(
    "changelogMode=[I" in orders.explain(ExplainDetail.CHANGELOG_MODE),
    "ESTIMATED_COST" in str(ExplainDetail.ESTIMATED_COST),
    "physicalPlan" not in orders.explain(ExplainDetail.JSON_EXECUTION_PLAN),
)

# --- views and functions
b_env.create_temporary_view("shown", b_orders)
print(list(b_env.list_views()), list(b_env.list_temporary_views()))
show(
    b_env.sql_query("SELECT name FROM shown WHERE revenue > 25"),
    b_env.from_path("shown").select(col("name").count),
)
raises(lambda: b_env.create_temporary_view("shown", b_orders), Exception, "shown")
print(b_env.drop_temporary_view("shown"), b_env.drop_temporary_view("shown"))
b_env.create_temporary_function("mine", udf(lambda s: s, result_type="STRING"))
b_env.create_temporary_system_function("yours", udf(lambda s: s, result_type=DataTypes.STRING()))
print(
    sorted(b_env.list_user_defined_functions()),
    b_env.drop_temporary_function("mine"),
    b_env.drop_temporary_system_function("yours"),
    b_env.drop_temporary_function("mine"),
)
raises(
    lambda: b_env.sql_query("SELECT mine(name) FROM (VALUES ('a')) AS t (name)"), Exception, "mine"
)

# --- alternatives of SQL
result = b_env.execute_sql("SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (x, y)")
print(result.get_result_kind(), result.get_table_schema(), result.get_resolved_schema())
with result.collect() as found:
    for r in found:
        print(r, r[0], type(r).__name__, r.get_row_kind())
result = b_env.execute_sql("CREATE TEMPORARY TABLE x (a INT) WITH ('connector' = 'blackhole')")
print(result.get_result_kind())
with result.collect() as found:
    print(list(found))
print(b_env.execute_sql("INSERT INTO x SELECT 1").get_result_kind())
with b_env.execute_sql("SHOW CREATE TABLE x").collect() as found:
    print(next(iter(found))[0])
with b_env.execute_sql("EXPLAIN SELECT 1").collect() as found:
    print("== Abstract Syntax Tree ==" in next(iter(found))[0])
