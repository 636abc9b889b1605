"""Expressions: their texts, and columns and groups of tables."""

import datetime
from decimal import Decimal

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment, expressions as E
from pyflink.table.expression import TimeIntervalUnit, TimePointUnit
from pyflink.table.expressions import call, col, concat, lit, row_interval

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set_local_timezone("UTC")
t_env.get_config().set("parallelism.default", "1")
T = t_env.from_elements([(1, "a", 1.5), (2, "b", 2.5), (3, "a", 3.5)], ["i", "s", "f"])
A, B = col("a"), col("b")


def rows(table):
    with table.execute().collect() as results:
        return sorted(map(str, results))


def texts(cases):
    for case in cases.strip().splitlines():
        try:
            print(case, "|", eval(case))
        except Exception as error:
            print(case, "| refused")


# --- texts of expressions
texts("""
A == B
A != B
A < B
A <= B
A > B
A >= B
(A > 1) & (B < 2)
(A > 1) | (B < 2)
~(A > 1)
A.is_null
A.is_not_null
A.is_true
A + 1
1 + A
A - B
A * 2
A / 2
A % 2
-A
A**2
A.cast(DataTypes.INT())
A.try_cast(DataTypes.STRING())
A.alias("x")
A.alias("x", "y")
A.asc
A.desc
A.in_(1, 2)
A.between(1, 2)
A.not_between(1, 2)
A.like("x%")
A.sum
A.sum0
A.avg
A.count
A.max
A.min
A.count.distinct
A.collect
A.stddev_pop
A.var_samp
A.first_value
A.last_value
A.list_agg(",")
A.upper_case
A.lower_case
A.substring(1, 2)
A.trim()
A.replace("x", "y")
A.char_length
A.init_cap
A.position(B)
A.lpad(3, "x")
A.overlay("x", 1)
A.to_date
A.to_timestamp
A.extract(TimeIntervalUnit.YEAR)
A.floor(TimeIntervalUnit.DAY)
A.abs()
A.round(2)
A.get("x")
A.get(0)
A.at(1)
A.element
A.cardinality
A.flatten
A.year
A.month
A.days
A.hours
A.seconds
A.milli
A.then(1, 2)
A.if_null(0)
A.is_json()
A.as_argument("x")
A.md5
""")

# --- texts of literals
for value, *type_ in [
    (1,),
    (2**40,),
    (1.5,),
    ("it's",),
    (True,),
    (None, DataTypes.INT()),
    (Decimal("1.20"),),
]:
    print(str(lit(value, *type_)))

# --- texts of functions
texts("""
concat(A, B, "x")
E.concat_ws("-", A, B)
E.if_then_else(A > 1, A, B)
E.coalesce(A, B)
E.and_(A, B, A)
E.or_(A, B)
E.not_(A)
E.row(1, "a")
E.array(1, 2)
E.map_("a", 1)
E.range_("a", "b")
E.with_columns(A, B)
E.without_columns(A)
E.to_date("2020-01-02")
E.to_timestamp("2020-01-02 03:04:05")
E.to_timestamp_ltz(123, 0)
E.temporal_overlaps(A, B, A, B)
E.date_format(A, "yyyy")
E.timestamp_diff(TimePointUnit.DAY, A, B)
E.null_of(DataTypes.INT())
E.pi()
E.e()
E.rand()
E.rand_integer(10)
E.uuid()
E.current_date()
E.current_timestamp()
E.local_time()
E.current_watermark(A)
call("f", A, 1)
E.call_sql("a + 1")
row_interval(5)
E.UNBOUNDED_ROW
E.UNBOUNDED_RANGE
E.CURRENT_ROW
E.CURRENT_RANGE
E.col("x")
E.source_watermark()
E.from_unixtime(5)
E.unix_timestamp()
E.log(A)
E.negative(A)
E.greatest(A, B)
""")

# --- texts of values
print(col("a") + "x", "x" + col("a"), col("a") == None, col("a") == "x", col("a").in_("x", "y"))
raises(lambda: lit(object()), Exception)

# --- columns of tables
print(T.select(col("*")).get_schema())
print(rows(T.select(col("i"), col("i") + 1, col("s").upper_case.alias("u"))))
print(T.select(col("i") + 1, col("s").upper_case).get_schema())
print(
    rows(T.add_columns((col("i") * 2).alias("d"))),
    rows(T.add_or_replace_columns((col("i") * 2).alias("i"))),
    rows(T.rename_columns(col("i").alias("k"))),
    rows(T.drop_columns(col("i"), col("f"))),
)
raises(
    lambda: T.nothing,
    AttributeError,
    "The current table has no column named 'nothing', available columns: [i, s, f]",
)
raises(
    lambda: T.select(col("nothing")),
    Exception,
    "Cannot resolve field [nothing], input field list:[i, s, f].",
)
raises(lambda: T.add_columns(col("i").alias("i")), Exception)
print(
    T.alias("a", "b", "c").get_schema().get_field_names(), T.limit(1).get_schema().get_field_names()
)

# --- groups of tables
print(
    rows(
        T.group_by(col("s")).select(
            col("s"), col("i").sum, col("f").avg, col("i").count, col("i").max
        )
    )
)
print(T.group_by(col("s")).select(col("s"), col("i").sum, col("f").avg.alias("m")).get_schema())
print(rows(T.select(col("i").sum, col("s").count.distinct)))
print(rows(T.distinct()), rows(T.select(col("s")).distinct()))
raises(lambda: T.group_by(col("s")).select(col("i")), Exception)

# --- tables together
U = t_env.from_elements([(1, "x"), (4, "y")], ["k", "v"])
print(
    rows(T.join(U).where(col("i") == col("k")).select(col("i"), col("v"))),
    rows(T.join(U, col("i") == col("k")).select(col("i"), col("v"))),
)
print(
    rows(T.left_outer_join(U, col("i") == col("k")).select(col("i"), col("v"))),
    rows(T.right_outer_join(U, col("i") == col("k")).select(col("k"), col("i"))),
    rows(T.full_outer_join(U, col("i") == col("k")).select(col("k"), col("i"))),
)
V = T.select(col("i"), col("s"))
W = t_env.from_elements([(1, "a"), (5, "z")], ["i", "s"])
print(
    rows(V.union_all(W)),
    rows(V.union(W)),
    rows(V.intersect(W)),
    rows(V.minus(W)),
    rows(V.intersect_all(W)),
    rows(V.minus_all(W)),
)
with V.order_by(col("i").desc).fetch(2).execute().collect() as results:
    print(list(results))

# --- numbers beyond all bounds, and patterns without a group
edges = t_env.from_elements([(-32768.0, 3.0, "xaxb"), (32768.0, 10.0, "z")], ["d", "n", "t"])
print(
    rows(edges.select(col("d").sinh, col("d").cosh, col("d").tanh)),
    rows(edges.select(col("d") ** 69, col("d") ** 70, (-col("d")) ** 69)),
    rows(edges.select(col("n").log2, lit(8).log2, lit(0.1).log2)),
    rows(edges.select(col("t").regexp_extract_all("x"), col("t").regexp_extract_all("x(.)"))),
    rows(edges.select(col("t").regexp_extract_all("x", 0), col("t").regexp_extract_all("x", 1))),
    rows(edges.select(col("t").regexp_extract_all("(x)", -1), col("t").regexp_extract_all("(", 0))),
)
