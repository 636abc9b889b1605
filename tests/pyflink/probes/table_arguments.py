"""What Python functions get of columns of each type, and what comes back."""

import pandas as pd
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set_local_timezone("Asia/Tokyo")
t_env.get_config().set("parallelism.default", "1")
t_env.execute_sql("""
    CREATE TEMPORARY VIEW numbers AS SELECT * FROM (VALUES (1, 'ab'), (2, 'c')) AS v (i, s)
""")


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def show(query):
    table = t_env.sql_query(query) if isinstance(query, str) else query
    for row in rows(table):
        print(row)


def shown(value):
    return f"{type(value).__name__} {value!r}"


def series(values):
    kinds = {type(value).__name__ for value in values}
    return values.map(lambda value: f"{values.dtype} {','.join(sorted(kinds))} {value}")


t_env.create_temporary_system_function("told", udf(shown, result_type=DataTypes.STRING()))
t_env.create_temporary_system_function(
    "told_series", udf(series, result_type=DataTypes.STRING(), func_type="pandas")
)

# --- times that functions get
show("SELECT told(TIMESTAMP '2020-01-02 03:04:05.678' + i * INTERVAL '1' DAY) FROM numbers")
show("SELECT told(DATE '2020-01-02' + i * INTERVAL '1' DAY) FROM numbers")
show("SELECT told(TIME '03:04:05' + i * INTERVAL '1' SECOND) FROM numbers")

# --- times that pandas functions get
show("SELECT told_series(TIMESTAMP '2020-01-02 03:04:05.678' + i * INTERVAL '1' DAY) FROM numbers")
show("SELECT told_series(DATE '2020-01-02' + i * INTERVAL '1' DAY) FROM numbers")
show("SELECT told_series(TIME '03:04:05' + i * INTERVAL '1' SECOND) FROM numbers")

# --- decimals that functions get
show("SELECT told(CAST(i AS DECIMAL(10, 2))) FROM numbers")
show("SELECT told(CAST(i AS DECIMAL(38, 18))) FROM numbers")
show("SELECT told(CAST(i AS DECIMAL(38, 0))) FROM numbers")
show("SELECT told(CAST(i * 1.5 AS DECIMAL(5, 1))) FROM numbers")
show("SELECT told(ARRAY[CAST(i AS DECIMAL(10, 2))]) FROM numbers")

# --- decimals that pandas functions get
show("SELECT told_series(CAST(i AS DECIMAL(10, 2))) FROM numbers")

# --- characters that functions get
show("SELECT told(CAST(s AS CHAR(5))), told(CAST(s AS VARCHAR(1))) FROM numbers")
show("SELECT told_series(CAST(s AS CHAR(5))) FROM numbers")
show("SELECT told('x'), told(CAST('x' AS CHAR(3))) FROM numbers")

# --- small numbers that functions get
show(
    "SELECT told(CAST(i AS TINYINT)), told(CAST(i AS SMALLINT)), told(CAST(i AS BIGINT)) FROM numbers"
)
show("SELECT told(CAST(i AS FLOAT)), told(CAST(i AS DOUBLE)), told(i > 1) FROM numbers")
show("SELECT told(CAST(i * 0.1 AS FLOAT)) FROM numbers")
show(
    "SELECT told_series(CAST(i AS TINYINT)), told_series(CAST(i AS FLOAT)), told_series(i > 1) FROM numbers"
)
show("SELECT told_series(CAST(NULLIF(i, 1) AS INT)) FROM numbers")
show("SELECT told_series(ARRAY[i, i]) FROM numbers")
show("SELECT told_series(s) FROM numbers")

# --- bytes that functions get
show("SELECT told(CAST(s AS BYTES)), told(CAST(s AS BINARY(4))) FROM numbers")

# --- bytes that pandas functions get
show("SELECT told_series(CAST(s AS BYTES)) FROM numbers")

# --- constants that functions get
show(
    "SELECT told(1), told('a'), told(1.5), told(TRUE), told(CAST(NULL AS INT)), told(1E0) FROM numbers"
)
show(
    "SELECT told(DATE '2020-01-02'), told(TIME '01:02:03'), told(TIMESTAMP '2020-01-02 03:04:05') FROM numbers"
)


# --- constants that pandas functions get
def plus(values, by):
    return values + by if not isinstance(by, pd.Series) else values + by * 100


plus_constant = udf(plus, result_type=DataTypes.INT(), func_type="pandas")
t_env.create_temporary_system_function("plus_constant", plus_constant)
show("SELECT plus_constant(i, 7) FROM numbers")
show(t_env.from_path("numbers").select(plus_constant(col("i"), 7)))
show(t_env.from_path("numbers").select(plus_constant(col("i"), col("i"))))
show("SELECT plus_constant(i, 3 + 4) FROM numbers")
