"""State is kept for `table.exec.state.ttl`: all operators forget keys that were idle for longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sql.sessions import LocalSession

TABLE = """
CREATE TABLE t (k STRING, v INT, ts STRING, et AS TO_TIMESTAMP(ts), pt AS PROCTIME(),
  WATERMARK FOR et AS et) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')
"""

# An epoch takes ten seconds, and reads a row: the key a comes back after thirty.
ROWS = """\
a,1,2020-01-01 00:00:01
b,2,2020-01-01 00:00:02
c,3,2020-01-01 00:00:03
a,1,2020-01-01 00:00:04
"""

NUMBERED = "(SELECT k, v, ts, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS rn FROM t)"
COUNT = "SELECT k, COUNT(*) OVER (PARTITION BY k ORDER BY {} AND CURRENT ROW) FROM t"

# Query, and the last change: with state for ever, and with state that has been forgotten.
QUERIES = {
    "aggregate": ("SELECT k, COUNT(*) FROM t GROUP BY k", (2, "a", 2), (0, "a", 1)),
    "distinct": ("SELECT DISTINCT k FROM t", (0, "c"), (0, "a")),
    "first row": (f"SELECT k FROM {NUMBERED.format('pt')} WHERE rn = 1", (0, "c"), (0, "a")),
    "last row": (
        f"SELECT k, ts FROM {NUMBERED.format('et DESC')} WHERE rn = 1",
        (2, "a", "2020-01-01 00:00:04"),
        (0, "a", "2020-01-01 00:00:04"),
    ),
    "Top-N": (f"SELECT k, rn FROM {NUMBERED.format('v')} WHERE rn < 3", (0, "a", 2), (0, "a", 1)),
    "limit": ("SELECT k, v FROM t WHERE k = 'a' ORDER BY v, ts DESC LIMIT 1", None, (0, "a", 1)),
    "intersect": ("SELECT k FROM t INTERSECT SELECT k FROM t", (0, "c"), (0, "a")),
    "except": ("SELECT k FROM t EXCEPT SELECT 'x'", (0, "c"), (0, "a")),
    "join": (
        "SELECT l.k, r.ts FROM t AS l JOIN t AS r ON l.k = r.k WHERE l.ts < r.ts",
        (0, "a", "2020-01-01 00:00:04"),
        None,
    ),
    "join, by hint": (
        "SELECT /*+ STATE_TTL('l' = '1 h', 'r' = '1 h') */ l.k, r.ts FROM t AS l JOIN t AS r "
        "ON l.k = r.k WHERE l.ts < r.ts",
        (0, "a", "2020-01-01 00:00:04"),
        (0, "a", "2020-01-01 00:00:04"),
    ),
    "over, processing time": (
        COUNT.format("pt ROWS BETWEEN UNBOUNDED PRECEDING"),
        (0, "a", 2),
        (0, "a", 1),
    ),
    "over, event time": (COUNT.format("et ROWS BETWEEN 5 PRECEDING"), (0, "a", 2), (0, "a", 1)),
}


def changes(tmp_path: Path, query: str, ttl: str) -> list[tuple[object, ...]]:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    session = LocalSession(options={"table.exec.state.ttl": ttl})
    session.execute(TABLE.format(tmp_path / "rows.csv"))
    result = session.query(query, epoch_records=1, epoch_ms=10_000)
    return [(kind, *row) for kind, row in result.rows]


@pytest.mark.parametrize("name", QUERIES)
def test_every_operator_forgets(tmp_path: Path, name: str) -> None:
    query, kept, forgotten = QUERIES[name]
    if kept is not None:
        assert changes(tmp_path, query, "0 ms")[-1] == kept
    assert changes(tmp_path, query, "15 s")[-1:] == ([forgotten] if forgotten else [])
    assert len(changes(tmp_path, query, "1 h")) == len(changes(tmp_path, query, "0 ms"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT l.v, r.v AS w FROM t AS l JOIN t AS r ON l.k = r.k WHERE l.v < r.v",
        "SELECT l.v, r.v AS w FROM t AS l LEFT JOIN t AS r ON l.k = r.k AND l.v < r.v",
        "SELECT l.v, r.v AS w FROM t AS l LEFT JOIN t AS r ON l.k = r.k AND l.v < r.v "
        "LEFT JOIN t AS o ON l.k = o.k AND FALSE",
    ],
)
def test_each_row_of_a_join_is_forgotten_by_itself(tmp_path: Path, query: str) -> None:
    """Others of its key that come every ten seconds do not keep it."""
    (tmp_path / "rows.csv").write_text(
        "".join(f"a,{v},2020-01-01 00:00:0{v}\n" for v in range(4)), encoding="utf-8"
    )
    options = {"table.exec.state.ttl": "15 s", "table.optimizer.multi-join.enabled": "true"}
    session = LocalSession(options=options)
    session.execute(TABLE.format(tmp_path / "rows.csv"))
    rows = session.query(query, epoch_records=1, epoch_ms=10_000).rows
    pairs = sorted(tuple(row) for _, row in rows if row[1] is not None)
    assert pairs == [(0, 1), (1, 2), (2, 3)]


def test_a_hint_is_for_one_aggregate(tmp_path: Path) -> None:
    query = "SELECT /*+ STATE_TTL('t' = '15 s') */ k, COUNT(*) FROM t GROUP BY k"
    assert changes(tmp_path, query, "0 ms")[-1] == (0, "a", 1)
    outer = "SELECT k, MAX(n) FROM ({}) GROUP BY k"
    # The outer aggregate keeps its state: it knows the first count of a.
    assert changes(tmp_path, outer.format(query.replace("(*)", "(*) AS n")), "0 ms")[-1] == (
        0,
        "c",
        1,
    )
