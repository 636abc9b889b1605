"""Joins go on from savepoints, and at any parallelism."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.sql.sessions import LocalSession, with_tables

COUNTED = "(SELECT item, COUNT(*) AS n FROM orders GROUP BY item)"
AS_OF = "(SELECT *, PROCTIME() AS pt FROM {}) AS o LEFT JOIN stock FOR SYSTEM_TIME AS OF o.pt AS s"
SESSIONS = "(SELECT * FROM TABLE(SESSION(TABLE {} PARTITION BY {}, DESCRIPTOR(et), {})))"
GAP = "INTERVAL '10' SECOND"
QUERIES = {
    "inner": "SELECT a.id, b.id AS other FROM orders AS a JOIN orders AS b ON a.item = b.item",
    "left": "SELECT a.id, b.id AS other FROM orders AS a LEFT JOIN orders AS b ON a.qty = b.id "
    "AND a.price > b.price",
    "right": f"SELECT a.id, b.n FROM orders AS a RIGHT JOIN {COUNTED} AS b ON a.item = b.item",
    "full": f"SELECT a.id, b.n FROM orders AS a FULL JOIN {COUNTED} AS b ON a.qty = b.n",
    "no key": "SELECT a.id, b.id AS other FROM orders AS a JOIN orders AS b ON a.price < b.qty",
    "semi": "SELECT id FROM orders WHERE qty IN (SELECT id FROM orders WHERE price > 5)",
    "anti": "SELECT id FROM orders AS o WHERE NOT EXISTS (SELECT 1 FROM orders AS p WHERE "
    "p.item = o.item AND p.price > o.price)",
    "several": "SELECT a.id, b.id AS x, c.id AS y FROM orders AS a JOIN orders AS b ON "
    "a.item = b.item LEFT JOIN shuffled AS c ON a.item = c.k",
    "interval": "SELECT id, other FROM pairs",
    "outer interval": "SELECT a.id, b.id AS other FROM orders AS a LEFT JOIN orders AS b ON "
    "a.item = b.item AND a.et > b.et AND a.et <= b.et + INTERVAL '12' SECOND",
    "window": "SELECT o.id, s.id AS other FROM ow AS o FULL JOIN sw AS s ON o.qty = s.v AND "
    "o.window_start = s.window_start AND o.window_end = s.window_end",
    "sessions": f"SELECT a.id, b.id AS other FROM {SESSIONS.format('orders', 'item', GAP)} AS a "
    f"JOIN {SESSIONS.format('orders', 'item', GAP)} AS b ON a.item = b.item AND "
    "a.window_start = b.window_start AND a.window_end = b.window_end",
    "temporal": "SELECT id, rate FROM valued",
    "lookup": f"SELECT o.id, s.amount FROM {AS_OF.format('orders')} ON o.item = s.item",
    "lookup of changes": f"SELECT o.n, s.amount FROM {AS_OF.format(COUNTED)} ON o.item = s.item",
}
OPTIONS = {
    "table.optimizer.multi-join.enabled": "true",
    "table.optimizer.non-deterministic-update.strategy": "TRY_RESOLVE",
}


def session() -> LocalSession:
    # Watermarks say nothing about the other side, so the right one must not be late.
    return with_tables(parallelism=2, options=OPTIONS)


def left(query: str, **settings: Any) -> Counter[Any]:
    return Counter(map(tuple, session().query(query, epoch_records=1, **settings).materialized()))


@pytest.mark.parametrize("name", QUERIES)
def test_a_join_goes_on_at_another_parallelism(name: str) -> None:
    expected = left(QUERIES[name])
    assert expected
    assert left(QUERIES[name], rescale_after={2: 3, 5: 1}, restore_after={4}) == expected
