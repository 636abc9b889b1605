"""Values of tables: JSON, types of users, older files, and rows that become a stream."""

import os
import tempfile

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, StreamTableEnvironment
from pyflink.table.expression import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from pyflink.table.expressions import col
from pyflink.table.types import UserDefinedType

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("Asia/Tokyo")
some = t_env.from_elements([(1, "a"), (2, "b"), (3, None)], ["id", "name"])


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def show(table):
    for r in rows(table):
        print(r)


def sql(text):
    show(t_env.sql_query(text))


# --- options of JSON functions
documents = t_env.from_elements([('{"a":[1,2],"b":{"c":5}}',), ("nope",), ("7",)], ["j"])
j = col("j")
show(
    documents.select(
        j.is_json(),
        j.is_json(JsonType.OBJECT),
        j.is_json(JsonType.SCALAR),
        j.is_json(JsonType.ARRAY),
    )
)
show(
    documents.select(
        j.json_exists("$.a"),
        j.json_exists("$.a", JsonExistsOnError.TRUE),
        j.json_exists("lax $.b.c", JsonExistsOnError.UNKNOWN),
    )
)
show(documents.select(j.json_value("$.b.c"), j.json_value("$.b.c", DataTypes.INT())))
show(
    documents.select(
        j.json_value(
            "lax $.z",
            DataTypes.INT(),
            JsonValueOnEmptyOrError.DEFAULT,
            42,
            JsonValueOnEmptyOrError.DEFAULT,
            7,
        )
    )
)
show(
    documents.select(
        j.json_query("$.a"),
        j.json_query(
            "$.b.c",
            JsonQueryWrapper.UNCONDITIONAL_ARRAY,
            JsonQueryOnEmptyOrError.EMPTY_ARRAY,
            JsonQueryOnEmptyOrError.EMPTY_OBJECT,
        ),
    )
)
show(
    documents.select(
        j.json_query(
            "lax $.z", JsonQueryWrapper.CONDITIONAL_ARRAY, JsonQueryOnEmptyOrError.EMPTY_OBJECT
        )
    )
)
print(
    j.json_value(
        "$.x",
        DataTypes.BOOLEAN(),
        JsonValueOnEmptyOrError.DEFAULT,
        True,
        JsonValueOnEmptyOrError.ERROR,
    )
)
print(j.json_query("$.x"), j.json_exists("$.x", JsonExistsOnError.ERROR), j.is_json(JsonType.VALUE))

# --- rows of another table
keys = t_env.from_elements([(1,), (3,)], ["k"])
show(some.where(col("id").in_(keys)))
show(some.where(col("id").in_(keys.select(col("k"))) & (col("id") > 1)))
show(some.where(col("id").in_(1, 2)))


# --- types of users
class PlaceType(UserDefinedType):
    @classmethod
    def sql_type(cls):
        return DataTypes.ARRAY(DataTypes.DOUBLE(False))

    @classmethod
    def module(cls):
        return "__main__"

    def serialize(self, obj):
        return [obj.x, obj.y]

    def deserialize(self, datum):
        return Place(datum[0], datum[1])


class Place:
    __UDT__ = PlaceType()

    def __init__(self, x, y):
        self.x, self.y = x, y


places = t_env.from_elements(
    [(1, Place(1.5, 2.5))],
    DataTypes.ROW([DataTypes.FIELD("i", DataTypes.BIGINT()), DataTypes.FIELD("p", PlaceType())]),
)
print(places.get_schema())
show(places)
show(places.select(col("p").at(2)))

# --- older CSV tables
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "a.csv"), "w") as file:
    file.write("x,y,z\n1,ab,2\n3,,4\n")
t_env.execute_sql(f"""
    CREATE TABLE older (x INT, y STRING) WITH (
        'connector.type' = 'filesystem', 'connector.path' = '{folder}/a.csv', 'format.type' = 'csv',
        'format.ignore-first-line' = 'true', 'format.field-delimiter' = ',')
""")
sql("SELECT * FROM older")

# --- types of streams of tables
print(
    t_env.to_data_stream(
        t_env.sql_query(
            "SELECT 1 AS i, CAST(2 AS BIGINT) AS l, 'x' AS s, TRUE AS b, CAST(1.5 AS DOUBLE) AS d"
        )
    ).get_type()
)
print(
    t_env.to_data_stream(
        t_env.sql_query(
            "SELECT DATE '2020-01-02' AS a, TIME '01:02:03' AS b, TIMESTAMP '2020-01-02 03:04:05' AS c"
        )
    ).get_type()
)
print(
    t_env.to_data_stream(
        t_env.sql_query(
            "SELECT 1.5 AS a, CAST('x' AS BYTES) AS b, ARRAY['a'] AS c, MAP['a', 1] AS d"
        )
    ).get_type()
)

# --- types of streams of rows
print(
    t_env.to_data_stream(
        t_env.sql_query("SELECT ROW(1, 'x') AS r, TO_TIMESTAMP_LTZ(0, 3) AS t")
    ).get_type()
)

# --- times in streams of tables
times = t_env.sql_query(
    "SELECT TO_TIMESTAMP_LTZ(1500, 3) AS a, TIMESTAMP '2020-01-02 03:04:05.123' AS b, "
    "DATE '2020-01-02' AS c, TIME '03:04:05' AS d"
)
with (
    t_env.to_data_stream(times)
    .map(lambda r: [f"{type(v).__name__} {v}" for v in r])
    .execute_and_collect() as found
):
    for texts_of_row in found:
        print(texts_of_row)

# --- values in streams of tables
values = t_env.sql_query(
    "SELECT ARRAY[1, 2] AS a, MAP['k', 1] AS m, ROW(1, 'x') AS r, CAST('ab' AS BYTES) AS b, 1.50 AS d, "
    "CAST(1.1 AS FLOAT) AS f, CAST(NULL AS INT) AS n, CAST('a' AS CHAR(3)) AS c"
)
with (
    t_env.to_data_stream(values)
    .map(lambda r: [f"{type(v).__name__} {v}" for v in r])
    .execute_and_collect() as found
):
    for texts_of_row in found:
        print(texts_of_row)
