"""Batch mode in slots: operators know of few keys at a time, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.sql.operators.base import NetChangeOperator
from headrace.sql.operators.groups.aggregate import GroupAggregateOperator
from headrace.sql.operators.joins.growing import GrowingJoinOperator
from headrace.sql.operators.joins.regular import JoinOperator
from headrace.sql.operators.ranking.rank import RankOperator
from tests.sql.sessions import LocalSession

KEYS = 25_000
TABLE = (
    "CREATE TABLE t (id BIGINT, n INT) WITH ('connector' = 'datagen', 'number-of-rows' = "
    f"'{2 * KEYS}', 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', "
    f"'fields.id.end' = '{2 * KEYS - 1}')"
)
QUERIES: list[tuple[type[NetChangeOperator], Callable[[Any], dict[Any, Any]], str]] = [
    (
        GroupAggregateOperator,
        lambda operator: operator._touched,
        f"SELECT MOD(id, {KEYS}) AS k, LISTAGG(CAST(id AS STRING)) FROM t GROUP BY MOD(id, {KEYS})",
    ),
    (
        JoinOperator,
        lambda join: join._changes,
        f"SELECT a.id, b.id FROM (SELECT * FROM t WHERE id < {KEYS}) AS a LEFT JOIN t AS b "
        "ON a.id = b.id",
    ),
    (
        GrowingJoinOperator,
        lambda join: join._new[0],
        f"SELECT a.id, b.id FROM t AS a JOIN t AS b ON a.id = b.id + {KEYS}",
    ),
    (
        RankOperator,
        lambda operator: operator._touched,
        "SELECT k, id FROM (SELECT k, id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) AS r "
        f"FROM (SELECT MOD(id, {KEYS}) AS k, id FROM t)) WHERE r <= 1",
    ),
]


@pytest.mark.parametrize(("operator", "held", "query"), QUERIES)
def test_keys_are_known_in_turn(
    operator: Any,
    held: Callable[[Any], dict[Any, Any]],
    query: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: list[int] = []
    flush = operator.flush

    def noting(self: Any) -> None:
        known.append(len(held(self)))
        flush(self)

    monkeypatch.setattr(operator, "flush", noting)
    session = LocalSession(batch=True, parallelism=1)
    session.execute(TABLE)
    rows = [row for _, row in session.query(query).rows]
    assert len(rows) == KEYS
    assert len({row[0] for row in rows}) == KEYS
    # Some thousand keys end together.
    assert max(known) <= 12_000
    assert sum(known) >= KEYS
