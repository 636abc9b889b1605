"""Types, schemas and descriptors of tables: their texts, their equality, what they refuse."""

import datetime
from decimal import Decimal

from pyflink.common import Row
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    FormatDescriptor,
    Schema,
    SqlDialect,
    TableDescriptor,
    TableEnvironment,
    TableSchema,
)
from pyflink.table import types as T

ROW = DataTypes.ROW(
    [
        DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("age", DataTypes.INT()),
        DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
    ]
)

ALL = [
    DataTypes.NULL(), DataTypes.CHAR(5), DataTypes.CHAR(5, False), DataTypes.VARCHAR(7),
    DataTypes.STRING(), DataTypes.BOOLEAN(), DataTypes.BINARY(4), DataTypes.VARBINARY(4),
    DataTypes.BYTES(), DataTypes.DECIMAL(10, 2), DataTypes.TINYINT(), DataTypes.SMALLINT(),
    DataTypes.INT(False), DataTypes.BIGINT(), DataTypes.FLOAT(), DataTypes.DOUBLE(),
    DataTypes.DATE(), DataTypes.TIME(), DataTypes.TIME(3), DataTypes.TIMESTAMP(),
    DataTypes.TIMESTAMP(3, False), DataTypes.TIMESTAMP_LTZ(),
    DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3), DataTypes.ARRAY(DataTypes.INT()),
    DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), DataTypes.MULTISET(DataTypes.STRING()),
    ROW, DataTypes.ROW(), DataTypes.LIST_VIEW(DataTypes.INT()),
    DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.INT()),
    DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()),
    DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
    DataTypes.INTERVAL(DataTypes.HOUR()),
]  # fmt: skip

# --- str of types
for t in ALL:
    print(str(t))

# --- repr of types
for t in ALL:
    print(repr(t))

# --- simple strings and classes of types
for t in ALL:
    print(type(t).__name__, t.type_name(), t.need_conversion(), t._nullable)

# --- equality of types
print(DataTypes.INT() == DataTypes.INT(), DataTypes.INT() == DataTypes.INT(False))
print(DataTypes.CHAR(3) == DataTypes.CHAR(4), DataTypes.STRING() == DataTypes.VARCHAR(2147483647))
print(DataTypes.INT().not_null() == DataTypes.INT(False), DataTypes.INT(False).nullable())
print(len({DataTypes.INT(), DataTypes.INT(), DataTypes.BIGINT()}))
print(
    DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    == DataTypes.ROW([("a", DataTypes.INT())])
)
print(DataTypes.ARRAY(DataTypes.INT()) == DataTypes.ARRAY(DataTypes.INT(False)))

# --- to and from SQL types
import array as arrays

day = datetime.date(2020, 5, 6)
moment = datetime.datetime(2020, 5, 6, 7, 8, 9, 10)
print(DataTypes.DATE().to_sql_type(day), DataTypes.DATE().from_sql_type(18388))
print(
    DataTypes.TIME().to_sql_type(datetime.time(1, 2, 3, 4)),
    DataTypes.TIME().from_sql_type(3723000004),
)
print(
    DataTypes.TIMESTAMP().to_sql_type(moment), DataTypes.TIMESTAMP().from_sql_type(1588748889000010)
)
print(DataTypes.ARRAY(DataTypes.DATE()).to_sql_type([day, None]))
print(DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE()).to_sql_type({"a": day}))
print(ROW.to_sql_type({"name": "x", "age": 3}))
print(ROW.to_sql_type(Row(name="x", age=3, tags=["t"])))
print(ROW.from_sql_type(("x", 3, ["t"])))

# --- epochs of local timestamps
print(T.LocalZonedTimestampType.EPOCH_ORDINAL)
print(T.LocalZonedTimestampType(3).precision)
print(
    DataTypes.TIMESTAMP_LTZ().to_sql_type(
        datetime.datetime(1970, 1, 2, tzinfo=datetime.timezone.utc)
    )
)
print(DataTypes.TIMESTAMP_LTZ().from_sql_type(86400000000))

# --- fields of rows
print(ROW.names, ROW.field_names(), [str(t) for t in ROW.field_types()])
print(ROW["age"], ROW[0], ROW[0:2], len(ROW), "age" in ROW.names)
raises(lambda: ROW["size"], KeyError, "No RowField named size")
raises(lambda: ROW[7], IndexError, "RowType index out of range")
raises(lambda: ROW[1.5], TypeError, "RowType keys should be strings, integers or slices")
print([str(f) for f in ROW])
print(repr(ROW.fields[1]), ROW.fields[1].name, ROW.fields[1].data_type, ROW.fields[1].description)

# --- expressions in schemas
from pyflink.table.expressions import col

schema = (
    Schema.new_builder()
    .column("a", DataTypes.INT())
    .column_by_expression("b", col("a") + 1)
    .column_by_expression("t", "PROCTIME()")
    .build()
)
print(schema)

# --- text of descriptors
flag_text = (
    TableDescriptor.for_connector("test")
    .schema(Schema.new_builder().column("f0", DataTypes.STRING()).primary_key("f0").build())
    .option("a", "v")
    .partitioned_by("f0")
    .comment("about")
    .build()
)
print(str(flag_text))
print(flag_text.get_schema() is not None, flag_text.get_partition_keys(), flag_text.get_comment())
print(str(TableDescriptor.for_connector("test").build()))

# --- settings of environments
for settings in (
    EnvironmentSettings.in_streaming_mode(),
    EnvironmentSettings.in_batch_mode(),
    EnvironmentSettings.new_instance()
    .with_built_in_catalog_name("c")
    .with_built_in_database_name("d")
    .build(),
):
    print(
        settings.is_streaming_mode(),
        settings.get_built_in_catalog_name(),
        settings.get_built_in_database_name(),
    )

# --- dialects
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
config = t_env.get_config()
print(config.get_sql_dialect())
config.set_sql_dialect(SqlDialect.HIVE)
print(config.get_sql_dialect(), SqlDialect.HIVE, repr(SqlDialect.DEFAULT))
config.set_sql_dialect(SqlDialect.DEFAULT)
print(config.get_sql_dialect())

# --- types of functions that may give NULL
t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
print(
    t_env.sql_query(
        "SELECT COLLECT(a), COLLECT(b), JSON_STRING(MAX(a)), CONCAT_WS(',', MAX(b), 'x'), "
        "CONCAT_WS(',', 'x'), JSON_STRING(1), PI, PI() "
        "FROM (VALUES (1, CAST(NULL AS STRING))) AS t (a, b)"
    ).get_schema()
)
with t_env.execute_sql("SELECT PI, PI + 1 AS x, JSON_STRING(CAST(NULL AS INT))").collect() as found:
    print(list(found))
