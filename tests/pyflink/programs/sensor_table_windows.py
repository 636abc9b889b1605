"""Windows over the readings of water sensors in a file: by time, by rows, and over."""

import json
import tempfile
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, row_interval
from pyflink.table.window import Slide, Tumble

READINGS = [
    ("s1", 1000, 1), ("s1", 1000, 4), ("s1", 2000, 1), ("s2", 2500, 3),
    ("s1", 4000, 2), ("s2", 6500, 7), ("s1", 8000, 5), ("s1", 12000, 6),
]  # fmt: skip


def file_of_readings():
    folder = tempfile.mkdtemp()
    rows = (json.dumps({"id": i, "ts": ts, "vc": vc}) for i, ts, vc in READINGS)
    Path(folder, "ws.json").write_text("\n".join(rows))
    return f"{folder}/ws.json"


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("table.local-time-zone", "UTC")
t_env.execute_sql(
    f"""create table t1 (
      id string,
      ts bigint,
      vc int,
      pt as proctime(),
      et as to_timestamp_ltz(ts, 3),
      watermark for et as et - interval '0.001' second
    ) with ('connector'='filesystem', 'path'='{file_of_readings()}', 'format'='json')"""
)
QUERIES = [
    """select id, window_start, window_end, sum(vc) sumVc
       from table(tumble(table t1, descriptor(et), interval '3' second))
       group by window_start, window_end, id""",
    """select window_start, window_end, sum(vc) sumVc
       from table(hop(table t1, descriptor(et), interval '3' second, interval '6' second))
       group by window_start, window_end""",
    """select session_start(et, interval '3' second), session_end(et, interval '3' second),
              sum(vc) sumVc
       from t1 group by session(et, interval '3' second)""",
    """select window_start, window_end, sum(vc) sumVc
       from table(cumulate(table t1, descriptor(et), interval '2' second, interval '6' second))
       group by window_start, window_end""",
    """select id, ts, window_start, window_end, sum(vc) sumVc
       from table(tumble(table t1, descriptor(et), interval '3' second))
       group by window_start, window_end, grouping sets ((id), (ts))""",
    """select id, ts, vc,
         sum(vc) over (partition by id order by et rows between 1 preceding and current row)
       from t1""",
    """select id, ts, vc,
         sum(vc) over (partition by id order by et
                       range between interval '2' second preceding and current row)
       from t1""",
    """select id, ts, vc, sum(vc) over w sumVc, min(vc) over w minVc, max(vc) over w maxVc
       from t1 window w as
         (partition by id order by et range between unbounded preceding and current row)""",
]


def show(result):
    with result.execute().collect() as rows:
        for row in rows:
            print(*row, sep=", ")


for number, query in enumerate(QUERIES):
    print("query", number)
    show(t_env.sql_query(query))
readings = t_env.from_path("t1")
every_three = Tumble.over(row_interval(3)).on(col("pt")).alias("w")
print("three rows of each")
show(readings.window(every_three).group_by(col("w"), col("id")).select(col("id"), col("vc").sum))
three_by_two = Slide.over(row_interval(3)).every(row_interval(2)).on(col("pt")).alias("w")
print("three rows after every two")
show(readings.window(three_by_two).group_by(col("w")).select(col("vc").sum))
