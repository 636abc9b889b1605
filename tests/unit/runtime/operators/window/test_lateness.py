"""Late records: allowed lateness, repeated firing, the side output, and the counter."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream.aggregates import Sum
from headrace.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.unit.runtime.operators.window.windows import (
    LATE,
    assert_nothing_left,
    entries,
    late_dropped,
    window_harness,
)


class GeneralTrigger(EventTimeTrigger):
    """The usual trigger, in the general operator."""


both_operators = pytest.mark.parametrize(
    "trigger", [EventTimeTrigger(), GeneralTrigger()], ids=["fast", "general"]
)


@both_operators
def test_late_records_are_dropped_and_counted(trigger: Any) -> None:
    with window_harness(trigger=trigger) as h:
        h.watermark(9)
        h.process_many([("a", 1), ("a", 2), ("b", 3)], ts=[9, 10, -4])
        assert late_dropped(h) == 2
        h.end_input()
        assert h.output() == ["a 10-20: 2"]


@both_operators
def test_late_records_go_to_the_side_output_instead(trigger: Any) -> None:
    with window_harness(trigger=trigger, late_tag=LATE) as h:
        h.watermark(9)
        h.process_many([("a", 1), ("a", 2)], ts=[9, 10])
        assert h.side_output(LATE) == [("a", 1)]
        assert late_dropped(h) == 0


@both_operators
def test_a_record_is_late_only_after_its_last_window(trigger: Any) -> None:
    with window_harness(SlidingEventTimeWindows.of(10, 5), trigger=trigger, late_tag=LATE) as h:
        h.process(("a", 1), ts=7)
        h.watermark(9)
        assert h.output() == ["a 0-10: 1"]
        h.process(("a", 2), ts=8)  # [0, 10) is over, [5, 15) is not.
        h.process(("a", 3), ts=4)
        assert h.side_output(LATE) == [("a", 3)]
        h.watermark(14)
        assert h.output() == ["a 5-15: 1 2"]
        assert_nothing_left(h)


def test_each_late_record_within_the_lateness_fires_again() -> None:
    with window_harness(allowed_lateness_ms=10, late_tag=LATE, aggregate=Sum(1)) as h:
        h.process(("a", 1), ts=1)
        h.watermark(9)
        assert h.output() == [1]
        h.process_many([("a", 2), ("a", 3)], ts=[2, 3])
        assert h.timestamped_output() == [(3, 2), (6, 3)]
        h.snapshot_and_restore(parallelism=2)
        h.watermark(18)
        h.process(("a", 4), ts=0)
        assert h.output() == [10]
        h.watermark(19)
        assert_nothing_left(h)
        h.process(("a", 5), ts=9)
        assert h.output() == []
        assert h.side_output(LATE) == [("a", 5)]


def test_a_late_record_may_open_a_window_that_nobody_had() -> None:
    with window_harness(allowed_lateness_ms=10) as h:
        h.watermark(12)
        h.process(("a", 1), ts=5)
        assert h.output() == ["a 0-10: 1"]
        h.watermark(19)
        assert_nothing_left(h)


def test_a_late_record_joins_sessions_that_have_fired() -> None:
    assigner = EventTimeSessionWindows.with_gap(5)
    with window_harness(assigner, allowed_lateness_ms=20, late_tag=LATE) as h:
        h.process(("a", 1), ts=0)
        h.process(("a", 2), ts=9)
        h.watermark(14)
        assert h.output() == ["a 0-5: 1", "a 9-14: 2"]
        h.snapshot_and_restore()
        h.process(("a", 3), ts=4)
        assert h.output() == ["a 0-14: 1 2 3"]
        h.watermark(33)
        assert h.output() == []
        assert_nothing_left(h)
        h.process(("a", 4), ts=4)
        assert h.side_output(LATE) == [("a", 4)]
        assert_nothing_left(h)


def test_a_late_record_that_touches_an_open_session_is_not_late() -> None:
    with window_harness(EventTimeSessionWindows.with_gap(5), late_tag=LATE) as h:
        h.process(("a", 1), ts=10)
        h.watermark(12)
        h.process(("a", 2), ts=7)  # Alone it would be over since 11.
        h.process(("b", 3), ts=7)
        assert h.side_output(LATE) == [("b", 3)]
        h.watermark(14)
        assert h.output() == ["a 7-15: 1 2"]
        assert_nothing_left(h)


def test_windows_by_processing_time_know_no_late_records() -> None:
    with window_harness(TumblingProcessingTimeWindows.of(10), allowed_lateness_ms=100) as h:
        h.watermark(1_000)
        h.process(("a", 1), ts=3)
        h.advance_time(9)
        assert h.output() == ["a 0-10: 1"]
        assert_nothing_left(h)


def test_the_record_between_two_windows_counts_as_late_as_in_flink() -> None:
    """A slide longer than the size leaves records out; behind the watermark they look late."""
    with window_harness(SlidingEventTimeWindows.of(3, 10)) as h:
        h.process(("a", 1), ts=5)
        assert late_dropped(h) == 0
        h.watermark(20)
        h.process(("a", 2), ts=15)
        assert late_dropped(h) == 1
        assert h.output() == []
        assert entries(h) == 0


@both_operators
def test_late_records_stay_late_after_recovery(trigger: Any) -> None:
    with window_harness(trigger=trigger, late_tag=LATE) as h:
        h.process(("a", 1), ts=12)
        h.watermark(11)
        h.snapshot_and_restore(parallelism=3)
        h.process(("a", 2), ts=5)
        assert h.side_output(LATE) == [("a", 2)]
        h.end_input()
        assert h.output() == ["a 10-20: 1"]
