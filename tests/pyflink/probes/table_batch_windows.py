"""Windows in batch mode, where any timestamp will do, and the Table API counts milliseconds too."""

import datetime

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Slide, Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")


def event(second, number, day, hour):
    at = datetime.datetime(2020, 1, 1, 0, 0, second)
    return at, number, "x", datetime.date(2020, 1, day), second * 1000, datetime.time(hour, 0, 0)


events = t_env.from_elements(
    [event(1, 1, 1, 1), event(2, 2, 1, 1), event(7, 5, 3, 2)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("v", DataTypes.INT()),
            DataTypes.FIELD("k", DataTypes.STRING()),
            DataTypes.FIELD("d", DataTypes.DATE()),
            DataTypes.FIELD("n", DataTypes.BIGINT()),
            DataTypes.FIELD("i", DataTypes.TIME()),
        ]
    ),
)
t_env.create_temporary_view("v", events)
w = col("w")
five = lit(5).seconds
total = col("v").sum


def rows(table):
    with table.execute().collect() as results:
        for row in results:
            print(row.get_row_kind(), row)


def windowed(window, *fields):
    rows(events.window(window.alias("w")).group_by(w, col("k")).select(col("k"), *fields))


def refused(call):
    try:
        call()
    except Exception:
        print("refused")


# --- tumbling windows of timestamps
windowed(Tumble.over(five).on(col("ts")), w.start, w.end, total)

# --- the time of windows of timestamps
windowed(Tumble.over(five).on(col("ts")), w.rowtime, total)

# --- sliding windows of timestamps
windowed(Slide.over(lit(10).seconds).every(five).on(col("ts")), w.start, w.end, total)

# --- windows of dates
refused(lambda: windowed(Tumble.over(lit(1).day).on(col("d")), w.start, w.end, total))

# --- windows of times
refused(lambda: windowed(Tumble.over(lit(1).hour).on(col("i")), w.start, w.end, total))

# --- windows of small numbers
refused(lambda: windowed(Tumble.over(five).on(col("v")), w.start, w.end, total))

# --- tumbling windows of milliseconds
windowed(Tumble.over(five).on(col("n")), w.start, w.end, total)

# --- the time of windows of milliseconds
windowed(Tumble.over(five).on(col("n")), w.rowtime, total)

# --- sliding windows of milliseconds
windowed(Slide.over(lit(10).seconds).every(five).on(col("n")), w.start, w.end, total)

# --- windows without groups
rows(events.window(Tumble.over(five).on(col("n")).alias("w")).group_by(w).select(w.start, total))

# --- tumbling windows of SQL
rows(
    t_env.sql_query(
        "SELECT TUMBLE_START(ts, INTERVAL '5' SECOND), SUM(v) FROM v "
        "GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)"
    )
)

# --- the time of windows of SQL
rows(
    t_env.sql_query(
        "SELECT TUMBLE_ROWTIME(ts, INTERVAL '5' SECOND), SUM(v) FROM v "
        "GROUP BY TUMBLE(ts, INTERVAL '5' SECOND)"
    )
)

# --- sliding windows of SQL
rows(
    t_env.sql_query(
        "SELECT HOP_START(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND), SUM(v) FROM v "
        "GROUP BY HOP(ts, INTERVAL '5' SECOND, INTERVAL '10' SECOND)"
    )
)

# --- windows of dates in SQL
refused(
    lambda: rows(
        t_env.sql_query(
            "SELECT TUMBLE_START(d, INTERVAL '1' DAY), SUM(v) FROM v "
            "GROUP BY TUMBLE(d, INTERVAL '1' DAY)"
        )
    )
)

# --- window table functions
rows(
    t_env.sql_query(
        "SELECT window_start, SUM(v) FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND)) GROUP BY window_start, window_end"
    )
)
