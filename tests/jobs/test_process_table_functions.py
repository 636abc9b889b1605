"""Process table functions on Spark's slots."""

from __future__ import annotations

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment
from tests.sql.process_functions import Remind

pytestmark = pytest.mark.timeout(300)

ROWS = (
    "CREATE TABLE e (n INT, k AS n - n / 7 * 7, ts AS TO_TIMESTAMP_LTZ(n, 0), "
    "WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '500', "
    "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '500')"
)


def test_keys_have_state_and_timers_in_all_slots() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(ROWS)
    t_env.create_temporary_function("remind", Remind())
    query = (
        "SELECT k, MAX(n), COUNT(*) FROM (SELECT k, EXPR$0 AS n FROM remind(input => TABLE e "
        "PARTITION BY k, on_time => DESCRIPTOR(ts))) GROUP BY k"
    )
    left: dict[int, tuple[int, int]] = {}
    with t_env.execute_sql(query).collect() as rows:
        for row in rows:
            if str(row.get_row_kind()) in ("+I", "+U"):
                left[row[0]] = (row[1], row[2])
    rows_of = {key: sum(n % 7 == key for n in range(1, 501)) for key in range(7)}
    assert left == {key: (count, 2 * count) for key, count in rows_of.items()}
