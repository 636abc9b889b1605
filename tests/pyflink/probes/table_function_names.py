"""Functions that are called like built-in ones: which of the two is meant."""

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, call_sql, col, concat
from pyflink.table.udf import udf


def environment(register):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    for name in ("upper", "concat", "abs", "coalesce", "mine"):
        register(t_env, name, function(name))
    t_env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT * FROM (VALUES ('ab', -1)) AS x(s, i)")
    return t_env


def function(name):
    return udf(lambda *a: name + "!" + ",".join(map(str, a)), result_type=DataTypes.STRING())


def show(t_env):
    for text in (
        "upper(s)",
        "`Upper`(s)",
        "concat(s, 'x')",
        "abs(i)",
        "coalesce(s, 'x')",
        "mine(i)",
    ):
        print(text, list(t_env.execute_sql(f"SELECT {text} FROM v").collect()))
    table = t_env.from_path("v")
    calls = [col("s").upper_case, concat(col("s"), "x"), col("i").abs, call("upper", col("s"))]
    print(
        list(table.select(*calls, call_sql("UPPER(s)"), call("mine", col("i"))).execute().collect())
    )


# --- a temporary system function takes the place of a built-in one
show(environment(lambda t_env, name, f: t_env.create_temporary_system_function(name, f)))

# --- a function of a catalog does not
show(environment(lambda t_env, name, f: t_env.create_temporary_function(name, f)))

# --- with its whole name it does
t_env = environment(lambda t_env, name, f: t_env.create_temporary_function(name, f))
text = "SELECT default_catalog.default_database.`upper`(s) FROM v"
print(list(t_env.execute_sql(text).collect()))
