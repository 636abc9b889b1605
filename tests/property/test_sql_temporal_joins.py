"""Temporal joins give each row the version of its time, however both sides are cut and spread."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row, RowKind, row_of
from headrace.sql.catalog import TableEntry
from headrace.sql.session.result import changed_rows
from headrace.sql.table_api.stream_tables import stream_plan
from headrace.table import ChangelogMode, Schema
from headrace.testing import run_in_process
from tests.examples import examples
from tests.property.live_slots import carried
from tests.sql.sessions import LocalSession

NAMES = ["k", "v", "ms"]
TYPES = Types.ROW_NAMED(NAMES, [Types.STRING(), Types.INT(), Types.LONG()])
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "l.k = r.k": lambda a, b: True,
    "l.k = r.k AND l.v < r.v": lambda a, b: a[1] < b[1],
}
LATEST = """
CREATE VIEW r AS SELECT k, v, et FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY et DESC) AS n FROM history) WHERE n = 1
"""
CHANGES = st.lists(
    # Key, value, how much later it is than the one before, and whether the row goes.
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 2), st.booleans()),
    min_size=1,
    max_size=12,
)


def left_history(changes: Any, changing: bool) -> list[Row]:
    """Rows in the order of time; with `changing` some are taken back, as they are."""
    made, time, there = [], 0, Counter[Any]()
    for key, value, later, goes in changes:
        time += later
        row = (key, value, time)
        gone = changing and goes and there[row] > 0
        there[row] += -1 if gone else 1
        made.append(row_of(row, NAMES, RowKind.DELETE if gone else RowKind.INSERT))
    return made


def right_history(changes: Any, kinds: frozenset[RowKind]) -> list[Row]:
    """Changes of the rows of each key, in the order of time; what goes has the time of its end."""
    made: list[Row] = []
    time, there = 0, dict[str, Any]()
    for key, value, later, goes in changes:
        time += later
        row = (key, value, time)
        old = there.get(key)
        if old is None or kinds == {RowKind.INSERT}:
            made.append(row_of(row, NAMES, RowKind.INSERT))
        elif goes and RowKind.UPDATE_BEFORE in kinds:
            made.append(row_of((key, old[1], time), NAMES, RowKind.DELETE))
            row = None
        else:
            if RowKind.UPDATE_BEFORE in kinds:
                made.append(row_of(old, NAMES, RowKind.UPDATE_BEFORE))
            made.append(row_of(row, NAMES, RowKind.UPDATE_AFTER))
        there[key] = row
    return made


def expected(kind: str, condition: str, left: list[Row], right: list[Row]) -> Counter[Any]:
    versions: dict[str, dict[int, Any]] = {}
    for row in right:
        if row.get_row_kind() is not RowKind.UPDATE_BEFORE:
            gone = row.get_row_kind() is RowKind.DELETE
            versions.setdefault(row[0], {})[row[2]] = None if gone else tuple(row)
    result: Counter[Any] = Counter()
    for row in left:
        own = versions.get(row[0], {})
        times = sorted(own)
        place = bisect_right(times, row[2])
        version = own[times[place - 1]] if place else None
        change = 1 if row.get_row_kind() is RowKind.INSERT else -1
        if version is not None and CONDITIONS[condition](row, version):
            result[(row[0], row[1], version[1])] += change
        elif kind == "LEFT JOIN":
            result[(row[0], row[1], None)] += change
    return +result


def key_of(row: Row) -> Any:
    return row[0]


def register(
    session: LocalSession, name: str, rows: list[Row], kinds: frozenset[RowKind], key: bool
) -> None:
    schema = (
        Schema.new_builder()
        .column("k", "STRING NOT NULL")
        .column("v", "INT")
        .column("ms", "BIGINT")
        .column_by_expression("et", "TO_TIMESTAMP_LTZ(ms, 3)")
        # Rows come in the order of time, and several have the same: none is late.
        .watermark("et", "et - INTERVAL '0.001' SECOND")
    )
    entry = (schema.primary_key("k") if key else schema).build().entry()
    stream = session.env.from_collection(rows, TYPES).key_by(key_of)
    plan = stream_plan(session.session, stream, entry, mode=ChangelogMode(kinds))
    session.session.catalogs.create_table((name,), TableEntry((), plan=plan), temporary=True)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("mode", ["insert_only", "upsert", "all", "view"])
@examples(12, phases=[Phase.explicit, Phase.generate])
@given(
    left=CHANGES,
    right=CHANGES,
    changing=st.booleans(),
    epoch_records=st.integers(1, 5),
    parallelism=st.integers(1, 3),
    restored=st.booleans(),
    live=st.booleans(),
)
def test_each_row_meets_the_version_of_its_time(
    mode: str,
    kind: str,
    condition: str,
    left: Any,
    right: Any,
    changing: bool,
    epoch_records: int,
    parallelism: int,
    restored: bool,
    live: bool,
) -> None:
    session = LocalSession(parallelism=parallelism)
    all_kinds = frozenset(RowKind)
    insert_only = frozenset({RowKind.INSERT})
    lefts = left_history(left, changing)
    register(session, "l", lefts, all_kinds if changing else insert_only, key=False)
    if mode == "view":
        rights = right_history(right, insert_only)
        register(session, "history", rights, insert_only, key=False)
        session.execute(LATEST)
    else:
        kinds = frozenset(getattr(ChangelogMode, mode)().kinds)
        rights = right_history(right, kinds)
        register(session, "r", rights, kinds, key=True)
    query = f"SELECT l.k, l.v, r.v AS rv FROM l {kind} r FOR SYSTEM_TIME AS OF l.et ON {condition}"
    plan = session.plan(query)
    session.session.check(plan)
    translator = session.session.translator()
    with carried(live):
        result = run_in_process(
            session.env,
            {"rows": translator.stream(plan)},
            epoch_records=epoch_records,
            restore_after=[1, 3] if restored else [],
            rescale_after={2: parallelism % 3 + 1} if restored else {},
        )
    assert translator.takes_changes(plan) is changing
    found: Counter[Any] = Counter()
    for change, row in changed_rows(result["rows"], changing):
        found[tuple(row)] += -1 if change & 1 else 1
    assert +found == expected(kind, condition, lefts, rights)
