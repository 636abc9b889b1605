"""Batch mode goes on from a checkpoint in the middle of its input."""

from __future__ import annotations

import pytest

from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from tests.sql.sessions import with_tables

NUMBERED = "SELECT id, item, {} OVER (PARTITION BY item ORDER BY {}) AS n FROM orders"
TUMBLE = "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(et), INTERVAL '5' SECOND))"
SESSION = "TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(et), INTERVAL '5' SECOND))"
QUERIES = {
    "join": "SELECT o.id, r.rate FROM orders AS o JOIN rates AS r ON o.item = r.item",
    "outer join": "SELECT o.id, r.rate FROM orders AS o LEFT JOIN rates AS r ON o.item = r.item "
    "AND r.rate > 2",
    "several joins": "SELECT o.id FROM orders AS o JOIN rates AS r ON o.item = r.item "
    "JOIN orders AS p ON p.item = r.item",
    "window join": "SELECT o.id FROM ow AS o JOIN sw AS s ON o.window_start = s.window_start AND "
    "o.window_end = s.window_end",
    "interval join": "SELECT id, other FROM pairs",
    "semi join": "SELECT id FROM orders WHERE item IN (SELECT item FROM rates)",
    "anti join": "SELECT id FROM orders WHERE item NOT IN (SELECT item FROM rates WHERE rate > 3)",
    "groups": "SELECT item, SUM(price) FROM orders GROUP BY item",
    "different rows": "SELECT DISTINCT item FROM orders",
    "set operation": "SELECT item FROM orders INTERSECT ALL SELECT item FROM orders",
    "first rows": f"SELECT * FROM ({NUMBERED.format('ROW_NUMBER()', 'price DESC')}) WHERE n < 3",
    "ranks": f"SELECT * FROM ({NUMBERED.format('RANK()', 'price DESC')}) WHERE n < 3",
    "first row": f"SELECT * FROM ({NUMBERED.format('ROW_NUMBER()', 'et')}) WHERE n = 1",
    "last row": f"SELECT * FROM ({NUMBERED.format('ROW_NUMBER()', 'et DESC')}) WHERE n = 1",
    "over": NUMBERED.format("SUM(price)", "id"),
    "order": "SELECT id FROM orders ORDER BY price, id",
    "limit": "SELECT id FROM orders ORDER BY price LIMIT 3",
    "windows": f"SELECT item, COUNT(*) FROM {TUMBLE} GROUP BY item, window_start, window_end",
    "sessions": f"SELECT item, COUNT(*) FROM {SESSION} GROUP BY item, window_start, window_end",
    "patterns": "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY et MEASURES "
    "A.id AS a, B.id AS b PATTERN (A B) DEFINE B AS B.price > A.price)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_restored_query_has_seen_all_rows(name: str) -> None:
    whole = sorted(map(str, with_tables(batch=True).query(QUERIES[name]).rows))
    assert whole or name == "anti join"
    for parallelism, restores in ((1, (2,)), (2, (1, 2, 3))):
        session = with_tables(batch=True, parallelism=parallelism)
        result = session.query(QUERIES[name], epoch_records=2, restore_after=restores)
        assert sorted(map(str, result.rows)) == whole


def test_a_restored_stream_has_seen_all_records() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(20))).key_by(lambda n: n % 3)
    sums = numbers.reduce(lambda a, b: a + b)
    found = run_in_process(env, {"sums": sums}, epoch_records=3, restore_after=(1, 2))["sums"]
    assert sorted(found) == sorted(sum(range(key, 20, 3)) for key in range(3))
