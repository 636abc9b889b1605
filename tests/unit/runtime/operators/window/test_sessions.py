"""Windows that merge: state window against actual window, persistence, assigners of the user."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import StateError
from headrace.datastream.aggregates import Sum
from headrace.datastream.functions import as_reduce_function
from headrace.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    TimeWindow,
    TimeWindowSerializer,
)
from headrace.runtime.operators.window.merging import MergingWindowSet
from tests.unit.runtime.operators.window.windows import assert_nothing_left, entries, window_harness

SESSIONS = EventTimeSessionWindows.with_gap(10)


@pytest.mark.parametrize(
    ("parts", "result"),
    [
        ({}, "a 0-28: 1 2 3"),
        ({"aggregate": Sum(1)}, 6),
        ({"reduce": as_reduce_function(lambda a, b: (a[0], a[1] + b[1]))}, ("a", 6)),
    ],
)
def test_a_record_that_joins_two_sessions(parts: Any, result: Any) -> None:
    with window_harness(SESSIONS, **parts) as h:
        h.process(("a", 1), ts=0)
        h.process(("a", 2), ts=18)
        h.process(("b", 7), ts=100)
        h.process(("a", 3), ts=9)  # Joins [0, 10) and [18, 28).
        h.snapshot_and_restore(parallelism=2)
        h.watermark(27)
        assert h.timestamped_output() == [(result, 27)]
        h.end_input()
        h.output()
        assert_nothing_left(h)


def test_sessions_that_touch_are_one() -> None:
    with window_harness(SESSIONS) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 3)], ts=[0, 10, 21])
        h.end_input()
        assert h.output() == ["a 0-20: 1 2", "a 21-31: 3"]


def test_merging_keeps_the_content_where_it_is() -> None:
    with window_harness(SESSIONS) as h:
        h.process_many([("a", 1), ("a", 2)], ts=[5, 0])
        assert h.state("merging-window-set") == {"a": {TimeWindow(0, 15): TimeWindow(5, 15)}}
        assert list(h.state("window-contents")) == [("a", TimeWindow(5, 15))]
        h.process(("a", 3), ts=7)
        assert h.state("merging-window-set") == {"a": {TimeWindow(0, 17): TimeWindow(5, 15)}}
        assert [t.timestamp for t in h.timers()] == [16]
        h.watermark(16)
        assert h.output() == ["a 0-17: 1 2 3"]
        assert_nothing_left(h)


def test_sessions_by_processing_time() -> None:
    with window_harness(ProcessingTimeSessionWindows.with_gap(10)) as h:
        h.process(("a", 1))
        h.advance_time(6)
        h.process(("a", 2))
        h.advance_time(9)
        assert h.timestamped_output() == [("a 0-16: 1 2", 15)]
        assert_nothing_left(h)


def test_the_shortest_gap_by_processing_time() -> None:
    """Flink refuses to merge windows that end now; here they just fire."""
    with window_harness(ProcessingTimeSessionWindows.with_gap(1)) as h:
        h.process_many([("a", 1), ("a", 2)])
        h.advance_time(1)
        assert h.output() == ["a 0-1: 1 2"]
        assert_nothing_left(h)


def test_a_gap_of_each_record() -> None:
    assigner = EventTimeSessionWindows.with_dynamic_gap(lambda record: record[1])
    with window_harness(assigner) as h:
        h.process_many([("a", 50), ("a", 2), ("b", 3)], ts=[0, 20, 20])
        h.end_input()
        assert sorted(h.output()) == ["a 0-50: 50 2", "b 20-23: 3"]
        assert_nothing_left(h)


class ByDay(MergingWindowAssigner[Any, TimeWindow]):
    """Merges all windows of a hundred into one that ends earlier if told so."""

    def __init__(self, wrong: bool = False) -> None:
        self.wrong = wrong

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1), TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows: Any, callback: Any) -> None:
        found = list(windows)
        if len(found) > 1:
            end = 1 if self.wrong else max(w.end for w in found)
            callback.merge(found, TimeWindow(min(w.start for w in found), end))

    def get_default_trigger(self, env: Any = None) -> EventTimeTrigger:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_an_assigner_of_the_user_merges() -> None:
    """Each record has two windows, which merge at once: it is in the result twice, as in Flink."""
    with window_harness(ByDay()) as h:
        h.process_many([("a", 1), ("a", 2)], ts=[0, 50])
        h.watermark(59)
        assert h.output() == ["a 0-60: 1 1 2 2"]
        assert_nothing_left(h)


def test_merging_must_not_make_a_window_end_in_the_past() -> None:
    with window_harness(ByDay(wrong=True)) as h:
        h.watermark(20)
        with pytest.raises(StateError, match="ended before the watermark 20: merge_windows"):
            h.process(("a", 1), ts=30)


def test_the_window_set_alone() -> None:
    merges = []

    def merge(*arguments: Any) -> None:
        merges.append(arguments)

    windows = MergingWindowSet(SESSIONS, None)
    first, second = TimeWindow(0, 10), TimeWindow(20, 30)
    assert windows.add(first, merge) == first
    assert windows.add(second, merge) == second
    assert windows.changed
    assert windows.add(TimeWindow(2, 8), merge) == first  # Inside: nothing to merge.
    assert merges == []
    joined = windows.add(TimeWindow(9, 21), merge)
    assert joined == TimeWindow(0, 30)
    assert merges == [(joined, [first, second], first, [second])]
    assert windows.state_window(joined) == first
    assert windows.state_window(first) is None
    again = MergingWindowSet(SESSIONS, windows.mapping)
    assert not again.changed
    again.retire(joined)
    assert again.changed
    assert again.mapping == {}


def test_other_keys_do_not_matter() -> None:
    with window_harness(SESSIONS) as h:
        h.process_many([(n, n) for n in range(200)], ts=[n % 7 for n in range(200)])
        assert entries(h) == 400
        h.watermark(100)
        assert len(h.output()) == 200
        assert_nothing_left(h)
