"""Joins of tables that change are those of the final tables, however the changes come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind, row_of
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.sql.catalog import TableEntry
from headrace.sql.operators.joins.rows import JoinRows
from headrace.sql.physical.passes import physical_plans
from headrace.sql.plan.text import plan_text
from headrace.sql.session.result import changed_rows
from headrace.sql.table_api.stream_tables import stream_plan
from headrace.testing import run_in_process
from tests.examples import examples
from tests.property.live_slots import carried
from tests.sql.sessions import LocalSession, with_tables

KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "l.k = r.k": lambda a, b: a[0] is not None and a[0] == b[0],
    "l.k = r.k AND l.v < r.v": lambda a, b: a[0] is not None and a[0] == b[0] and a[1] < b[1],
    "l.k IS NOT DISTINCT FROM r.k": lambda a, b: a[0] == b[0],
    "l.v < r.v": lambda a, b: a[1] < b[1],
}
CHANGES = st.lists(
    st.tuples(st.none() | st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=12
)


def history(changes: list[tuple[int | None, int, bool]]) -> tuple[list[Row], Counter[Any]]:
    """Changes that make sense: only a row that is there can go; and what is left."""
    rows: Counter[Any] = Counter()
    made: list[Row] = []
    for key, value, goes in changes:
        row = (key, value)
        gone = goes and rows[row] > 0
        rows[row] += -1 if gone else 1
        made.append(row_of(row, ["k", "v"], RowKind.DELETE if gone else RowKind.INSERT))
    return made, +rows


def expected(kind: str, condition: str, left: Counter[Any], right: Counter[Any]) -> Counter[Any]:
    matches = CONDITIONS[condition]
    result: Counter[Any] = Counter()
    for a, times in left.items():
        for b, more in right.items():
            if matches(a, b):
                result[(*a, *b)] += times * more
    if kind in ("LEFT JOIN", "FULL JOIN"):
        for a, times in left.items():
            if not any(matches(a, b) for b in right):
                result[(*a, None, None)] += times
    if kind in ("RIGHT JOIN", "FULL JOIN"):
        for b, times in right.items():
            if not any(matches(a, b) for a in left):
                result[(None, None, *b)] += times
    return result


def str_of(row: Row) -> str:
    return f"{row[0]} {row[1]}"


@contextmanager
def large_keys(session: LocalSession, large: bool, ttl: str = "0 ms") -> Iterator[None]:
    """Keys with more than two rows have them in pages."""
    session.session.config.set("table.exec.state.ttl", ttl)
    with (
        patch.multiple(JoinRows, most_rows=2, page_rows=2),
        patch.object(HashMapStateBackend, "encodes_values", large),
    ):
        yield


def with_sides(parallelism: int, **tables: list[Row]) -> LocalSession:
    session = with_tables(parallelism=parallelism)
    types = Types.ROW_NAMED(["k", "v"], [Types.INT(), Types.INT()])
    for name, rows in tables.items():
        # A collection has at least one record, which changes nothing here.
        idle = [row_of((0, 0), ["k", "v"], kind) for kind in (RowKind.INSERT, RowKind.DELETE)]
        # Changes of a row stay in their order on the way to the subtasks.
        stream = session.env.from_collection(rows or idle, types).key_by(str_of)
        plan = stream_plan(session.session, stream, mode=ChangelogMode.all())
        session.session.catalogs.create_table((name,), TableEntry((), plan=plan), temporary=True)
    return session


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", KINDS)
@examples(12, phases=[Phase.explicit, Phase.generate])
@given(
    left=CHANGES,
    right=CHANGES,
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    every_change=st.booleans(),
    restored=st.booleans(),
    large=st.booleans(),
    ttl=st.sampled_from(["0 ms", "30 d"]),
    live=st.booleans(),
)
def test_what_is_left_of_a_join_is_the_join_of_what_is_left(
    kind: str,
    condition: str,
    left: Any,
    right: Any,
    epoch_records: int,
    parallelism: int,
    every_change: bool,
    restored: bool,
    large: bool,
    ttl: str,
    live: bool,
) -> None:
    (lefts, left_rows), (rights, right_rows) = history(left), history(right)
    session = with_sides(parallelism, l=lefts, r=rights)
    if every_change:
        session.session.config.set("table.exec.mini-batch.enabled", "false")
    query = f"SELECT l.k, l.v, r.k AS rk, r.v AS rv FROM l {kind} r ON {condition}"
    with large_keys(session, large, ttl), carried(live):
        found = left_of(session, query, epoch_records, restored)
    assert found == expected(kind, condition, left_rows, right_rows)


def left_of(session: LocalSession, query: str, epoch_records: int, restored: bool) -> Counter[Any]:
    """The rows that are left of a query; none is taken back that is not there."""
    plan = session.plan(query)
    translator = session.session.translator()
    records = run_in_process(
        session.env,
        {"rows": translator.stream(plan)},
        epoch_records=epoch_records,
        restore_after=[1, 3] if restored else [],
        rescale_after={2: session.env.get_parallelism() % 3 + 1} if restored else {},
    )["rows"]
    found: Counter[Any] = Counter()
    for change, row in changed_rows(records, translator.takes_changes(plan)):
        found[tuple(row)] += -1 if change & 1 else 1
        assert found[tuple(row)] >= 0, f"{row} is taken back, but it is not there"
    return +found


def among(value: Any, others: list[Any]) -> bool | None:
    """`IN` with SQL's NULL."""
    if not others:
        return False
    if value is None:
        return None
    return True if value in others else None if None in others else False


def partners(row: Any, right: Counter[Any], condition: str) -> bool:
    return any(CONDITIONS[condition](row, other) for other in right)


def keys(right: Counter[Any], least: int = 0) -> list[Any]:
    return [k for k, v in right if v >= least]


EXISTING: dict[str, Callable[[Any, Counter[Any]], bool | None]] = {
    **{
        f"EXISTS (SELECT 1 FROM r WHERE {c})": lambda row, r, c=c: partners(row, r, c)
        for c in CONDITIONS
    },
    **{
        f"NOT EXISTS (SELECT 1 FROM r WHERE {c})": lambda row, r, c=c: not partners(row, r, c)
        for c in CONDITIONS
    },
    "k IN (SELECT k FROM r)": lambda row, r: among(row[0], keys(r)),
    "k NOT IN (SELECT k FROM r)": lambda row, r: among(row[0], keys(r)) is False,
    "k NOT IN (SELECT k FROM r WHERE v > 0)": lambda row, r: among(row[0], keys(r, 1)) is False,
    "v = 1 OR k IN (SELECT k FROM r)": lambda row, r: row[1] == 1 or among(row[0], keys(r)),
    "v > (SELECT COUNT(*) FROM r WHERE r.k = l.k)": lambda row, r: (
        row[1] > sum(n for (k, _), n in r.items() if k is not None and k == row[0])
    ),
}


@pytest.mark.parametrize("condition", EXISTING)
@examples(8, phases=[Phase.explicit, Phase.generate])
@given(
    left=CHANGES,
    right=CHANGES,
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    every_change=st.booleans(),
    restored=st.booleans(),
    large=st.booleans(),
)
def test_rows_stay_while_others_exist_or_do_not(
    condition: str,
    left: Any,
    right: Any,
    epoch_records: int,
    parallelism: int,
    every_change: bool,
    restored: bool,
    large: bool,
) -> None:
    (lefts, left_rows), (rights, right_rows) = history(left), history(right)
    session = with_sides(parallelism, l=lefts, r=rights)
    if every_change:
        session.session.config.set("table.exec.mini-batch.enabled", "false")
    with large_keys(session, large):
        query = f"SELECT k, v FROM l WHERE {condition}"
        found = left_of(session, query, epoch_records, restored)
    kept = EXISTING[condition]
    assert found == Counter({a: n for a, n in left_rows.items() if kept(a, right_rows)})


FURTHER: dict[str, Callable[[Any, Any], bool]] = {
    "l.k = o.k": lambda a, b: a[0] is not None and a[0] == b[0],
    "o.k = l.k AND r.v >= o.v": lambda a, b: (
        a[0] is not None and a[0] == b[0] and a[3] is not None and a[3] >= b[1]
    ),
}


def padded(
    kind: str, matches: Callable[[Any, Any], bool], left: Counter[Any], right: Counter[Any]
) -> Counter[Any]:
    """An inner or left join."""
    result: Counter[Any] = Counter()
    for a, times in left.items():
        partners = [(b, more) for b, more in right.items() if matches(a, b)]
        for b, more in partners:
            result[(*a, *b)] += times * more
        if not partners and kind == "LEFT JOIN":
            result[(*a, None, None)] += times
    return result


@pytest.mark.parametrize("further", FURTHER)
@pytest.mark.parametrize("condition", ["l.k = r.k", "l.k = r.k AND l.v < r.v"])
@pytest.mark.parametrize("kinds", [(a, b) for a in KINDS[:2] for b in KINDS[:2]])
@examples(8, phases=[Phase.explicit, Phase.generate])
@given(
    left=CHANGES,
    right=CHANGES,
    other=CHANGES,
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    restored=st.booleans(),
    large=st.booleans(),
)
def test_three_tables_are_joined_in_one_operator(
    kinds: tuple[str, str],
    condition: str,
    further: str,
    left: Any,
    right: Any,
    other: Any,
    epoch_records: int,
    parallelism: int,
    restored: bool,
    large: bool,
) -> None:
    histories = [history(changes) for changes in (left, right, other)]
    (lefts, left_rows), (rights, right_rows), (others, other_rows) = histories
    session = with_sides(parallelism, l=lefts, r=rights, o=others)
    session.session.config.set("table.optimizer.multi-join.enabled", "true")
    query = (
        "SELECT l.k, l.v, r.k AS rk, r.v AS rv, o.k AS ok, o.v AS ov "
        f"FROM l {kinds[0]} r ON {condition} {kinds[1]} o ON {further}"
    )
    (physical,) = physical_plans([session.plan(query)], session.session.settings())
    assert "MultiJoin" in plan_text(physical)
    pairs = padded(kinds[0], CONDITIONS[condition], left_rows, right_rows)
    with large_keys(session, large):
        found = left_of(session, query, epoch_records, restored)
    assert found == padded(kinds[1], FURTHER[further], pairs, other_rows)


def test_pages_may_become_more_while_other_relations_are_joined() -> None:
    """One relation grows, and those behind it change, in each epoch."""
    many, changing = [(0, i, False) for i in range(41)], [(0, 7, i % 2 == 1) for i in range(41)]
    session = with_sides(1, l=history(many)[0], r=history(changing)[0], o=history(changing)[0])
    session.session.config.set("table.optimizer.multi-join.enabled", "true")
    query = "SELECT l.v, r.v AS rv, o.v AS ov FROM l JOIN r ON l.k = r.k JOIN o ON l.k = o.k"
    with large_keys(session, True):
        found = left_of(session, query, 3, restored=False)
    assert found == Counter((i, 7, 7) for i in range(41))
