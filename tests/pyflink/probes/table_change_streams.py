"""Changes that come from streams, go to them, and pass through functions in Python."""

from pyflink.common import Row, RowKind, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import (
    AggregateFunction,
    ChangelogMode,
    DataTypes,
    Schema,
    StreamTableEnvironment,
    TableAggregateFunction,
)
from pyflink.table.expressions import col, row_interval
from pyflink.table.udf import udaf, udf, udtaf, udtf
from pyflink.table.window import Tumble

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
t_env = StreamTableEnvironment.create(env)
t_env.get_config().set_local_timezone("UTC")
# A bundle has so many rows, however long they take.
t_env.get_config().set("python.fn-execution.bundle.time", "600000")

KINDS = {
    "+I": RowKind.INSERT,
    "-U": RowKind.UPDATE_BEFORE,
    "+U": RowKind.UPDATE_AFTER,
    "-D": RowKind.DELETE,
}
NAMES = {kind: text for text, kind in KINDS.items()}
GROWS = "+I a 1; +I b 2; +I a 3; +I a 1; +I c 5; +I b 7; +I a 3"
CHANGES = "+I a 1; +I b 2; -U a 1; +U a 3; +I a 4; +I c 7; -D b 2; -U a 4; +U a 5; -D c 7; +I b 1"
UPSERTS = "+I a 1; +I b 2; +U a 3; +U a 3; -D b 2; +I b 4; +U c 5; -D a 3"


def stream(changes):
    rows = []
    for change in changes.split(";"):
        kind, key, value = change.split()
        rows.append(Row.of_kind(KINDS[kind], key, int(value)))
    types = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])
    return env.from_collection(rows, types)


def show(table):
    with table.execute().collect() as results:
        for row in results:
            print(NAMES[row.get_row_kind()], *row)


def ask(query):
    print("--", query)
    show(t_env.sql_query(query))


def records(stream_):
    with stream_.execute_and_collect() as results:
        return list(results)


timed = (
    Schema.new_builder()
    .column_by_expression("pt", "PROCTIME()")
    .column_by_expression("rt", "TO_TIMESTAMP_LTZ(v * 1000, 3)")
    .watermark("rt", "rt - INTERVAL '1' SECOND")
    .build()
)
grows = t_env.from_data_stream(stream(GROWS), timed)
changes = t_env.from_changelog_stream(stream(CHANGES))
key = (
    Schema.new_builder().column("k", "STRING NOT NULL").column("v", "INT").primary_key("k").build()
)
upserts = t_env.from_changelog_stream(stream(UPSERTS), key, ChangelogMode.upsert())
for name, table in (("g", grows), ("c", changes), ("u", upserts)):
    t_env.create_temporary_view(name, table)


class Total(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, value):
        accumulator[0] += value

    def retract(self, accumulator, value):
        accumulator[0] -= value

    def get_value(self, accumulator):
        return accumulator[0]

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.BIGINT()


class Two(TableAggregateFunction):
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, row):
        accumulator.append(row[1])

    def retract(self, accumulator, row):
        accumulator.remove(row[1])

    def emit_value(self, accumulator):
        for value in sorted(accumulator)[-2:]:
            yield Row(value)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.INT())

    def get_result_type(self):
        return DataTypes.ROW([DataTypes.FIELD("v", DataTypes.INT())])


total = udaf(Total())
two = udtaf(Two())


@udf(result_type=DataTypes.INT())
def half(value):
    return value // 2


@udtf(result_types=[DataTypes.INT()])
def up_to(value):
    yield from range(min(value, 3))


t_env.create_temporary_function("total", total)
t_env.create_temporary_function("half", half)
t_env.create_temporary_function("up_to", up_to)

# --- deduplication
for order in ("pt", "pt DESC", "rt", "rt DESC"):
    ranked = f"SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS r FROM g"
    ask(f"SELECT k, v FROM ({ranked}) WHERE r = 1")

# --- groups of deduplicated rows
ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY pt DESC) AS r FROM g"
last = f"SELECT k, v FROM ({ranked}) WHERE r = 1"
ask(f"SELECT COUNT(*), SUM(v) FROM ({last})")
ask(f"SELECT k, v FROM ({last}) WHERE v > 2")
ask(f"SELECT k, v FROM ({last}) ORDER BY v DESC LIMIT 1")

# --- rows by key
show(upserts)
ask("SELECT COUNT(*), SUM(v) FROM u")
ask("SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) AS r FROM u) WHERE r <= 2")
ask("SELECT k, v FROM u WHERE k IN (SELECT k FROM u WHERE v > 3)")

# --- windows
ask(
    "SELECT window_start, SUM(v) FROM TABLE(TUMBLE(TABLE g, DESCRIPTOR(rt), INTERVAL '2' SECOND)) "
    "GROUP BY window_start, window_end"
)
ask(
    "SELECT TUMBLE_START(rt, INTERVAL '2' SECOND), COUNT(*) FROM g GROUP BY TUMBLE(rt, INTERVAL '2' SECOND)"
)
ask(
    "SELECT n, COUNT(*) FROM (SELECT COUNT(*) AS n FROM TABLE(TUMBLE(TABLE g, DESCRIPTOR(rt), "
    "INTERVAL '2' SECOND)) GROUP BY window_start, window_end) GROUP BY n"
)
ask("SELECT k, v, SUM(v) OVER (PARTITION BY k ORDER BY pt) FROM g")
ask(
    "SELECT k, SUM(s) FROM (SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY pt) AS s FROM g) GROUP BY k"
)

# --- windows of rows
window = Tumble.over(row_interval(2)).on(col("pt")).alias("w")
show(grows.window(window).group_by(col("w"), col("k")).select(col("k"), col("v").sum))

# --- the table api
show(grows.group_by(col("k")).select(col("k"), col("v").sum.alias("s"), col("v").count))
show(changes.group_by(col("k")).select(col("k"), col("v").max, col("v").avg))
show(changes.select(col("k")).distinct())
show(
    grows.group_by(col("k"))
    .select(col("v").sum.alias("s"))
    .group_by(col("s"))
    .select(col("s"), col("s").count)
)
show(changes.where(col("v") > 2).select(col("v") + 1))
show(
    grows.select(col("k"), col("v")).union_all(
        grows.where(col("v") > 100).select(col("k"), col("v"))
    )
)

# --- tables as streams of changes
counts = t_env.sql_query("SELECT k, COUNT(*) AS n FROM g GROUP BY k")
print([(r.get_row_kind().name, *r) for r in records(t_env.to_changelog_stream(counts))])
changed = t_env.to_changelog_stream(t_env.sql_query("SELECT k, SUM(v) AS s FROM c GROUP BY k"))
print([(r.get_row_kind().name, *r) for r in records(changed)])
shape = Schema.new_builder().column("k", "STRING").column("n", "BIGINT").build()
print([(r.get_row_kind().name, *r) for r in records(t_env.to_changelog_stream(counts, shape))])

# --- tables as streams of upserts
keyed = (
    Schema.new_builder()
    .column("k", "STRING NOT NULL")
    .column("n", "BIGINT")
    .primary_key("k")
    .build()
)
counts = t_env.sql_query(
    "SELECT COALESCE(k, '') AS k, COUNT(*) AS n FROM g GROUP BY COALESCE(k, '')"
)
changed = t_env.to_changelog_stream(counts, keyed, ChangelogMode.upsert())
print([(r.get_row_kind().name, *r) for r in records(changed)])

# --- tables as streams of retractions
types = Types.ROW([Types.STRING(), Types.LONG()])
counts = t_env.sql_query("SELECT k, COUNT(*) AS n FROM g GROUP BY k")
for record in records(t_env.to_retract_stream(counts, types)):
    print(record)
for record in records(
    t_env.to_retract_stream(
        t_env.sql_query("SELECT k, SUM(v) AS s FROM c GROUP BY k"),
        Types.ROW([Types.STRING(), Types.INT()]),
    )
):
    print(record)

# --- streams of changes in a function
counts = t_env.sql_query("SELECT k, COUNT(*) AS n FROM g GROUP BY k")
found = t_env.to_changelog_stream(counts).map(
    lambda r: f"{NAMES[r.get_row_kind()]} {r[0]} {r[1]}", Types.STRING()
)
print(records(found))

# --- scalar and table functions over changes
ask("SELECT k, half(v) FROM c")
ask("SELECT half(v) AS h, COUNT(*) FROM c GROUP BY half(v)")
ask("SELECT k, half(CAST(SUM(v) AS INT)) FROM c GROUP BY k")
ask("SELECT k, x FROM c, LATERAL TABLE(up_to(v)) AS t(x)")

# --- aggregates in python
ask("SELECT k, total(v) FROM g GROUP BY k")
ask("SELECT k, total(v) FROM c GROUP BY k")
show(grows.group_by(col("k")).select(col("k"), total(col("v")), col("v").count))
show(grows.select(total(col("v"))))

# --- aggregates in python, in bundles of one row
t_env.get_config().set("python.fn-execution.bundle.size", "1")
ask("SELECT k, total(v) FROM g GROUP BY k")
ask("SELECT k, total(v) FROM c GROUP BY k")
ask("SELECT n, COUNT(*) FROM (SELECT k, total(v) AS n FROM g GROUP BY k) GROUP BY n")
t_env.get_config().set("python.fn-execution.bundle.size", "100000")

# --- aggregates in python, in bundles of three rows
t_env.get_config().set("python.fn-execution.bundle.size", "3")
ask("SELECT k, total(v) FROM g GROUP BY k")
t_env.get_config().set("python.fn-execution.bundle.size", "100000")

# --- several rows of a group
show(
    grows.select(col("k"), col("v"))
    .group_by(col("k"))
    .flat_aggregate(two)
    .select(col("k"), col("v"))
)
t_env.get_config().set("python.fn-execution.bundle.size", "1")
show(
    grows.select(col("k"), col("v"))
    .group_by(col("k"))
    .flat_aggregate(two.alias("x"))
    .select(col("k"), col("x"))
)
t_env.get_config().set("python.fn-execution.bundle.size", "100000")

# --- mini-batches
for key_, value in (("enabled", "true"), ("allow-latency", "5 s"), ("size", "1000")):
    t_env.get_config().set(f"table.exec.mini-batch.{key_}", value)
ask("SELECT k, COUNT(*), SUM(v) FROM g WHERE k = 'a' GROUP BY k")
ask("SELECT k, COUNT(*), SUM(v) FROM c WHERE k = 'a' GROUP BY k")
t_env.get_config().set("table.exec.mini-batch.enabled", "false")
ask("SELECT k, COUNT(*) FROM g GROUP BY k")
