"""The module hive: Spark evaluates its functions, in its queries or for slots."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.timeout(300)

QUERY = """
SELECT id, get_json_object(a, '$.x'), nvl(b, -1), date_sub(d, 3), levenshtein(a, UPPER(a)),
  split(a, ':')[1], from_utc_timestamp(ts, 'Asia/Tokyo'), pmod(-7, 3), conv('ff', 16, 10)
FROM (VALUES
  (1, '{"x":1}', 5, DATE '2020-01-02', TIMESTAMP '2020-01-01 00:00:00.123456'),
  (2, CAST(NULL AS STRING), CAST(NULL AS INT), CAST(NULL AS DATE), CAST(NULL AS TIMESTAMP(6)))
) AS t(id, a, b, d, ts)
WHERE nvl(b, 0) < 10
"""
EXPECTED = [
    (1, "1", 5, date(2019, 12, 30), 1, '{"x"', datetime(2020, 1, 1, 9, 0, 0, 123456), 2, "255"),
    (2, None, -1, None, None, None, None, 2, "255"),
]
# Of the zone of the session, and where Hive's functions are asked for first.
MORE = """
SELECT from_unixtime(x), date_format(TO_TIMESTAMP_LTZ(x * 1000, 3), 'HH'),
  lower(1), sort_array(ARRAY[2, 1])
FROM (VALUES (0)) AS t(x)
"""


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_functions_of_hive_give_the_same_in_both_modes(mode: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("execution.runtime-mode", mode)
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "Asia/Tokyo")
    t_env.execute_sql("LOAD MODULE hive WITH ('hive-version' = '3.1.3')")
    assert rows(t_env, QUERY) == EXPECTED
    # What the modules share is that of the first one: only Hive's takes numbers.
    with pytest.raises(SqlError, match="Cannot apply 'LOWER' to arguments of type"):
        t_env.sql_query("SELECT LOWER(1)")
    t_env.execute_sql("USE MODULES hive, core")
    assert rows(t_env, MORE) == [("1970-01-01 09:00:00", "09", "1", [1, 2])]
    with pytest.raises(SqlError, match="Cannot apply Hive's function add_months to arguments"):
        t_env.sql_query("SELECT add_months(ARRAY[1], 1)")


def rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return sorted(map(tuple, found))
