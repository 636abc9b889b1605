"""INSERT ... ON CONFLICT: which statements need it, and what becomes of rows with one key."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import SqlError
from headrace.sql import statements as s
from headrace.sql.operators.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.sql.operators.changes.specs import ResolveConflictsSpec
from headrace.sql.parsing import parse_statement
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan.text import plan_text
from headrace.sql.rules import optimize_all
from headrace.testing import keyed_harness
from tests.sql.sessions import LocalSession, place_of, with_tables

SINK = (
    "CREATE TABLE sink (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH "
    "('connector' = 'jdbc', 'url' = 'jdbc:postgresql://nowhere/d', 'table-name' = 't')"
)
PRINT = "CREATE TABLE printed (id BIGINT, v BIGINT) WITH ('connector' = 'print')"
FILES = (
    "CREATE TABLE files (id BIGINT, v BIGINT) WITH ('connector' = 'filesystem', 'path' = '/no', "
    "'format' = 'csv')"
)
ROWS = "SELECT CAST(id AS BIGINT), CAST(price AS BIGINT) FROM orders"
COUNTS = "SELECT COUNT(*), CAST(id AS BIGINT) FROM orders GROUP BY id"
BY_KEY = "SELECT CAST(id AS BIGINT), COUNT(*) FROM orders GROUP BY id"
LAST = (
    "SELECT CAST(id AS BIGINT), CAST(price AS BIGINT) FROM (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY id ORDER BY et DESC) AS rn FROM orders) WHERE rn = 1"
)
PEOPLE = "SELECT CAST(age AS BIGINT), CAST(age AS BIGINT) FROM people"


def session(batch: bool = False, options: dict[str, str] | None = None) -> LocalSession:
    made = with_tables(batch, options=options)
    for table in (SINK, PRINT, FILES):
        made.execute(table)
    return made


def plan(made: LocalSession, text: str) -> str:
    statement = parse_statement(text)
    assert isinstance(statement, s.Insert)
    optimized = optimize_all([made.session.insert_plan(statement, text)])
    return plan_text(*physical_plans(optimized, made.session.settings()))


@pytest.mark.parametrize("query", [ROWS, COUNTS])
def test_rows_with_one_key_need_a_word(query: str) -> None:
    with pytest.raises(SqlError, match="upsert key that differs from the primary key") as refused:
        plan(session(), f"INSERT INTO sink {query}")
    shown = "none" if query == ROWS else "[v]"
    assert f"Primary key: [id], upsert key: {shown}." in str(refused.value)
    options = {"table.exec.sink.require-on-conflict": "false"}
    plan(session(options=options), f"INSERT INTO sink {query}")
    plan(
        session(options={"table.exec.sink.upsert-materialize": "NONE"}), f"INSERT INTO sink {query}"
    )
    plan(session(batch=True), f"INSERT INTO sink {query}")


@pytest.mark.parametrize("query", [BY_KEY, LAST])
def test_rows_with_different_keys_need_none(query: str) -> None:
    made = session()
    for clause in ("", " ON CONFLICT DO NOTHING", " ON CONFLICT DO DEDUPLICATE"):
        shown = plan(made, f"INSERT INTO sink {query}{clause}")
        assert "Conflict" not in shown
        assert "UpsertMaterialize" not in shown


@pytest.mark.parametrize("action", ["NOTHING", "ERROR"])
def test_the_plan_shows_what_resolves_conflicts(action: str) -> None:
    for query in (ROWS, COUNTS):
        shown = plan(session(), f"INSERT INTO sink {query} ON CONFLICT DO {action}")
        assert f"ResolveConflicts(key=[id], conflictStrategy=[{action}])" in shown
    assert "UpsertMaterialize" in plan(
        session(), f"INSERT INTO sink {COUNTS} ON CONFLICT DO DEDUPLICATE"
    )
    assert "Upsert" not in plan(session(), f"INSERT INTO sink {ROWS} ON CONFLICT DO DEDUPLICATE")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (
            f"INSERT INTO printed {COUNTS} ON CONFLICT DO ERROR",
            "ON CONFLICT DO ERROR",
            "is not an upsert sink because it requires UPDATE_BEFORE (retract mode)",
        ),
        (
            f"INSERT INTO files {ROWS} ON CONFLICT DO NOTHING",
            "ON CONFLICT DO NOTHING",
            "because it only accepts INSERT (append-only) changes",
        ),
        (
            f"INSERT INTO sink {PEOPLE} ON CONFLICT DO NOTHING",
            "ON CONFLICT DO NOTHING",
            "requires all source tables to define watermarks, but the following source(s) do not: "
            "default_catalog.default_database.people.",
        ),
        (f"INSERT INTO sink {ROWS} ON CONFLICT DO REPLACE", "REPLACE", "Expecting NOTHING, ERROR"),
    ],
)
def test_a_wrong_clause_shows_its_place(text: str, place: str, message: str) -> None:
    with pytest.raises(SqlError) as refused:
        plan(session(), text)
    assert message in str(refused.value)
    assert place_of(refused.value) == place


Steps = list[tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]]


def run(spec: ResolveConflictsSpec, steps: Steps) -> None:
    """After each step the watermark rises; the job is restored before."""
    with keyed_harness(spec, key=lambda row: row[0], parallelism=2) as h:
        for time, (changes, expected) in enumerate(steps):
            h.process_many(changes)
            assert h.output() == []
            h.snapshot_and_restore(parallelism=1 + time % 3)
            h.watermark(time)
            assert h.output() == expected


def test_the_first_row_stays() -> None:
    run(
        ResolveConflictsSpec(("id",), (1,), fails=False, changes=True),
        [
            ([("k", 1, "a", INSERT), ("k", 2, "b", INSERT)], [("k", 1, "a", INSERT)]),
            ([("k", 3, "c", INSERT)], []),
            (
                [("k", 1, "a", UPDATE_BEFORE), ("k", 1, "d", UPDATE_AFTER)],
                [("k", 1, "d", UPDATE_AFTER)],
            ),
            ([("k", 9, "x", DELETE)], []),
            ([("k", 1, "d", DELETE)], [("k", 1, "d", DELETE)]),
            ([("k", 4, "e", INSERT), ("k", 4, "e", DELETE)], []),
        ],
    )


def test_rows_without_a_key_of_their_own_are_compared_as_a_whole() -> None:
    run(
        ResolveConflictsSpec(("id",), None, fails=False, changes=False),
        [([("k", 1), ("k", 2)], [("k", 1, INSERT)]), ([("k", 3)], []), ([], [])],
    )


def test_a_query_may_have_one_row_at_most() -> None:
    run(
        ResolveConflictsSpec(("id",), (), fails=False, changes=True),
        [
            ([("k", 1, INSERT)], [("k", 1, INSERT)]),
            ([("k", 2, UPDATE_AFTER)], [("k", 2, UPDATE_AFTER)]),
        ],
    )


def test_two_rows_are_an_error_when_both_are_there_at_a_watermark() -> None:
    spec = ResolveConflictsSpec(("id", "part"), (2,), fails=True, changes=True)
    with keyed_harness(spec, key=lambda row: row[:2]) as h:
        h.process_many([(1, "p", 5, INSERT), (1, "p", 6, INSERT), (1, "p", 5, DELETE)])
        h.watermark(1)
        assert h.output() == [(1, "p", 6, INSERT)]
        h.process((1, "p", 7, INSERT))
        with pytest.raises(ValueError, match=r"Conflicting key: \[id=1, part=p\]"):
            h.watermark(2)
