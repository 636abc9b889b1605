"""Functions in Python: which values they get, and which names they may have."""

import datetime
from decimal import Decimal

import numpy
import pandas
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set_local_timezone("Asia/Tokyo")
t_env.get_config().set("parallelism.default", "1")


def shown(value):
    return f"{type(value).__name__} {value}"


def told(values):
    columns = ", ".join(f"told({v})" for v in values.split("; "))
    with t_env.sql_query(f"SELECT {columns} FROM single").execute().collect() as results:
        for row in results:
            for text in row:
                print(text)


t_env.create_temporary_system_function("told", udf(shown, result_type=DataTypes.STRING()))
t_env.create_temporary_view("single", t_env.from_elements([(1, "a")], ["id", "name"]))

# --- collections that functions get
told(
    "ARRAY[1, 2]; MAP['a', 1]; ROW(1, 'x'); ARRAY[DATE '2020-01-02']; "
    "MAP['a', TIMESTAMP '2020-01-02 03:04:05']; ARRAY[CAST(1.5 AS DECIMAL(4, 2)), NULL]; "
    "ROW(ROW(1, CAST(NULL AS INT)), ARRAY['a'])"
)

# --- functions instead of built-in ones
t_env.create_temporary_system_function(
    "upper", udf(lambda s: s + "!", result_type=DataTypes.STRING())
)
with t_env.sql_query("SELECT UPPER(name) FROM single").execute().collect() as found:
    for row in found:
        print(row)
t_env.drop_temporary_system_function("upper")

# --- results of numpy
given = [
    (DataTypes.BIGINT(), numpy.int64(5)),
    (DataTypes.INT(), numpy.int32(5)),
    (DataTypes.DOUBLE(), numpy.float64(5)),
    (DataTypes.FLOAT(), numpy.float32(0.1)),
    (DataTypes.BOOLEAN(), numpy.int64(5) > 3),
    (DataTypes.BOOLEAN(), numpy.int64(5) < 3),
    (DataTypes.STRING(), numpy.str_("a")),
]
calls = [udf(lambda i, v=v: v, result_type=kind)(col("id")) for kind, v in given]
with t_env.from_path("single").select(*calls).execute().collect() as found:
    for row in found:
        for value in row:
            print(shown(value))

# --- results of other types
numbers = [
    (DataTypes.BOOLEAN(), 1),
    (DataTypes.BOOLEAN(), 0),
    (DataTypes.BIGINT(), True),
    (DataTypes.INT(), 1.9),
    (DataTypes.DOUBLE(), 1),
    (DataTypes.DOUBLE(), Decimal("1.5")),
    (DataTypes.TIMESTAMP(3), datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC)),
    (DataTypes.TIMESTAMP(3), pandas.Timestamp("2020-01-02 03:04:05.678")),
]
calls = [udf(lambda i, v=v: v, result_type=kind)(col("id")) for kind, v in numbers]
with t_env.from_path("single").select(*calls).execute().collect() as found:
    for row in found:
        for value in row:
            print(shown(value))
