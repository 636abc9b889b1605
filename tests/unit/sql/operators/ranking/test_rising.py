"""Top-N of rows that replace each other and move up is that of the rows that are left."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sql.operators.base import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.sql.operators.ranking.specs import RisingRankSpec
from headrace.testing import keyed_harness
from tests.examples import examples

ORDER = ((1, True, False),)
RANGES = [(1, 1), (1, 3), (2, 3), (2, 2)]


def changes_of(steps: list[tuple[int, int]], falls: bool) -> list[tuple[int, int, int]]:
    """Counts by name, which the steps increase, or set to other values."""
    counts: dict[int, int] = {}
    made: list[tuple[int, int, int]] = []
    for name, step in steps:
        known = counts.get(name)
        counts[name] = step if falls or known is None else known + step
        if known is not None:
            made.append((name, known, UPDATE_BEFORE))
        made.append((name, counts[name], INSERT if known is None else UPDATE_AFTER))
    return made


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize(("start", "end"), RANGES)
@examples(15)
@given(steps=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=20))
def test_the_first_rows_are_left(
    start: int, end: int, numbered: bool, steps: list[tuple[int, int]]
) -> None:
    spec = RisingRankSpec(ORDER, start, end, numbered, (0,))
    shown: Counter[Any] = Counter()
    counts: dict[int, int] = {}
    with keyed_harness(spec, key=lambda row: "all") as h:
        for change in changes_of(steps, falls=False):
            h.process(change)
            h.snapshot_and_restore()
            if change[-1] != UPDATE_BEFORE:
                counts[change[0]] = change[1]
            for *row, kind in h.output():
                shown[tuple(row)] += -1 if kind & 1 else 1
                assert shown[tuple(row)] in (0, 1)
            ranks = sorted(counts.values(), reverse=True)[start - 1 : end]
            expected = [(n, *([start + i] if numbered else [])) for i, n in enumerate(ranks)]
            assert sorted(row[1:] for row in +shown) == sorted(expected)
            assert all(counts[row[0]] == row[1] for row in +shown)


@pytest.mark.parametrize("numbered", [True, False])
@examples(15)
@given(steps=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 9)), max_size=20))
def test_a_row_that_falls_takes_back_what_it_was(
    numbered: bool, steps: list[tuple[int, int]]
) -> None:
    """A count begins anew if its state is forgotten after a while."""
    shown: Counter[Any] = Counter()
    with keyed_harness(RisingRankSpec(ORDER, 1, 3, numbered, (0,)), key=lambda row: "all") as h:
        for change in changes_of(steps, falls=True):
            h.process(change)
            for *row, kind in h.output():
                shown[tuple(row)] += -1 if kind & 1 else 1
                assert shown[tuple(row)] in (0, 1)
    assert len(+shown) == min(3, len({name for name, _ in steps}))
