"""Aggregates in Python: views of lists and maps, pandas over windows, and table aggregates."""

from pyflink.common import Row
from pyflink.table import (
    DataTypes,
    EnvironmentSettings,
    ListView,
    MapView,
    TableEnvironment,
)
from pyflink.table.expressions import (
    col,
    lit,
    row_interval,
)
from pyflink.table.udf import (
    AggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)
from pyflink.table.window import Over, Session, Slide, Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set_local_timezone("UTC")
t_env.get_config().set("parallelism.default", "1")
b_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
b_env.get_config().set_local_timezone("UTC")
b_env.get_config().set("parallelism.default", "1")

import os
import tempfile

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "a.csv"), "w") as file:
    file.write("""a,1,2020-01-01 00:00:01
b,2,2020-01-01 00:00:02
a,3,2020-01-01 00:00:03
a,4,2020-01-01 00:00:12
b,5,2020-01-01 00:00:13
c,6,2020-01-01 00:00:31
""")
for e in (t_env, b_env):
    e.execute_sql(f"""
        CREATE TEMPORARY TABLE events (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv')
    """)


def rows(table):
    with table.execute().collect() as results:
        return list(results)


def show(table, ordered=True):
    found = rows(table)
    for row in found if ordered else sorted(found, key=str):
        print(row)


@udaf(result_type=DataTypes.FLOAT(), func_type="pandas")
def mean(v):
    return v.mean()


@udaf(result_type=DataTypes.STRING(), func_type="pandas")
def listed(v):
    return f"{type(v).__name__} {v.dtype} {list(v)}"


@udaf(result_type=DataTypes.BIGINT(), func_type="pandas")
def counted(v):
    return len(v)


for e in (t_env, b_env):
    e.create_temporary_system_function("mean_of", mean)
    e.create_temporary_system_function("listed", listed)
    e.create_temporary_system_function("counted", counted)


class Names(AggregateFunction):
    def create_accumulator(self):
        return Row(ListView(), 0)

    def accumulate(self, accumulator, value):
        accumulator[0].add(value)
        accumulator[1] += 1

    def retract(self, accumulator, value):
        accumulator[1] -= 1

    def get_value(self, accumulator):
        return ",".join(str(v) for v in accumulator[0]) + f" {accumulator[1]}"

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("l", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("n", DataTypes.BIGINT()),
            ]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class Views(AggregateFunction):
    def create_accumulator(self):
        return Row(MapView())

    def accumulate(self, accumulator, key, value):
        view = accumulator[0]
        if key in view:
            view[key] = view[key] + value
        else:
            view.put(key, value)

    def get_value(self, accumulator):
        view = accumulator[0]
        return (
            ",".join(f"{k}={v}" for k, v in sorted(view.items()))
            + f" {sorted(view.keys())} {sorted(view.values())} {view.is_empty()} {view.contains('z')} {view.get('z')}"
        )

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("m", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.INT()))]
        )

    def get_result_type(self):
        return DataTypes.STRING()


class Top2(TableAggregateFunction):
    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, value):
        if value is not None:
            if accumulator[0] is None or value > accumulator[0]:
                accumulator[1] = accumulator[0]
                accumulator[0] = value
            elif accumulator[1] is None or value > accumulator[1]:
                accumulator[1] = value

    def emit_value(self, accumulator):
        yield Row(accumulator[0], 1)
        if accumulator[1] is not None:
            yield Row(accumulator[1], 2)

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("v", DataTypes.BIGINT()), DataTypes.FIELD("rank", DataTypes.INT())]
        )


# --- pandas over rows before
show(
    t_env.sql_query(
        "SELECT k, v, listed(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM events"
    ),
    False,
)

# --- pandas over time before
show(
    t_env.sql_query(
        "SELECT k, v, listed(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '5' SECOND PRECEDING AND CURRENT ROW) FROM events"
    ),
    False,
)

# --- pandas in groups of batch mode
show(
    b_env.from_path("events").group_by(col("k")).select(col("k"), mean(col("v")), listed(col("v"))),
    False,
)
show(
    b_env.from_path("events")
    .group_by(col("k"))
    .select(col("k"), mean(col("v")).alias("m"), counted(col("v") + 1))
    .where(col("m") > 3),
    False,
)

# --- pandas without groups in batch mode
show(b_env.from_path("events").select(mean(col("v")), counted(col("k"))))

# --- pandas in windows of counts
show(
    b_env.from_path("events")
    .window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    .group_by(col("w"), col("k"))
    .select(col("k"), col("w").start, mean(col("v"))),
    False,
)

# --- views of lists
t_env.create_temporary_system_function("names", udaf(Names()))
show(t_env.sql_query("SELECT names(k) FROM events"))
show(t_env.sql_query("SELECT v / 3, names(k) FROM events GROUP BY v / 3"))

# --- views of maps
show(t_env.from_path("events").select(udaf(Views())(col("k"), col("v"))))

# --- table aggregates
top2 = udtaf(Top2())
show(
    t_env.from_path("events")
    .group_by(col("k"))
    .flat_aggregate(top2(col("v")).alias("x", "y"))
    .select(col("k"), col("x"), col("y"))
)
show(t_env.from_path("events").flat_aggregate(top2(col("v"))).select(col("*")))
raises(
    lambda: show(
        t_env.from_path("events")
        .window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .flat_aggregate(top2(col("v")).alias("x", "y"))
        .select(col("w").start, col("x"), col("y"))
    ),
    Exception,
)


# --- aggregates of rows
@udaf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("low", DataTypes.INT()), DataTypes.FIELD("high", DataTypes.INT())]
    ),
    func_type="pandas",
)
def range_of(v):
    return v.min(), v.max()


show(
    b_env.from_path("events").group_by(col("k")).aggregate(range_of(col("v"))).select(col("*")),
    False,
)
show(
    b_env.from_path("events")
    .group_by(col("k"))
    .aggregate(range_of(col("v")).alias("l", "h"))
    .select(col("k"), col("l"), col("h")),
    False,
)


# --- aggregates of frames
@udaf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.FLOAT()), DataTypes.FIELD("b", DataTypes.INT())]
    ),
    func_type="pandas",
)
def of_frame(frame):
    return frame.iloc[:, 1].mean(), frame.iloc[:, 1].max()


show(b_env.from_path("events").aggregate(of_frame.alias("x", "y")).select(col("*")))
show(
    b_env.from_path("events")
    .select(col("k"), col("v"))
    .group_by(col("k"))
    .aggregate(of_frame.alias("x", "y"))
    .select(col("*")),
    False,
)


# --- functions of whole rows
@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.STRING()), DataTypes.FIELD("b", DataTypes.INT())]
    )
)
def doubled(row):
    return Row(row.k + row[0], row.v * 2)


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.STRING()), DataTypes.FIELD("b", DataTypes.INT())]
    ),
    func_type="pandas",
)
def doubled_frame(frame):
    import pandas as pd

    return pd.concat([frame.k + "!", frame.v * 2], axis=1)


show(t_env.from_path("events").map(doubled))
show(t_env.from_path("events").map(doubled).alias("x", "y").select(col("y")))
show(t_env.from_path("events").select(col("k"), col("v")).map(doubled_frame).alias("x", "y"))


# --- flat maps
@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def repeated(row):
    for i in range(row.v % 3):
        yield row.k, i


@udtf(result_types=[DataTypes.INT()])
def several(n):
    return range(n % 3)


show(t_env.from_path("events").flat_map(repeated))
show(t_env.from_path("events").flat_map(repeated).alias("a", "b"))
show(
    t_env.from_path("events").join_lateral(several(col("v")).alias("n")).select(col("k"), col("n"))
)
show(
    t_env.from_path("events")
    .left_outer_join_lateral(several(col("v")).alias("n"))
    .select(col("k"), col("v"), col("n"))
)
t_env.create_temporary_system_function("several", several)
show(t_env.sql_query("SELECT k, n FROM events, LATERAL TABLE(several(v)) AS t(n)"))
show(t_env.sql_query("SELECT k, n FROM events LEFT JOIN LATERAL TABLE(several(v)) AS t(n) ON TRUE"))


# --- functions with named arguments
@udf(result_type=DataTypes.INT())
def minus(a, b):
    return a - b


t_env.create_temporary_system_function("minus", minus)
raises(lambda: show(t_env.sql_query("SELECT minus(a => v, b => 1) FROM events")), Exception)
raises(lambda: show(t_env.sql_query("SELECT minus(b => v, a => 1) FROM events")), Exception)
raises(lambda: minus(a=col("v"), b=1), Exception)


# --- functions with defaults
@udf(result_type=DataTypes.INT())
def scaled(v, by=10, *more):
    return v * by + sum(more)


t_env.create_temporary_system_function("scaled", scaled)
show(
    t_env.sql_query("SELECT scaled(v), scaled(v, 2), scaled(v, 2, 100, v) FROM events WHERE v < 3")
)


# --- functions that are objects
class Opened(ScalarFunction):
    def __init__(self, by):
        self.by = by
        self.factor = None

    def open(self, function_context):
        self.factor = int(function_context.get_job_parameter("factor", "7"))

    def eval(self, v):
        return v * self.factor + self.by


show(
    t_env.from_path("events").select(udf(Opened(1), result_type=DataTypes.INT())(col("v"))).fetch(2)
)
t_env.get_config().set("pipeline.global-job-parameters", "factor:100")
show(
    t_env.from_path("events").select(udf(Opened(1), result_type=DataTypes.INT())(col("v"))).fetch(2)
)
t_env.get_config().set("pipeline.global-job-parameters", "")

# --- functions made of other things
import functools


class Called:
    def __call__(self, v):
        return v + 1


show(
    t_env.from_path("events")
    .select(
        udf(functools.partial(lambda a, b: a + b, 5), result_type=DataTypes.INT())(col("v")),
        udf(Called(), result_type="INT")(col("v")),
    )
    .fetch(2)
)
raises(lambda: udf(1, result_type=DataTypes.INT()), TypeError)
raises(lambda: udf(lambda x: x), TypeError)
raises(lambda: udf(lambda x: x, result_type=DataTypes.INT(), func_type="other"), Exception)
raises(lambda: udtf(lambda x: x), Exception)
raises(lambda: udf(lambda x: x, result_type=5), TypeError)


# --- aggregates that distinguish
class Total(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def accumulate(self, accumulator, v):
        accumulator[0] += v

    def retract(self, accumulator, v):
        accumulator[0] -= v

    def get_value(self, accumulator):
        return accumulator[0]

    def get_accumulator_type(self):
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self):
        return DataTypes.BIGINT()


total = udaf(Total())
t_env.create_temporary_function("total", total)
show(t_env.sql_query("SELECT total(DISTINCT v / 3), total(v) FILTER (WHERE v > 2) FROM events"))
show(t_env.sql_query("SELECT total(n) FROM (SELECT k, COUNT(*) AS n FROM events GROUP BY k)"))
show(
    t_env.from_path("events")
    .group_by(col("k"))
    .select(col("k"), total(col("v")).distinct.alias("t"))
)
show(t_env.from_path("events").group_by(col("k")).select(col("k"), total(col("v")), col("v").max))
show(
    t_env.from_path("events")
    .group_by(col("k"))
    .aggregate(total(col("v")).alias("t"))
    .select(col("k"), col("t"))
)
show(
    t_env.from_path("events")
    .window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    .group_by(col("w"))
    .select(total(col("v"))),
    False,
)
show(
    t_env.from_path("events")
    .window(Session.with_gap(lit(5).seconds).on(col("ts")).alias("w"))
    .group_by(col("w"))
    .select(col("w").start, total(col("v"))),
    False,
)


# --- pandas over windows of the Table API
table = t_env.from_path("events")
show(
    table.over_window(
        Over.partition_by(col("k")).order_by(col("ts")).preceding(row_interval(2)).alias("w")
    ).select(col("k"), mean(col("v")).over(col("w"))),
    False,
)
show(
    table.over_window(
        Over.partition_by(col("k")).order_by(col("ts")).preceding(lit(10).seconds).alias("w")
    ).select(col("k"), listed(col("v")).over(col("w")), counted(col("v")).over(col("w"))),
    False,
)

# --- pandas in windows of streams
table = t_env.from_path("events")
show(
    table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    .group_by(col("w"), col("k"))
    .select(col("k"), col("w").start, col("w").end, mean(col("v"))),
    False,
)
show(
    table.window(Slide.over(lit(20).seconds).every(lit(10).seconds).on(col("ts")).alias("w"))
    .group_by(col("w"))
    .select(col("w").start, col("w").rowtime, counted(col("v"))),
    False,
)
show(
    t_env.sql_query(
        "SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND), listed(v) FROM events GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)"
    ),
    False,
)
