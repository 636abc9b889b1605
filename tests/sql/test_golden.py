"""Results are those of Flink 2.3, for every statement of `cases`, in both modes.

`tools/flink_golden.py` runs them on the real Flink. Of a stream the final rows are compared: Flink
emits every single change, headrace the net change of an epoch. Where mini-batches are off all
changes are compared, in their order unless rows are only added. Types and widths of columns, and so
the whole frame of the table, are compared as well.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.examples import QUICK
from tests.sql.sessions import LocalSession, case_files, case_options, golden, with_tables


def cases(mode: str) -> list[Any]:
    """File, statement and result; where Flink itself gives up there is nothing to compare with.

    `make test-quick` takes each statement in one of the modes.
    """
    left_out = {"streaming": 0, "batch": 1}[mode] if QUICK else None
    return [
        pytest.param(name, query, expected, id=f"{name}-{number}")
        for name in case_files()
        for number, (query, expected) in enumerate(golden(name, mode).items(), 1)
        if "error" not in expected and number % 2 != left_out
    ]


def cells(line: str) -> tuple[str, ...]:
    return tuple(c.strip() for c in line.strip("|").split(" | "))


def parts(tableau: list[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    """The frame with the names of columns, and the rows."""
    rows = [cells(x) for x in tableau if x.startswith("|")]
    rules = [x for x in tableau if x.startswith("+")]
    return [*rules[:1], str(rows[:1])], rows[1:]


def materialized(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows that are left after all changes."""
    left: list[tuple[str, ...]] = []
    for kind, *row in rows:
        if kind in ("-U", "-D"):
            left.remove(tuple(row))
        else:
            left.append(tuple(row))
    return sorted(left)


def resolves(plan: str) -> bool:
    """Whether the sink of a plan keeps rows to know which of them its keys have."""
    physical = plan.split("== Optimized")[1]
    words = ("upsertMaterialize=[true]", "UpsertMaterialize(", "ResolveConflicts(")
    return any(word in physical for word in words)


def check(mode: str, file: str, query: str, expected: dict[str, Any]) -> None:
    options = case_options(file)
    every_change = options.get("table.exec.mini-batch.enabled") == "false"
    parallelism = 1 if every_change else 2
    session = with_tables(batch=mode == "batch", parallelism=parallelism, options=options)
    if query.startswith("EXPLAIN"):
        assert resolves(session.explain(query)) == resolves("\n".join(expected["tableau"]))
        return
    compare(mode, session, query, expected, every_change)


def compare(
    mode: str,
    session: LocalSession,
    query: str,
    expected: dict[str, Any],
    every_change: bool = False,
) -> None:
    """The rows of a query are those that Flink has given."""
    result = session.query(query)
    mine, theirs = result.tableau(), expected["tableau"]
    if not parts(theirs)[1]:
        assert not result.rows
        return
    frame, rows = parts(theirs)
    own_frame, own_rows = parts(mine)
    # Of changes that cancel out within an epoch nothing is left to show.
    assert own_frame == frame or not result.rows
    if mode == "batch" and "GROUP BY" in query and "LIMIT" in query and "ORDER BY" not in query:
        # As many groups, but any of them: their order is that of hashes.
        everything = parts(session.query(query.partition(" LIMIT")[0]).tableau())[1]
        assert len(own_rows) == len(rows)
        assert set(own_rows) <= set(everything)
    elif mode == "batch":
        assert sorted(own_rows) == sorted(rows)
    elif every_change and {kind for kind, *_ in rows} != {"+I"}:
        assert own_rows == rows
    else:
        assert materialized(own_rows) == materialized(rows)
        if {kind for kind, *_ in rows} == {"+I"} and "LIMIT" not in query:
            # Where Flink only ever adds rows, a sink need not take changes.
            assert {kind for kind, *_ in own_rows} == {"+I"}


@pytest.mark.parametrize(("file", "query", "expected"), cases("streaming"))
def test_streaming(file: str, query: str, expected: dict[str, Any]) -> None:
    check("streaming", file, query, expected)


@pytest.mark.parametrize(("file", "query", "expected"), cases("batch"))
def test_batch(file: str, query: str, expected: dict[str, Any]) -> None:
    check("batch", file, query, expected)


def test_there_are_enough_statements() -> None:
    assert len(cases("streaming")) >= 150
    assert len(cases("batch")) >= 150
