"""Interval joins give all pairs within their bounds, and every row of an outer side, on time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.sql.catalog import TableEntry
from headrace.sql.parsing import parse_statement
from headrace.sql.statements import CreateTable
from headrace.sql.table_api.stream_tables import stream_plan
from tests.examples import examples
from tests.sql.sessions import LocalSession, with_tables

KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
DELAY = 3
"""By how many seconds rows may come too late for their order, but not for the watermark."""

BOUNDS = st.tuples(st.integers(-4, 4), st.integers(-4, 4))
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 1), st.integers(0, 2), st.integers(0, 2), st.integers(0, DELAY)
    ),
    min_size=1,
    max_size=10,
)


def times(rows: list[tuple[int | None, int, int, int]]) -> list[tuple[int | None, int, int]]:
    """Rows with their second: time goes on by steps, and single rows are behind."""
    at, made = 10, []
    for key, value, step, behind in rows:
        at += step
        made.append((key, value, at - behind))
    return made


def expected(
    kind: str, bounds: tuple[int, int], further: bool, left: list[Any], right: list[Any]
) -> Counter[Any]:
    def matches(a: Any, b: Any) -> bool:
        near = bounds[0] <= a[2] - b[2] <= bounds[1]
        return a[0] is not None and a[0] == b[0] and near and (not further or a[1] < b[1])

    result = Counter((*a, *b) for a in left for b in right if matches(a, b))
    if kind in ("LEFT JOIN", "FULL JOIN"):
        result.update((*a, None, None, None) for a in left if not any(matches(a, b) for b in right))
    if kind in ("RIGHT JOIN", "FULL JOIN"):
        result.update((None, None, None, *b) for b in right if not any(matches(a, b) for a in left))
    return result


def with_sides(left: list[Any], right: list[Any], parallelism: int, batch: bool) -> LocalSession:
    session = with_tables(batch=batch, parallelism=parallelism)
    types = Types.ROW_NAMED(["k", "v", "s"], [Types.INT(), Types.INT(), Types.INT()])
    declared = parse_statement(
        "CREATE TABLE x (k INT, v INT, s INT, ts AS TO_TIMESTAMP_LTZ(s * 1000, 3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '{DELAY}.001' SECOND) WITH ('connector' = 'none')"
    )
    assert isinstance(declared, CreateTable)
    entry = TableEntry(declared.columns, declared.watermark)
    for name, rows in (("l", left), ("r", right)):
        plan = stream_plan(session.session, session.env.from_collection(rows, types), entry)
        session.session.catalogs.create_table((name,), TableEntry((), plan=plan), temporary=True)
    return session


@pytest.mark.parametrize("kind", KINDS)
@examples(15, phases=[Phase.explicit, Phase.generate])
@given(
    left=ROWS.map(times),
    right=ROWS.map(times),
    bounds=BOUNDS,
    further=st.booleans(),
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    restored=st.booleans(),
    batch=st.booleans(),
)
def test_all_pairs_within_the_bounds_come_out_in_time(
    kind: str,
    left: list[Any],
    right: list[Any],
    bounds: tuple[int, int],
    further: bool,
    epoch_records: int,
    parallelism: int,
    restored: bool,
    batch: bool,
) -> None:
    wanted = expected(kind, bounds, further, left, right)
    query = (
        f"SELECT l.k, l.v, l.s, r.k AS rk, r.v AS rv, r.s AS rs, l.ts, r.ts AS rts FROM l {kind} r "
        f"ON l.k = r.k AND l.ts BETWEEN r.ts + INTERVAL '{bounds[0]}' SECOND AND "
        f"r.ts + INTERVAL '{bounds[1]}' SECOND {'AND l.v < r.v' if further else ''}"
    )
    running: dict[str, Any] = {"epoch_records": epoch_records}
    if restored:
        running |= {"restore_after": [1, 3], "rescale_after": {2: parallelism % 3 + 1}}
    if batch:
        running = {}
    session = with_sides(left, right, parallelism, batch)
    found = session.query(query, **running)
    assert {kind for kind, _ in found.rows} <= {0}
    assert Counter(tuple(row[:6]) for _, row in found.rows) == wanted

    # A window drops late rows: none may be, whichever time it looks at.
    for column, place in (("ts", 2), ("rts", 5)):
        windows = session.query(
            f"SELECT COUNT(*) FROM (SELECT * FROM ({query}) WHERE {column} IS NOT NULL) "
            f"GROUP BY TUMBLE({column}, INTERVAL '1' SECOND)",
            **running,
        )
        there = sum(times for row, times in wanted.items() if row[place] is not None)
        assert sum(row[0] for _, row in windows.rows) == there
