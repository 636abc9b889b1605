"""Operators of SQL that work on whole batches do what they would do row by row."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.batch import Batch
from headrace.sql import types as t
from headrace.sql.codegen.aggregates import AggregateCode, aggregate_code
from headrace.sql.functions.catalogue import builtin_registry
from headrace.sql.operators.order.ordering import keep_first, sort_key
from headrace.sql.operators.ranking.local_rank import LocalRankOperator
from headrace.sql.operators.ranking.specs import LocalRankSpec, WindowRankSpec
from headrace.sql.operators.windows.local_session import LocalSessionAggregateOperator
from headrace.sql.operators.windows.specs import LocalSessionAggregateSpec, SessionAggregateSpec
from headrace.sql.plan.expressions import AggregateCall
from headrace.sql.segments.ranking import first_of_groups
from headrace.testing.harness import OperatorHarness

# Orders of rows.

VALUES = st.none() | st.integers(-2, 2)
ROWS = st.lists(st.tuples(VALUES, VALUES, st.none() | st.sampled_from("abc")), max_size=12)
ORDERS = st.lists(
    st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), min_size=1, max_size=3
).map(tuple)


@given(ROWS, ORDERS, st.integers(0, 4))
def test_the_first_rows_are_those_of_a_stable_sort(rows: Any, order: Any, count: int) -> None:
    kept = [(*row, number) for number, row in enumerate(rows)]
    wanted = sorted(kept, key=sort_key(order))[:count]
    keep_first(kept, order, count)
    assert kept == wanted


@given(ROWS.filter(bool), ORDERS, st.sets(st.integers(0, 2)), st.integers(1, 3), st.booleans())
def test_columns_are_ranked_as_rows_are(
    rows: Any, order: Any, groups: Any, count: int, latest: bool
) -> None:
    kinds = (pa.int64(), pa.int64(), pa.string())
    columns = [pa.array(c, k) for c, k in zip(zip(*rows, strict=True), kinds, strict=True)]
    batch = pa.record_batch(columns, names=["a", "b", "c"])
    by_group: dict[Any, list[Any]] = {}
    for number, row in enumerate(rows):
        by_group.setdefault(tuple(row[g] for g in groups), []).append((*row, number))
    for held in by_group.values():
        if latest:
            held.reverse()
        keep_first(held, order, count)
    wanted = sorted(row[-1] for held in by_group.values() for row in held)
    assert first_of_groups(batch, sorted(groups), order, count, latest).to_pylist() == wanted


# Batches of rows between watermarks.

GAP = 5


class Sent:
    """The output of a local phase: it gives everything to the operator behind the exchange."""

    def __init__(self, receiver: OperatorHarness) -> None:
        self._receiver = receiver

    def emit(self, batch: Batch) -> None:
        self._receiver.process_many(batch.values)

    def watermark(self, timestamp: int) -> None:
        self._receiver.watermark(timestamp)


def counted() -> AggregateCode:
    """COUNT(*) and LAST_VALUE of the number of a row."""
    found = builtin_registry().find
    calls = [
        AggregateCall(found("COUNT"), (), t.BigIntType(), "n"),
        AggregateCall(
            found("MAX"), (2,), t.BigIntType(), "last", False, None, (t.BigIntType(False),)
        ),
    ]
    return aggregate_code(calls, False)


STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), min_size=1, max_size=6)
    | st.integers(0, 45)
    | st.sampled_from(["epoch", "restore"]),
    max_size=12,
)


def row_by_row(steps: list[Any]) -> list[Any]:
    """Sessions, each row merged by itself: key, rows, last one, start and end."""
    sessions: list[list[Any]] = []
    out: list[Any] = []
    watermark, number = -(1 << 60), 0
    for step in [*steps, 1 << 60]:
        if isinstance(step, int):
            watermark = max(watermark, step)
            out += sorted(tuple(s) for s in sessions if s[4] - 1 <= watermark)
            sessions = [s for s in sessions if s[4] - 1 > watermark]
        for key, time in step if isinstance(step, list) else ():
            new = [key, 1, number, time, time + GAP]
            number += 1
            touching = [s for s in sessions if s[0] == key and s[3] <= new[4] and new[3] <= s[4]]
            if not touching and new[4] - 1 <= watermark:
                continue
            for s in touching:
                sessions.remove(s)
                merged = max(new[2], s[2]), min(new[3], s[3]), max(new[4], s[4])
                new = [key, new[1] + s[1], *merged]
            sessions.append(new)
    return out


def numbered(steps: list[Any]) -> list[Any]:
    """Batches with rows of key, time in microseconds, and number."""
    found, number = [], 0
    for step in steps:
        if not isinstance(step, list):
            found.append(step)
            continue
        rows = [(k, time * 1000, number + i) for i, (k, time) in enumerate(step)]
        number += len(rows)
        found.append(rows)
    return found


def drive(receiver: OperatorHarness, local: Any, steps: list[Any]) -> list[Any]:
    """The output of a history, in which nothing waits at the end of an epoch."""
    send: Callable[[list[Any]], None] = receiver.process_many
    mark = receiver.watermark
    if local is not None:
        local.output = Sent(receiver)
        send, mark = (lambda rows: local.process_batch(Batch(rows))), local.process_watermark
    for step in [*steps, 1 << 60]:
        if isinstance(step, list):
            send(step)
        elif isinstance(step, int):
            mark(step)
        else:
            if local is not None:
                local.end_epoch()
            if step == "restore":
                receiver.snapshot_and_restore(2)
    return receiver.output()


@given(STEPS, st.booleans())
def test_sessions_are_those_of_single_rows(steps: list[Any], two_phases: bool) -> None:
    code = counted()
    spec = SessionAggregateSpec(code, 1, GAP, 1, ("start", "end"), merges=two_phases)
    local = LocalSessionAggregateOperator(LocalSessionAggregateSpec(code, (0,), GAP, 1))
    with OperatorHarness(spec, [itemgetter(0)]) as receiver:
        found = drive(receiver, local if two_phases else None, numbered(steps))
    wanted = [(k, n, last, s * 1000, e * 1000) for k, n, last, s, e in row_by_row(steps)]
    assert sorted(found) == sorted(wanted)


WINDOW = 10


def ranked(steps: list[Any], count: int) -> list[Any]:
    """The first rows by time of each window, later ones first, one after the other."""
    windows: dict[int, list[Any]] = {}
    out: list[Any] = []
    watermark = -(1 << 60)
    for step in [*steps, 1 << 60]:
        if isinstance(step, int):
            watermark = max(watermark, step)
            for end in sorted(e for e in windows if e - 1 <= watermark):
                rows = sorted(windows.pop(end), key=lambda r: -r[1])[:count]
                out += [(*r, place) for place, r in enumerate(rows, 1)]
        for row in step if isinstance(step, list) else ():
            if row[3] // 1000 - 1 > watermark:
                windows.setdefault(row[3] // 1000, []).append(row)
    return out


@given(STEPS, st.integers(1, 3), st.booleans())
def test_rankings_of_windows_are_those_of_single_rows(
    steps: list[Any], count: int, two_phases: bool
) -> None:
    history = [
        [(*r, (r[1] // 1000 // WINDOW + 1) * WINDOW * 1000) for r in x]
        if isinstance(x, list)
        else x
        for x in numbered(steps)
    ]
    order = ((1, True, False),)
    local = LocalRankOperator(LocalRankSpec((3,), order, count, 3)) if two_phases else None
    spec = WindowRankSpec(order, 1, count, True, 3)
    with OperatorHarness(spec, [itemgetter(3)]) as receiver:
        found = drive(receiver, local, history)
    assert sorted(found) == sorted(ranked(history, count))
