"""When windows fire: every trigger in the window operator, and triggers of the user."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from tests.unit.runtime.operators.window.windows import assert_nothing_left, entries, window_harness


def test_event_time_trigger_fires_once_at_the_end() -> None:
    with window_harness(trigger=EventTimeTrigger(), allowed_lateness_ms=5) as h:
        h.process(("a", 1), ts=3)
        h.watermark(8)
        assert h.output() == []
        h.watermark(9)
        assert h.timestamped_output() == [("a 0-10: 1", 9)]
        h.watermark(30)
        assert h.output() == []
        assert_nothing_left(h)


def test_processing_time_trigger_fires_at_the_end() -> None:
    with window_harness(TumblingProcessingTimeWindows.of(10)) as h:
        h.process(("a", 1))
        h.advance_time(8)
        h.process(("a", 2))
        assert h.output() == []
        h.advance_time(1)
        assert h.timestamped_output() == [("a 0-10: 1 2", 9)]
        assert_nothing_left(h)


def test_processing_time_trigger_on_windows_by_event_time() -> None:
    """The end of the window is a time of the clock then; event time only cleans up."""
    with window_harness(trigger=ProcessingTimeTrigger()) as h:
        h.process(("a", 1), ts=3)
        h.advance_time(9)
        assert h.output() == ["a 0-10: 1"]
        assert entries(h) == 1
        h.watermark(9)
        assert h.output() == []
        assert_nothing_left(h)


def test_continuous_event_time_trigger() -> None:
    """The seed's example: a window of ten seconds that reports every two seconds."""
    assigner = TumblingEventTimeWindows.of(10_000)
    with window_harness(assigner, trigger=ContinuousEventTimeTrigger.of(2_000)) as h:
        h.process(("a", 1), ts=500)
        h.watermark(1_999)
        assert h.output() == []
        h.watermark(2_000)
        assert h.output() == ["a 0-10000: 1"]
        h.process(("a", 2), ts=2_500)
        h.snapshot_and_restore()
        h.watermark(6_100)
        assert h.output() == ["a 0-10000: 1 2"] * 2
        h.watermark(9_998)
        assert h.output() == ["a 0-10000: 1 2"]
        h.watermark(9_999)
        assert h.output() == ["a 0-10000: 1 2"]
        assert_nothing_left(h)


def test_continuous_event_time_trigger_fires_for_each_late_record() -> None:
    trigger = ContinuousEventTimeTrigger.of(100)
    with window_harness(trigger=trigger, allowed_lateness_ms=10) as h:
        h.process(("a", 1), ts=1)
        h.watermark(12)
        h.process(("a", 2), ts=2)
        assert h.output() == ["a 0-10: 1", "a 0-10: 1 2"]
        h.watermark(19)
        assert_nothing_left(h)


def test_continuous_event_time_trigger_on_sessions() -> None:
    trigger = ContinuousEventTimeTrigger.of(10)
    with window_harness(EventTimeSessionWindows.with_gap(8), trigger=trigger) as h:
        h.process(("a", 1), ts=1)
        h.process(("a", 2), ts=15)
        h.process(("a", 3), ts=8)
        h.watermark(10)
        assert h.output() == ["a 1-23: 1 2 3"]
        h.watermark(22)
        assert h.output() == ["a 1-23: 1 2 3"] * 2
        h.end_input()
        assert h.output() == []
        assert_nothing_left(h)


def test_continuous_processing_time_trigger() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(4)
    with window_harness(TumblingProcessingTimeWindows.of(10), trigger=trigger) as h:
        h.advance_time(1)
        h.process(("a", 1))
        h.advance_time(3)
        assert h.output() == ["a 0-10: 1"]
        h.snapshot_and_restore()
        h.advance_time(4)
        assert h.output() == ["a 0-10: 1"]
        h.process(("a", 2))
        h.advance_time(1)
        assert h.output() == ["a 0-10: 1 2"]
        assert_nothing_left(h)


def test_a_processing_time_fallback_when_event_time_stands_still() -> None:
    """The seed's other example: at night no record moves the watermark, but the window closes."""
    trigger = ProcessingTimeoutTrigger.of(EventTimeTrigger(), 60_000)
    with window_harness(TumblingEventTimeWindows.of(10_000), trigger=trigger) as h:
        h.process(("a", 1), ts=500)
        h.watermark(600)
        h.advance_time(59_999)
        assert h.output() == []
        h.advance_time(1)
        assert h.output() == ["a 0-10000: 1"]
        h.watermark(10_000)
        assert_nothing_left(h)


def test_timeout_trigger_is_cancelled_when_the_window_fires() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(2), 50)
    with window_harness(GlobalWindows.create(), trigger=PurgingTrigger.of(trigger)) as h:
        h.process_many([("a", 1), ("a", 2)])
        assert h.output() == ["a all: 1 2"]
        assert_nothing_left(h)
        h.process(("a", 3))
        h.advance_time(49)
        assert h.output() == []
        h.advance_time(1)
        assert h.output() == ["a all: 3"]
        assert_nothing_left(h)


def test_timeout_trigger_that_starts_again_with_each_record() -> None:
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(9), 50, reset_timer_on_new_record=True)
    with window_harness(GlobalWindows.create(), trigger=trigger) as h:
        h.process(("a", 1))
        h.advance_time(40)
        h.process(("a", 2))
        h.advance_time(40)
        assert h.output() == []
        h.advance_time(10)
        assert h.output() == ["a all: 1 2"]


def test_count_trigger_keeps_the_content_and_a_purging_one_does_not() -> None:
    for trigger, second in [
        (CountTrigger.of(2), "a 0-10: 1 2 3 4"),
        (PurgingTrigger.of(CountTrigger.of(2)), "a 0-10: 3 4"),
    ]:
        with window_harness(trigger=trigger) as h:
            h.process_many([("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 5)], ts=[1] * 6)
            assert h.output() == ["a 0-10: 1 2", second]
            h.watermark(9)
            assert h.output() == []  # What has come since is lost, as in Flink.
            assert_nothing_left(h)


def test_count_trigger_adds_up_when_sessions_merge() -> None:
    with window_harness(EventTimeSessionWindows.with_gap(5), trigger=CountTrigger.of(3)) as h:
        h.process(("a", 1), ts=0)
        h.process(("a", 2), ts=8)
        h.snapshot_and_restore(parallelism=2)
        h.process(("a", 3), ts=4)
        assert h.output() == ["a 0-13: 1 2 3"]
        h.watermark(12)
        assert_nothing_left(h)


def test_delta_trigger() -> None:
    trigger = DeltaTrigger.of(3, lambda old, new: new[1] - old[1], Types.PICKLED_BYTE_ARRAY())
    with window_harness(trigger=trigger) as h:
        h.process_many([("a", 1), ("a", 4), ("a", 5), ("a", 8), ("a", 9)], ts=[1] * 5)
        assert h.output() == ["a 0-10: 1 4 5", "a 0-10: 1 4 5 8 9"]
        h.watermark(9)
        assert_nothing_left(h)


def test_purging_trigger_drops_the_window_content_at_its_end_only_once() -> None:
    trigger = PurgingTrigger.of(EventTimeTrigger())
    with window_harness(trigger=trigger, allowed_lateness_ms=10) as h:
        h.process(("a", 1), ts=1)
        h.watermark(10)
        h.process(("a", 2), ts=2)
        assert h.output() == ["a 0-10: 1", "a 0-10: 2"]
        h.watermark(19)
        assert_nothing_left(h)


class Scripted(Trigger[Any, Any]):
    """Does what the value of a record says, and keeps a count in state."""

    seen = ValueStateDescriptor("seen", Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        seen = ctx.get_partitioned_state(self.seen)
        seen.update((seen.value() or 0) + 1)
        ctx.register_event_time_timer(5)
        ctx.register_processing_time_timer(7)
        return TriggerResult[element[1]]

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.PURGE if time == 5 else TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.seen).clear()
        ctx.delete_processing_time_timer(7)


def test_a_trigger_of_the_user() -> None:
    with window_harness(trigger=Scripted()) as h:
        h.process_many([("a", "CONTINUE"), ("a", "FIRE"), ("b", "CONTINUE")], ts=[1, 2, 3])
        assert h.output() == ["a 0-10: CONTINUE FIRE"]
        assert set(h.state("trigger-seen").values()) == {1, 2}
        h.process(("a", "FIRE_AND_PURGE"), ts=4)
        assert h.output() == ["a 0-10: CONTINUE FIRE FIRE_AND_PURGE"]
        h.process(("a", "CONTINUE"), ts=4)
        h.snapshot_and_restore(parallelism=3)
        h.advance_time(7)
        assert sorted(h.output()) == ["a 0-10: CONTINUE", "b 0-10: CONTINUE"]
        h.process(("a", "PURGE"), ts=4)
        h.process(("a", "FIRE"), ts=4)
        assert h.output() == ["a 0-10: FIRE"]
        h.watermark(5)
        h.process(("b", "FIRE"), ts=6)
        assert h.output() == ["b 0-10: FIRE"]
        h.watermark(9)
        assert_nothing_left(h)


def test_timers_that_a_trigger_deletes_do_not_fire() -> None:
    with window_harness(trigger=Scripted()) as h:
        h.process(("a", "CONTINUE"), ts=1)
        h.watermark(9)
        h.advance_time(100)
        assert h.output() == []
        assert_nothing_left(h)


class Merging(Scripted):
    """Counts in state that can be merged, and says what it saw."""

    total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self.total).add(element[1])
        fire = ctx.get_partitioned_state(self.total).get() >= 100
        return TriggerResult.FIRE_AND_PURGE if fire else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.total)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.total).clear()


def test_a_trigger_of_the_user_merges_its_state() -> None:
    with window_harness(EventTimeSessionWindows.with_gap(5), trigger=Merging()) as h:
        h.process(("a", 40), ts=0)
        h.process(("a", 50), ts=9)
        assert h.output() == []
        h.process(("a", 10), ts=4)
        assert h.output() == ["a 0-14: 40 50 10"]
        h.watermark(13)
        assert_nothing_left(h)


def test_trigger_state_that_cannot_be_merged_is_refused() -> None:
    class Wrong(Merging):
        def on_merge(self, window: Any, ctx: Any) -> None:
            ctx.merge_partitioned_state(self.seen)

    with window_harness(EventTimeSessionWindows.with_gap(5), trigger=Wrong()) as h:
        h.process(("a", 1), ts=0)
        with pytest.raises(Exception, match="'seen' cannot be merged"):
            h.process(("a", 1), ts=3)


@pytest.mark.parametrize("method", ["on_element", "on_event_time", "on_processing_time"])
def test_a_trigger_that_returns_nothing_is_named(method: str) -> None:
    forgetful = type("Forgetful", (Scripted,), {method: lambda self, *arguments: None})

    def run() -> None:
        with window_harness(trigger=forgetful()) as h:
            h.process(("a", "CONTINUE"), ts=1)
            h.advance_time(20)
            h.watermark(20)

    with pytest.raises(TypeError, match="Forgetful returned None; a trigger must return a Trigger"):
        run()


def test_end_of_stream_trigger() -> None:
    with window_harness(GlobalWindows.create_with_end_of_stream_trigger()) as h:
        h.process_many([("a", 1), ("a", 2)], ts=[5, 1])
        h.watermark(1_000)
        assert h.output() == []
        h.end_input()
        assert h.output() == ["a all: 1 2"]
