"""Accumulators: adding, merging, resetting, cloning."""

from __future__ import annotations

import pickle

import pytest

from headrace.datastream.functions import (
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
    LongMaximum,
    LongMinimum,
)

CASES = [
    (IntCounter, [1, 2], [4], 7, 0),
    (LongCounter, [1, 2], [4], 7, 0),
    (DoubleCounter, [0.5], [1.5], 2.0, 0.0),
    (AverageAccumulator, [1, 2], [6], 3.0, 0.0),
    (Histogram, [3, 1, 3], [1], {1: 2, 3: 2}, {}),
    (ListAccumulator, ["a"], ["b", "c"], ["a", "b", "c"], []),
    (IntMaximum, [1, 5], [3], 5, -(2**31)),
    (IntMinimum, [4, 5], [3], 3, 2**31 - 1),
    (LongMaximum, [1], [], 1, -(2**63)),
    (LongMinimum, [1], [], 1, 2**63 - 1),
    (DoubleMaximum, [1.0], [2.5], 2.5, float("-inf")),
    (DoubleMinimum, [1.0], [2.5], 1.0, float("inf")),
]


@pytest.mark.parametrize(("kind", "ours", "theirs", "merged", "empty"), CASES)
def test_merging_adds_what_another_subtask_collected(kind, ours, theirs, merged, empty):
    a, b = kind(), kind()
    assert a.get_local_value() == empty
    for value in ours:
        a.add(value)
    for value in theirs:
        b.add(value)
    before = b.get_local_value()
    copy, expected_before = a.clone(), a.get_local_value()
    a.merge(pickle.loads(pickle.dumps(b)))
    assert a.get_local_value() == merged
    assert b.get_local_value() == before
    assert copy.get_local_value() == expected_before
    a.reset_local()
    assert a.get_local_value() == empty


def test_a_counter_may_start_above_zero_and_resets_to_zero():
    counter = IntCounter(5)
    counter.add(1)
    assert repr(counter) == "IntCounter(6)"
    counter.reset_local()
    assert counter.get_local_value() == 0


def test_histogram_is_sorted_by_value():
    histogram = Histogram()
    for value in (5, 1, 3):
        histogram.add(value)
    assert list(histogram.get_local_value()) == [1, 3, 5]


def test_averages_merge_with_averages_only():
    class Fake(AverageAccumulator.__mro__[1]):
        add = get_local_value = reset_local = merge = lambda self, *a: None

    with pytest.raises(TypeError):
        AverageAccumulator().merge(Fake())
