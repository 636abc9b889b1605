"""Tables of Python objects, and rows that come back: types, values and refusals."""

import array
import datetime
from collections import namedtuple
from decimal import Decimal

from pyflink.common import Row, RowKind
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit, row

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set_local_timezone("UTC")
t_env.get_config().set("parallelism.default", "1")


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def show(table):
    print(table.get_schema())
    for r in rows(table):
        print(r)


# --- inferred types
Point = namedtuple("Point", "x y")
table = t_env.from_elements(
    [
        (
            1,
            "a",
            2.5,
            True,
            bytearray(b"x"),
            Decimal("1.5"),
            datetime.date(2020, 1, 2),
            datetime.time(1, 2, 3),
        )
    ]
)
print(table.get_schema())
show(t_env.from_elements([(1, "a"), (2, None)], ["id", "name"]))
show(t_env.from_elements([{"b": 1, "a": "x"}, {"b": 2, "a": "y"}]))
show(t_env.from_elements([Point(1, "a")]))
show(
    t_env.from_elements([([1, 2], {"k": 1.5}, (1, "in")), ([3], {}, (2, "side"))], ["xs", "m", "r"])
)
show(t_env.from_elements([(1, "a")], ["only"]))

# --- inferred timestamps
table = t_env.from_elements([(datetime.datetime(2020, 1, 2, 3, 4, 5, 600),)], ["t"])
print(table.get_schema())

# --- inferred arrays
table = t_env.from_elements(
    [(array.array("i", [1, 2]), array.array("d", [1.5]), array.array("B", [1]))], ["i", "d", "b"]
)
print(table.get_schema())

# --- what cannot be inferred
raises(lambda: t_env.from_elements([]), ValueError, "can not infer schema from empty data set")
raises(
    lambda: t_env.from_elements([(None,)]),
    ValueError,
    "Some column types cannot be determined after inferring",
)
raises(lambda: t_env.from_elements([(1,), ("a",)]), TypeError, "Can not merge type")
raises(lambda: t_env.from_elements([(1, object)], ["a", "b"]), TypeError, "not supported type")
raises(
    lambda: t_env.from_elements([1, 2]), TypeError, "Can not infer schema for type: <class 'int'>"
)
raises(
    lambda: t_env.from_elements([(1,)], "a"),
    TypeError,
    "schema should be RowType, list, tuple or None",
)

# --- what a schema refuses
R = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.TINYINT()), DataTypes.FIELD("b", DataTypes.STRING(False))]
)
raises(
    lambda: t_env.from_elements([(1000, "x")], R),
    ValueError,
    "field a: object of TinyIntType out of range, got: 1000",
)
raises(
    lambda: t_env.from_elements([(1, None)], R),
    ValueError,
    "field b: This field is not nullable, but got None",
)
raises(
    lambda: t_env.from_elements([("x", "x")], R),
    TypeError,
    "field a: TINYINT can not accept object 'x' in type <class 'str'>",
)
raises(
    lambda: t_env.from_elements([(1, 2)], R),
    TypeError,
    "field b: VARCHAR can not accept object 2 in type <class 'int'>",
)
raises(
    lambda: t_env.from_elements([(1,)], R),
    ValueError,
    "Length of object (1) does not match with length of fields (2)",
)
raises(
    lambda: t_env.from_elements(["abc"], DataTypes.CHAR(2)),
    ValueError,
    "length of object (abc) of CharType is not: 2",
)
raises(
    lambda: t_env.from_elements(["abc"], DataTypes.VARCHAR(2)),
    ValueError,
    "length of object (abc) of VarCharType exceeds: 2",
)
raises(
    lambda: t_env.from_elements([[1, "x"]], DataTypes.ARRAY(DataTypes.INT())),
    TypeError,
    "INT can not accept object 'x' in type <class 'str'>",
)
raises(
    lambda: t_env.from_elements([{"a": "x"}], DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
    TypeError,
    "value of map field value: INT can not accept object 'x'",
)
raises(
    lambda: t_env.from_elements([lit(1), 2], DataTypes.INT()),
    ValueError,
    "It doesn't support part of the elements are Expression, while the others are not.",
)

# --- rows by name and nested rows
N = DataTypes.ROW(
    [
        DataTypes.FIELD("a", DataTypes.INT()),
        DataTypes.FIELD(
            "n",
            DataTypes.ROW(
                [DataTypes.FIELD("x", DataTypes.STRING()), DataTypes.FIELD("y", DataTypes.DOUBLE())]
            ),
        ),
    ]
)
show(
    t_env.from_elements(
        [(1, Row("p", 1.5)), (2, ("q", 2.5)), (3, None), Row(4, Row(x="r", y=3.5))], N
    )
)
show(t_env.from_elements([{"a": 1, "n": {"x": "d", "y": 0.5}}], N))

# --- all types come back
ALL = DataTypes.ROW([
    DataTypes.FIELD("a", DataTypes.TINYINT()), DataTypes.FIELD("b", DataTypes.SMALLINT()),
    DataTypes.FIELD("c", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.BIGINT()),
    DataTypes.FIELD("e", DataTypes.FLOAT()), DataTypes.FIELD("f", DataTypes.DOUBLE()),
    DataTypes.FIELD("g", DataTypes.BYTES()), DataTypes.FIELD("h", DataTypes.STRING()),
    DataTypes.FIELD("i", DataTypes.DATE()), DataTypes.FIELD("j", DataTypes.TIME()),
    DataTypes.FIELD("k", DataTypes.TIMESTAMP(3)), DataTypes.FIELD("l", DataTypes.DECIMAL(38, 18)),
    DataTypes.FIELD("m", DataTypes.ARRAY(DataTypes.FLOAT())),
    DataTypes.FIELD("n", DataTypes.MAP(DataTypes.STRING(), DataTypes.FLOAT())),
    DataTypes.FIELD("o", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.DECIMAL(10, 2)), DataTypes.FIELD("y", DataTypes.DATE())])),
    DataTypes.FIELD("p", DataTypes.BOOLEAN()),
])  # fmt: skip
value = (
    1, -32768, 2147483647, -9223372036854775808, 1.23, 1.98932, bytearray(b"pyflink"), "pyflink",
    datetime.date(2014, 9, 13), datetime.time(12, 0, 0, 123000), datetime.datetime(2018, 3, 11, 3, 0, 0, 123000),
    Decimal("1000000000000000000.05"), [1.1, 2.5], {"x": 1.1}, (Decimal("1.25"), datetime.date(2020, 2, 29)), True,
)  # fmt: skip
[found] = rows(
    t_env.from_elements(
        [
            value,
        ],
        ALL,
    )
)
for v in found:
    # BYTES are a bytearray in one and bytes in the other.
    v = bytes(v) if isinstance(v, bytearray) else v
    print(type(v).__name__, repr(v))

# --- expressions that come back
table = t_env.from_elements(
    [(1, 1.5, "a", Decimal("2.50"))],
    DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("f", DataTypes.FLOAT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("d", DataTypes.DECIMAL(5, 2)),
        ]
    ),
)
for e in [
    col("i") + 1,
    col("f") * 2,
    col("s") + "xyz",
    "pre" + col("s"),
    col("d") + 1,
    col("d") * col("i"),
    col("i") / 2,
    col("i") % 2,
    -col("i"),
    col("i") ** 2,
    col("s") == "a",
    col("i").cast(DataTypes.STRING()),
    col("f").sum,
    col("d").avg,
    col("i").avg,
    col("f").stddev_pop,
    col("f").avg,
]:
    result = table.select(e)
    [found] = rows(result)
    print(result.get_schema().get_field_data_types(), [type(v).__name__ for v in found], found)

# --- kinds of rows
table = t_env.from_elements([(1, "a"), (3, "b"), (5, "a")], ["n", "k"])
changes = rows(table.group_by(col("k")).select(col("k"), col("n").sum))
left = []
for r in changes:
    if r.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
        left.append(str(r))
    else:
        left.remove(str(r))
print(sorted(left))

# --- literals
for value in [
    1,
    2**40,
    1.5,
    "text",
    True,
    Decimal("12.340"),
]:
    try:
        e = lit(value)
        print(
            str(e), t_env.from_elements([(1,)], ["a"]).select(e).get_schema().get_field_data_types()
        )
    except Exception as error:
        print(type(value).__name__, "refused")
