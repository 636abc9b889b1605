"""Streams and tables: one of the other, with their types, names and kinds of rows."""

import datetime
from decimal import Decimal

from pyflink.common import Row, RowKind, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from pyflink.table import (
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
)
from pyflink.table.expressions import col

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def records(stream):
    with stream.execute_and_collect() as results:
        return list(results)


def left(rows_):
    kept = []
    for r in rows_:
        if r.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            kept.append(str(r))
        else:
            kept.remove(str(r))
    return sorted(kept)


class Second(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


# --- types of streams
for values, type_ in [
    ([1, 2], Types.INT()),
    (["a"], Types.STRING()),
    ([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()])),
    ([Row(1, "a")], Types.ROW([Types.INT(), Types.STRING()])),
    ([Row(1, "a")], Types.ROW_NAMED(["x", "y"], [Types.LONG(), Types.STRING()])),
    ([{"a": 1}], Types.MAP(Types.STRING(), Types.INT())),
    ([1.5], Types.DOUBLE()),
    ([1.5], Types.FLOAT()),
    ([True], Types.BOOLEAN()),
    ([Decimal("1.5")], Types.BIG_DEC()),
    ([datetime.date(2020, 1, 2)], Types.SQL_DATE()),
    ([datetime.time(1, 2, 3)], Types.SQL_TIME()),
    ([datetime.datetime(2020, 1, 2, 3, 4, 5)], Types.SQL_TIMESTAMP()),
    ([[1, 2]], Types.PRIMITIVE_ARRAY(Types.INT())),
    ([["a"]], Types.BASIC_ARRAY(Types.STRING())),
]:
    try:
        table = t_env.from_data_stream(env.from_collection(values, type_))
        # Columns may be NULL here, whatever their type: a record may have None there.
        print(str(table.get_resolved_schema()).replace(" NOT NULL", ""))
        print(rows(table))
    except Exception as error:
        print(type_, "refused")

# --- streams without a type
table = t_env.from_data_stream(env.from_collection([(1, "a"), (2, "b")]))
print(table.get_schema().get_field_names())

# --- names for a stream
stream = env.from_collection([(1, "a"), (2, "b")], Types.TUPLE([Types.INT(), Types.STRING()]))
print(t_env.from_data_stream(stream, col("x"), col("y")).get_schema())
print(rows(t_env.from_data_stream(stream, col("f1").alias("y"), col("f0").alias("x"))))
print(rows(t_env.from_data_stream(stream, col("f1"))))

# --- tables as streams
table = t_env.from_elements(
    [(1, "a", 1.5)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("f", DataTypes.DOUBLE()),
        ]
    ),
)
stream = t_env.to_data_stream(table)
print(records(stream))
print(records(t_env.to_data_stream(table).map(lambda r: (r.i, r["s"], r[2], r.get_row_kind()))))

# --- appended rows as a stream
table = t_env.from_elements([(1, "a"), (2, "b")], ["i", "s"])
stream = t_env.to_append_stream(
    table.select(col("i") + 1, col("s")), Types.ROW([Types.LONG(), Types.STRING()])
)
print(stream.get_type())
print(records(stream))
print(records(t_env.to_append_stream(table, Types.TUPLE([Types.LONG(), Types.STRING()]))))

# --- retracted rows as a stream
stream = t_env.to_retract_stream(
    table := t_env.from_elements([(1, "a"), (2, "b")], ["i", "s"]),
    Types.ROW([Types.LONG(), Types.STRING()]),
)
print(records(stream.map(lambda x: x)))

# --- changes as a stream
table = t_env.from_elements([(1, "a"), (2, "b")], ["i", "s"])
stream = t_env.to_changelog_stream(table)
print([(str(r), r.get_row_kind().name) for r in records(stream)])
grouped = (
    t_env.from_elements([(1, "a"), (2, "a")], ["i", "s"])
    .group_by(col("s"))
    .select(col("s"), col("i").sum.alias("n"))
)
print(left(records(t_env.to_changelog_stream(grouped))))

# --- changes from a stream
changes = env.from_collection(
    [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 3),
        Row.of_kind(RowKind.DELETE, "a", 3),
        Row.of_kind(RowKind.INSERT, "b", 2),
    ],
    Types.ROW([Types.STRING(), Types.INT()]),
)
table = t_env.from_changelog_stream(changes)
print(table.get_resolved_schema())
print([(str(r), r.get_row_kind().name) for r in rows(table)])
print(left(rows(table.group_by(col("f0")).select(col("f0"), col("f1").sum))))

# --- changes by key
changes = env.from_collection(
    [Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 3)],
    Types.ROW([Types.STRING(), Types.INT()]),
)
table = t_env.from_changelog_stream(
    changes, Schema.new_builder().primary_key("f0").build(), ChangelogMode.upsert()
)
print(left(rows(table)))

# --- side outputs as tables
tag = OutputTag("side", Types.ROW([Types.INT()]))


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        yield Row(value)
        yield tag, Row(value * 2)


stream = env.from_collection([1, 2], Types.INT()).process(Split(), Types.ROW([Types.INT()]))
print(rows(t_env.from_data_stream(stream.get_side_output(tag))))

# --- views of streams
t_env.create_temporary_view(
    "numbers", env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
)
print(rows(t_env.sql_query("SELECT f0 + 1, f1 FROM numbers")))
t_env.create_temporary_view(
    "named",
    env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()])),
    col("p"),
    col("q"),
)
print(rows(t_env.sql_query("SELECT p, q FROM named")))
