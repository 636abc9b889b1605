"""Frames of pandas as tables, and tables as frames."""

import datetime
from decimal import Decimal

import numpy
import pandas
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set_local_timezone("Asia/Tokyo")
t_env.get_config().set("parallelism.default", "1")

numbers = pandas.DataFrame(
    {
        "a": numpy.array([1, 2], "int8"),
        "b": numpy.array([1, 2], "int16"),
        "c": numpy.array([1, 2], "int32"),
        "d": [1, 2],
        "e": numpy.array([0.5, 1.5], "float32"),
        "f": [0.5, None],
    }
)
texts = pandas.DataFrame({"s": ["a", None], "b": [True, False], "o": [b"x", None]})
times = pandas.DataFrame(
    {
        "d": [datetime.date(2020, 1, 2), None],
        "t": [datetime.time(1, 2, 3), None],
        "ts": pandas.to_datetime(["2020-01-02 03:04:05.678", None]),
    }
)
zoned = pandas.DataFrame(
    {"z": pandas.to_datetime(["2020-01-02 03:04:05.678"]).tz_localize("Europe/Berlin")}
)
extended = pandas.DataFrame(
    {
        "i": pandas.array([1, None], "Int64"),
        "s": pandas.array(["a", None], "string"),
        "b": pandas.array([True, None], "boolean"),
    }
)
nested = pandas.DataFrame(
    {"l": [[1, 2], [3]], "d": [{"a": 1}, {"a": 2}], "n": [Decimal("1.5"), Decimal("2.25")]}
)


def show(frame, schema=None):
    table = t_env.from_pandas(frame, schema)
    print(table.get_schema())
    with table.execute().collect() as results:
        for row in results:
            print([bytes(v) if isinstance(v, bytearray) else v for v in row])
    back(table)


def back(table):
    frame = table.to_pandas()
    print([f"{name} {dtype}" for name, dtype in frame.dtypes.items()])
    for row in frame.itertuples(index=False):
        print([str(v) if isinstance(v, pandas.Timestamp) else plain(v) for v in row])


def plain(value):
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.tolist()
    return bytes(value) if isinstance(value, bytearray) else value


# --- frames of numbers
show(numbers)

# --- frames of texts
show(texts)

# --- frames of times
show(times, [DataTypes.DATE(), DataTypes.TIME(), DataTypes.TIMESTAMP(3)])

# --- frames of times with a zone
show(zoned)

# --- frames of times with a zone and a type
show(zoned, [DataTypes.TIMESTAMP(3)])

# --- frames of other arrays
show(extended)

# --- frames of lists
show(nested)

# --- types of frames
frame = numbers[["d", "f"]]
print(t_env.from_pandas(frame, ["x", "y"]).get_schema())
print(t_env.from_pandas(frame, ["x"]).get_schema())
print(t_env.from_pandas(frame, [DataTypes.INT(), DataTypes.FLOAT()]).get_schema())
row = [DataTypes.FIELD("q", DataTypes.DOUBLE()), DataTypes.FIELD("r", DataTypes.FLOAT())]
print(t_env.from_pandas(frame, DataTypes.ROW(row)).get_schema())
print(t_env.from_pandas(pandas.DataFrame({0: [1], 1: ["a"]})).get_schema())
indexed = pandas.DataFrame({"a": [1, 2]}, index=["x", "y"])
print(t_env.from_pandas(indexed, splits_num=2).get_schema())

# --- frames that are refused
words = "Unsupported type, expected pandas.DataFrame"
raises(lambda: t_env.from_pandas([1]), TypeError, words)
raises(lambda: t_env.from_pandas(numbers["a"]), TypeError, words)
raises(lambda: t_env.from_pandas(numbers, "x"), TypeError, "Unsupported schema type")
raises(lambda: t_env.from_pandas(numbers, DataTypes.INT()), TypeError, "Unsupported schema type")
words = "Unsupported data type to convert to Arrow type"
for values in (
    numpy.array([1], "uint8"),
    pandas.Categorical(["a", "b"]),
    pandas.to_timedelta(["1s"]),
):
    raises(lambda: t_env.from_pandas(pandas.DataFrame({"u": values})), TypeError, words)
raises(lambda: t_env.from_pandas(pandas.DataFrame({"u": ["a", 1]})), Exception)

# --- queries as frames
back(t_env.sql_query("SELECT 1, 'a', 1.5, CAST(1.5 AS FLOAT), TRUE, CAST(NULL AS INT)"))
back(
    t_env.sql_query(
        "SELECT DATE '2020-01-02' AS d, TIME '01:02:03' AS t, TIMESTAMP '2020-01-02 03:04:05' AS ts"
    )
)
back(t_env.sql_query("SELECT * FROM (VALUES (1), (CAST(NULL AS INT))) AS t (a)"))
back(t_env.sql_query("SELECT * FROM (VALUES (1)) AS t (a) WHERE a > 5"))
back(t_env.sql_query("SELECT a, COUNT(*) AS c FROM (VALUES (1), (1), (2)) AS t (a) GROUP BY a"))
