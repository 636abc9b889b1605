"""Windows: start with offset, merging, order, hashing, pickling, serializers."""

from __future__ import annotations

import io
import itertools
import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.common.constants import MAX_LONG_VALUE
from headrace.datastream.window import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
)

TIMES = st.integers(-(10**15), 10**15)


class Merges(MergingWindowAssigner.MergeCallback):
    def __init__(self):
        self.calls = []

    def merge(self, to_be_merged, merge_result):
        self.calls.append((set(to_be_merged), merge_result))


def merges(*windows):
    callback = Merges()
    TimeWindow.merge_windows(windows, callback)
    return callback.calls


@given(TIMES, st.integers(1, 10**9), st.data())
def test_start_with_offset_contains_the_timestamp(timestamp, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


@pytest.mark.parametrize(
    ("timestamp", "offset", "size", "start"),
    [
        (1, 0, 7, 0),
        (6, 0, 7, 0),
        (7, 0, 7, 7),
        (8, 3, 7, 3),
        (2, 3, 7, -4),
        (-1, 0, 7, -7),
        (-7, 0, 7, -7),
        (-8, 0, 7, -14),
        (-3, -2, 7, -9),
    ],
)
def test_start_with_offset_as_in_flink(timestamp, offset, size, start):
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, size) == start


def test_intersects_includes_touching():
    assert TimeWindow(0, 10).intersects(TimeWindow(10, 20))
    assert TimeWindow(10, 20).intersects(TimeWindow(0, 10))
    assert TimeWindow(0, 10).intersects(TimeWindow(3, 4))
    assert not TimeWindow(0, 10).intersects(TimeWindow(11, 20))


def test_cover():
    assert TimeWindow(5, 10).cover(TimeWindow(0, 7)) == TimeWindow(0, 10)


def test_only_groups_of_several_windows_are_reported():
    assert merges() == []
    assert merges(TimeWindow(0, 1)) == []
    assert merges(TimeWindow(0, 1), TimeWindow(5, 6)) == []
    assert merges(TimeWindow(18, 28), TimeWindow(0, 10), TimeWindow(9, 19), TimeWindow(40, 50)) == [
        ({TimeWindow(0, 10), TimeWindow(9, 19), TimeWindow(18, 28)}, TimeWindow(0, 28))
    ]


def test_an_equal_window_is_no_merge():
    assert merges(TimeWindow(0, 1), TimeWindow(0, 1)) == []


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 20)), max_size=12))
@example([(0, 10), (10, 10), (25, 1)])
def test_merging_leaves_disjoint_windows_that_cover_the_same_times(spans):
    windows = {TimeWindow(start, start + size) for start, size in spans}
    remaining = set(windows)
    for group, result in merges(*windows):
        assert len(group) > 1
        assert group <= remaining
        remaining = (remaining - group) | {result}
    covered = {t for w in windows for t in range(w.start, w.end)}
    assert {t for w in remaining for t in range(w.start, w.end)} == covered
    ordered = sorted(remaining)
    assert all(a.end < b.start for a, b in itertools.pairwise(ordered))


@given(TIMES, TIMES, TIMES, TIMES)
def test_time_windows_are_ordered_and_hashed_like_pairs(a, b, c, d):
    left, right = TimeWindow(a, b), TimeWindow(c, d)
    assert (left == right) == ((a, b) == (c, d))
    assert (left < right) == ((a, b) < (c, d))
    assert (left <= right) == ((a, b) <= (c, d))
    assert (left > right) == ((a, b) > (c, d))
    assert (left >= right) == ((a, b) >= (c, d))
    if left == right:
        assert hash(left) == hash(right)


def test_windows_of_other_kinds_are_never_equal():
    assert TimeWindow(0, 1) != CountWindow(0)
    assert GlobalWindow() != CountWindow(0)
    assert TimeWindow(0, 1) != (0, 1)
    with pytest.raises(TypeError):
        TimeWindow(0, 1) < CountWindow(1)  # noqa: B015
    assert CountWindow(0) < CountWindow(1)


def test_max_timestamp():
    assert TimeWindow(0, 10).max_timestamp() == 9
    assert CountWindow(3).max_timestamp() == MAX_LONG_VALUE
    assert GlobalWindow.get().max_timestamp() == MAX_LONG_VALUE


@pytest.mark.parametrize(
    ("window", "serializer", "size"),
    [
        (TimeWindow(-5, 10), TimeWindowSerializer(), 16),
        (CountWindow(7), CountWindowSerializer(), 8),
        (GlobalWindow.get(), GlobalWindowSerializer(), 1),
    ],
)
def test_windows_survive_pickling_and_their_serializer(window, serializer, size):
    again = pickle.loads(pickle.dumps(window))
    assert again == window
    assert hash(again) == hash(window)
    stream = io.BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    assert stream.tell() == 2 * size
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert serializer.deserialize(stream) == window


def test_windows_have_no_dict():
    for window in (TimeWindow(0, 1), CountWindow(0), GlobalWindow()):
        assert not hasattr(window, "__dict__")


def test_repr():
    assert repr(TimeWindow(0, 1)) == "TimeWindow(start=0, end=1)"
    assert repr(CountWindow(2)) == "CountWindow(id=2)"
    assert repr(GlobalWindow()) == "GlobalWindow"
    assert (TimeWindow(0, 1).get_start(), TimeWindow(0, 1).get_end()) == (0, 1)
    assert CountWindow(2).get_id() == 2
