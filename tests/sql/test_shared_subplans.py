"""What a statement computes twice is computed once."""

from __future__ import annotations

import random
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
    "query",
    [
        "SELECT MAX(r) FROM x, LATERAL TABLE(same(id)) AS T(r)",
        "SELECT largest(id) FROM x",
        "SELECT SUM(id) FROM x WHERE RAND() > 0.5",
        MATCH.format("A.id", "B.id > 1"),
        MATCH.format("A.id + RAND()", "B.id > RAND()"),
        MATCH.format("largest(A.id)", "B.id > 1"),
    ],
)
def test_what_does_the_same_is_computed_once_even_if_it_is_random(query: str) -> None:
    session = with_tables()
    made = {
        "same": udtf(same, result_types=["INT"], deterministic=False),
        "largest": udaf(largest, result_type="INT", func_type="pandas", deterministic=False),
    }
    for name, function in made.items():
        register_function(session.session, (name,), function, system=True)
    plan = session.plan(f"WITH x AS (SELECT * FROM orders) {query} UNION ALL {query}")
    (shared,) = shared_subplans([plan], session.session.settings())
    assert sum(isinstance(node, n.Aggregate | Match) for node in nodes_of(shared)) == 1


VIEW = (
    "CREATE TEMPORARY VIEW v AS SELECT a.id, a.item, {} AS x "
    "FROM orders AS a JOIN orders AS b ON a.item = b.item"
)
INSERTS = """EXPLAIN STATEMENT SET BEGIN
INSERT INTO one SELECT id, CAST(x AS STRING) FROM v;
INSERT INTO two SELECT id, item FROM v;
END"""


@pytest.mark.parametrize(
    ("column", "reuse", "joins"),
    [("b.qty", "true", 1), ("b.qty", "false", 2), ("UUID()", "true", 1)],
)
def test_a_view_that_several_inserts_read_is_one_relation(
    column: str, reuse: str, joins: int
) -> None:
    session = with_tables(options={"table.optimizer.reuse-sub-plan-enabled": reuse})
    for name in ("one", "two"):
        session.execute(f"CREATE TABLE {name} (i BIGINT, v STRING) WITH ('connector' = 'print')")
    session.execute(VIEW.format(column))
    text = session.executor.execute(INSERTS).plain or ""
    assert text.split("== Optimized")[1].count("Join(") == joins


@pytest.mark.parametrize("value", ["RAND()", "UUID()", "RAND_INTEGER(1000000000)"])
@pytest.mark.parametrize("batch", [False, True])
def test_all_readers_of_a_relation_see_the_same_random_values(value: str, batch: bool) -> None:
    """As in Flink, which has one node in place of those that are alike."""
    query = f"SELECT id, {value} AS x FROM orders"
    session = with_tables(batch)
    session.execute(f"CREATE TEMPORARY VIEW w AS {query}")
    for text in (
        f"WITH r AS ({query}) SELECT id, x FROM r UNION ALL SELECT id, x FROM r",
        "SELECT id, x FROM w UNION ALL SELECT id, x FROM w",
        "SELECT a.id, a.x, b.x FROM w AS a JOIN w AS b ON a.id = b.id",
    ):
        rows = session.query(text).materialized()
        values = {(row[0], x) for row in rows for x in row[1:]}
        assert len(values) == len({row[0] for row in rows})


def numbered(value: int) -> Iterator[tuple[int, int]]:
    yield value, random.getrandbits(60)


VIEWS = {
    "project": "SELECT id, item, RAND() AS x FROM orders",
    "nested": "SELECT id, item, x FROM (SELECT id, item, qty, RAND() AS x FROM orders)",
    "filter": "SELECT id, item, ts AS x FROM (SELECT * FROM orders UNION ALL SELECT * FROM orders "
    "UNION ALL SELECT * FROM orders) WHERE RAND() < 0.5",
    "join": "SELECT a.id, a.item, b.ts AS x FROM orders AS a JOIN orders AS b ON a.item = b.item "
    "AND RAND() * a.id < 0.5 * b.id",
    "correlate": "SELECT id, item, x FROM orders, LATERAL TABLE(numbered(id)) AS T(n, x)",
}
READERS = (
    "SELECT 0 AS r, id, x FROM v",
    "SELECT 1 AS r, id, x FROM v WHERE id > 0",
    "SELECT 2 AS r, id, x FROM (SELECT id, x, UPPER(item) FROM v) WHERE x IS NOT NULL",
    "SELECT 3 AS r, id, x FROM v WHERE x IS NOT NULL AND item IS NOT NULL OR id > 0",
    "SELECT 4 AS r, id, x FROM (SELECT DISTINCT id, x, item FROM v WHERE CHAR_LENGTH(item) > 0 "
    "OR item IS NULL)",
)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("batch", [False, True])
def test_readers_of_other_columns_and_rows_see_the_same_random_values(
    view: str, batch: bool
) -> None:
    session = with_tables(batch)
    made = udtf(numbered, result_types=["INT", "BIGINT"], deterministic=False)
    register_function(session.session, ("numbered",), made, system=True)
    session.execute(f"CREATE TEMPORARY VIEW v AS {VIEWS[view]}")
    rows = session.query(" UNION ALL ".join(READERS)).materialized()
    seen = [{row[1:] for row in rows if row[0] == reader} for reader in range(len(READERS))]
    assert seen == seen[:1] * len(READERS)


@pytest.mark.parametrize("query", ["SELECT id FROM orders WHERE RAND() < 2", "SELECT 1 + COUNT(*)"])
def test_an_insert_that_is_there_twice_writes_twice(query: str) -> None:
    session = with_tables()
    session.execute("CREATE TABLE t (i BIGINT) WITH ('connector' = 'print')")
    insert = f"INSERT INTO t {query}"
    once = session.insert(insert)
    assert once
    assert sorted(session.insert(insert, insert)) == sorted([*once, *once])
