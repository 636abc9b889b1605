"""Results are those of Flink 2.3, for every statement of `cases/queries.sql`, in both modes.

`tools/flink_golden.py` runs them on the real Flink. Of a stream the final rows are compared: Flink
emits every single change, headrace the net change of an epoch. Types and widths of columns, and so
the whole frame of the table, are compared as well.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.sessions import golden, with_tables

# Where Flink itself gives up (some windows in batch mode) there is nothing to compare with.
STREAMING = {q: r for q, r in golden("streaming").items() if "error" not in r}
BATCH = {q: r for q, r in golden("batch").items() if "error" not in r}


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


def check(mode: str, query: str, expected: dict[str, Any]) -> None:
    session = with_tables(batch=mode == "batch", parallelism=2)
    result = session.query(query)
    mine, theirs = result.tableau(), expected["tableau"]
    if not parts(theirs)[1]:
        assert not result.rows
        return
    frame, rows = parts(theirs)
    own_frame, own_rows = parts(mine)
    assert own_frame == frame
    if mode == "batch":
        assert sorted(own_rows) == sorted(rows)
    else:
        assert materialized(own_rows) == materialized(rows)


@pytest.mark.parametrize("query", STREAMING)
def test_streaming(query: str) -> None:
    check("streaming", query, STREAMING[query])


@pytest.mark.parametrize("query", BATCH)
def test_batch(query: str) -> None:
    check("batch", query, BATCH[query])
