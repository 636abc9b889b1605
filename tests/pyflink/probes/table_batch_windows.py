"""Windows in batch mode, where any timestamp will do, and the Table API counts milliseconds too."""

import datetime

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.window import Slide, Tumble

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set_local_timezone("Asia/Tokyo")
t_env.get_config().set("parallelism.default", "1")
ROW = DataTypes.ROW(
    [
        DataTypes.FIELD("name", DataTypes.STRING()),
        DataTypes.FIELD("price", DataTypes.INT()),
        DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
        DataTypes.FIELD("ms", DataTypes.BIGINT()),
        DataTypes.FIELD("on_day", DataTypes.DATE()),
    ]
)


def order(name, price, second):
    at = datetime.datetime(2024, 5, 6, 7, 8, second)
    return name, price, at, second * 1000, at.date()


orders = t_env.from_elements(
    [order("ink", 3, 1), order("pen", 1, 4), order("ink", 4, 9), order("ink", 5, 12)], ROW
)
t_env.create_temporary_view("orders", orders)
t_env.create_temporary_view(
    "gaps", t_env.from_elements([order("ink", 3, 1), ("ink", 4, None, None, None)], ROW)
)


def show(table):
    with table.execute().collect() as results:
        for row in sorted(results, key=str):
            print(row)


def summed(window, table=orders):
    w = col("w")
    grouped = table.window(window.alias("w")).group_by(w, col("name"))
    show(grouped.select(col("name"), w.start, w.end, w.rowtime, col("price").sum))


# --- tumbling windows of timestamps
summed(Tumble.over(lit(5).seconds).on(col("at")))

# --- sliding windows of timestamps
summed(Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("at")))

# --- tumbling windows of milliseconds
summed(Tumble.over(lit(5).seconds).on(col("ms")))

# --- sliding windows of milliseconds
summed(Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ms")))

# --- windows of anything else
for name in ("on_day", "price", "name"):
    raises(lambda: summed(Tumble.over(lit(1).days).on(col(name))), Exception)

# --- group windows of SQL
show(
    t_env.sql_query("""
        SELECT name, TUMBLE_START(`at`, INTERVAL '5' SECOND), TUMBLE_END(`at`, INTERVAL '5' SECOND),
          TUMBLE_ROWTIME(`at`, INTERVAL '5' SECOND), SUM(price)
        FROM orders GROUP BY name, TUMBLE(`at`, INTERVAL '5' SECOND)
    """)
)

# --- window table functions
for name in ("TUMBLE", "CUMULATE"):
    step = "INTERVAL '2' SECOND, " if name == "CUMULATE" else ""
    show(
        t_env.sql_query(f"""
            SELECT window_start, window_end, window_time, SUM(price)
            FROM TABLE({name}(TABLE orders, DESCRIPTOR(`at`), {step}INTERVAL '6' SECOND))
            GROUP BY window_start, window_end, window_time
        """)
    )

# --- windows of instants
show(
    t_env.sql_query("""
        SELECT name, TUMBLE_START(`at`, INTERVAL '1' DAY), TUMBLE_END(`at`, INTERVAL '1' DAY), SUM(price)
        FROM (SELECT name, price, CAST(`at` AS TIMESTAMP_LTZ(3)) AS `at` FROM orders)
        GROUP BY name, TUMBLE(`at`, INTERVAL '1' DAY)
    """)
)

# --- times that are missing
summed(Tumble.over(lit(5).seconds).on(col("at")), t_env.from_path("gaps"))
