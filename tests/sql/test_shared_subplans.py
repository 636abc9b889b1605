"""What a statement computes twice is computed once, unless it may differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.sql.physical.shared_subplans import shared_subplans
from headrace.sql.plan import nodes as n
from headrace.sql.plan.match import Match
from headrace.sql.session.user_functions import register_function
from headrace.table.udf import udaf, udtf
from tests.sql.sessions import with_tables

MATCH = (
    "SELECT a FROM x MATCH_RECOGNIZE (PARTITION BY item ORDER BY et MEASURES {} AS a "
    "PATTERN (A B) DEFINE B AS {})"
)


def same(value: int) -> Iterator[int]:
    yield value


def largest(values: Any) -> Any:
    return values.max()


def nodes_of(plan: n.Node) -> set[n.Node]:
    return {plan}.union(*map(nodes_of, plan.inputs))


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("SELECT MAX(r) FROM x, LATERAL TABLE(sure_same(id)) AS T(r)", 1),
        ("SELECT MAX(r) FROM x, LATERAL TABLE(same(id)) AS T(r)", 2),
        ("SELECT sure_largest(id) FROM x", 1),
        ("SELECT largest(id) FROM x", 2),
        (MATCH.format("A.id", "B.id > 1"), 1),
        (MATCH.format("A.id + RAND()", "B.id > 1"), 2),
        (MATCH.format("A.id", "B.id > RAND()"), 2),
        (MATCH.format("sure_largest(A.id)", "B.id > 1"), 1),
        (MATCH.format("largest(A.id)", "B.id > 1"), 2),
    ],
)
def test_what_may_differ_is_computed_each_time(query: str, times: int) -> None:
    session = with_tables()
    for sure in (False, True):
        made = {
            "same": udtf(same, result_types=["INT"], deterministic=sure),
            "largest": udaf(largest, result_type="INT", func_type="pandas", deterministic=sure),
        }
        for name, function in made.items():
            path = (f"sure_{name}" if sure else name,)
            register_function(session.session, path, function, system=True)
    plan = session.plan(f"WITH x AS (SELECT * FROM orders) {query} UNION ALL {query}")
    (shared,) = shared_subplans([plan], session.session.settings())
    assert sum(isinstance(node, n.Aggregate | Match) for node in nodes_of(shared)) == times
