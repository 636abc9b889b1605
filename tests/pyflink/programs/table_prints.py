"""Schemas and rows as tables print them.

compare: exactly
"""

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col

b_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
b_env.get_config().set("parallelism.default", "1")
b_env.get_config().set_local_timezone("Asia/Tokyo")
b_env.sql_query(
    "SELECT 1 AS i, 'x' AS s, CAST(NULL AS DECIMAL(4, 2)) AS d, ARRAY[1] AS a, MAP['a', 1.5] AS m, "
    "ROW(1, 'x') AS r, DATE '2020-01-01' AS dt, x'00' AS b"
).print_schema()
descriptor = (
    TableDescriptor.for_connector("datagen")
    .schema(
        Schema.new_builder()
        .column("a", DataTypes.INT().not_null())
        .column("t", DataTypes.TIMESTAMP(3))
        .primary_key("a")
        .build()
    )
    .option("number-of-rows", "1")
    .comment("generated")
    .build()
)
b_env.create_table("made", descriptor)
b_env.execute_sql("SHOW TABLES").print()
b_env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT 1 AS x").print()
b_env.execute_sql("USE default_database").print()
for query in (
    "SELECT * FROM (VALUES (1, 'a', CAST(NULL AS INT)), (22, 'bcd', 3)) AS t (x, y, z)",
    "SELECT CAST(1.5 AS DECIMAL(4, 2)) AS d, ARRAY[1, 2] AS a, MAP['k', 'v'] AS m",
    "SELECT ROW(1, 'x') AS r, ROW(1, ROW('y', CAST(NULL AS INT))) AS n",
    "SELECT TRUE AS b, x'6162' AS y, 1E0 AS f, CAST(1.1 AS FLOAT) AS g, CAST(1 AS TINYINT) AS t",
    "SELECT DATE '2020-01-02' AS d, TIME '01:02:03' AS t, TO_TIMESTAMP_LTZ(0, 3) AS l",
    "SELECT TIMESTAMP '2020-01-02 03:04:05.678' AS ts, TIMESTAMP '2020-01-02 03:04:05' AS t0",
    "SELECT INTERVAL '1' DAY AS i, INTERVAL '14' MONTH AS m",
    f"SELECT '{'x' * 50}' AS wide, 'ä漢' AS w",
    "SELECT * FROM (VALUES (1)) AS t (x) WHERE x > 1",
):
    b_env.execute_sql(query).print()
s_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
s_env.get_config().set("parallelism.default", "1")
elements = s_env.from_elements([("a", 1), ("b", 2), ("a", 3)], ["k", "v"])
elements.print_schema()
elements.group_by(col("k")).select(col("k"), col("v").sum.alias("s")).execute().print()
elements.where(col("v") > 5).execute().print()
