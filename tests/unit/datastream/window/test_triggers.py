"""Triggers: when windows fire, what merging does, and that clear leaves nothing behind."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.constants import MAX_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaFunction,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    GlobalWindow,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from tests.unit.datastream.window.fake_window_context import FakeWindows

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
W = TimeWindow(0, 100)


def distance(old, new):
    return abs(new - old)


def test_trigger_results():
    assert [r.is_fire() for r in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [0, 1, 0, 1]
    assert [r.is_purge() for r in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [0, 0, 1, 1]


def test_event_time_fires_at_the_end_and_for_late_records():
    ctx = FakeWindows(EventTimeTrigger.create())
    assert ctx.element(W) is CONTINUE
    assert ctx.advance_watermark(98) == []
    assert ctx.advance_watermark(99) == [(99, W, FIRE)]
    assert ctx.element(W) is FIRE
    assert ctx.trigger.on_event_time(120, W, ctx) is CONTINUE
    assert ctx.trigger.on_processing_time(99, W, ctx) is CONTINUE


def test_event_time_clear_deletes_the_timer():
    ctx = FakeWindows(EventTimeTrigger())
    ctx.element(W)
    ctx.clear(W)
    assert ctx.event_timers == set()


def test_event_time_merge_sets_a_timer_only_for_the_future():
    merged = TimeWindow(0, 150)
    ctx = FakeWindows(EventTimeTrigger())
    assert ctx.trigger.can_merge()
    ctx.element(W)
    ctx.merge([W, TimeWindow(90, 150)], merged)
    assert ctx.event_timers == {(149, merged)}
    ctx = FakeWindows(EventTimeTrigger())
    ctx.watermark = 149
    ctx.merge([W], merged)
    assert ctx.event_timers == set()


def test_processing_time_fires_once_at_the_end():
    ctx = FakeWindows(ProcessingTimeTrigger.create())
    assert ctx.element(W) is CONTINUE
    assert ctx.advance_time(99) == [(99, W, FIRE)]
    assert ctx.trigger.on_event_time(99, W, ctx) is CONTINUE
    ctx.element(W)
    ctx.clear(W)
    assert ctx.processing_timers == set()


def test_processing_time_merge_sets_a_timer_only_for_the_future():
    merged = TimeWindow(0, 150)
    ctx = FakeWindows(ProcessingTimeTrigger())
    assert ctx.trigger.can_merge()
    ctx.merge([W], merged)
    assert ctx.processing_timers == {(149, merged)}
    ctx = FakeWindows(ProcessingTimeTrigger())
    ctx.now = 149
    ctx.merge([W], merged)
    assert ctx.processing_timers == set()


def test_continuous_event_time_fires_at_multiples_and_at_the_end():
    ctx = FakeWindows(ContinuousEventTimeTrigger.of(Time.milliseconds(40)))
    assert ctx.element(W, timestamp=5) is CONTINUE
    assert ctx.element(W, timestamp=50) is CONTINUE
    assert ctx.event_timers == {(40, W), (99, W)}
    fired = ctx.advance_watermark(200)
    assert fired == [(40, W, FIRE), (80, W, FIRE), (99, W, FIRE)]
    assert ctx.element(W, timestamp=5) is FIRE
    assert ctx.trigger.on_processing_time(40, W, ctx) is CONTINUE


def test_continuous_event_time_ignores_a_timer_that_is_not_its_own():
    ctx = FakeWindows(ContinuousEventTimeTrigger(40))
    ctx.element(W, timestamp=5)
    assert ctx.trigger.on_event_time(41, W, ctx) is CONTINUE
    assert (40, W) in ctx.event_timers


def test_continuous_event_time_clear_keeps_the_end_timer_as_flink_does():
    ctx = FakeWindows(ContinuousEventTimeTrigger(40))
    ctx.element(W, timestamp=5)
    ctx.clear(W)
    assert ctx.state == {}
    assert ctx.event_timers == {(99, W)}


def test_continuous_event_time_merge_takes_the_earliest_fire_time():
    ctx = FakeWindows(ContinuousEventTimeTrigger(40))
    a, b, merged = TimeWindow(0, 50), TimeWindow(45, 95), TimeWindow(0, 95)
    ctx.element(a, timestamp=0)
    ctx.element(b, timestamp=45)
    ctx.merge([a, b], merged)
    assert (40, merged) in ctx.event_timers
    assert ctx.state == {("fire-time", merged): 40}


def test_continuous_merge_without_fire_time_sets_no_timer():
    ctx = FakeWindows(ContinuousEventTimeTrigger(40))
    ctx.merge([W], TimeWindow(0, 150))
    assert ctx.event_timers == set()


def test_continuous_processing_time_fires_at_multiples_and_once_at_the_end():
    ctx = FakeWindows(ContinuousProcessingTimeTrigger.of(Duration.of_millis(40)))
    ctx.now = 5
    assert ctx.element(W, timestamp=77) is CONTINUE
    assert ctx.advance_time(300) == [(40, W, FIRE), (80, W, FIRE), (99, W, FIRE)]
    assert ctx.trigger.on_event_time(99, W, ctx) is CONTINUE


def test_continuous_processing_time_merge_and_clear():
    ctx = FakeWindows(ContinuousProcessingTimeTrigger(40))
    a, merged = TimeWindow(0, 50), TimeWindow(0, 95)
    ctx.element(a)
    assert ctx.trigger.can_merge()
    ctx.merge([a], merged)
    assert (40, merged) in ctx.processing_timers
    ctx.clear(merged)
    assert ctx.state == {}
    assert (40, merged) not in ctx.processing_timers
    assert ctx.trigger.on_processing_time(40, a, ctx) is CONTINUE


@pytest.mark.parametrize(
    "kind", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger], ids=lambda k: k.__name__
)
def test_continuous_triggers_need_a_positive_interval(kind):
    with pytest.raises(GraphError, match="at least one millisecond"):
        kind.of(Time.milliseconds(0))
    assert kind.of(Time.seconds(1)).interval == 1000


def test_count_fires_every_so_many_records():
    ctx = FakeWindows(CountTrigger.of(3))
    assert [ctx.element(W) for _ in range(7)] == [CONTINUE, CONTINUE, FIRE] * 2 + [CONTINUE]
    assert ctx.trigger.get_max_count() == 3
    assert ctx.trigger.on_event_time(1, W, ctx) is CONTINUE
    assert ctx.trigger.on_processing_time(1, W, ctx) is CONTINUE
    ctx.clear(W)
    assert ctx.state == {}


def test_count_merges_by_adding():
    ctx = FakeWindows(CountTrigger.of(4))
    a, b, merged = TimeWindow(0, 10), TimeWindow(5, 15), TimeWindow(0, 15)
    ctx.element(a)
    ctx.element(a)
    ctx.element(b)
    assert ctx.trigger.can_merge()
    ctx.merge([a, b], merged)
    assert ctx.element(merged) is FIRE


def test_count_refuses_wrong_numbers():
    with pytest.raises(GraphError):
        CountTrigger.of(0)
    with pytest.raises(FunctionTypeError):
        CountTrigger.of("3")


def test_delta_fires_beyond_the_threshold_and_moves_on():
    class Distance(DeltaFunction):
        def get_delta(self, old_data_point, new_data_point):
            return distance(old_data_point, new_data_point)

    for function in (Distance(), distance):
        ctx = FakeWindows(DeltaTrigger.of(10, function))
        results = [ctx.element(W, element=e) for e in (0, 10, 11, 20, 22)]
        assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE]
        ctx.clear(W)
        assert ctx.state == {}
    assert not ctx.trigger.can_merge()
    with pytest.raises(GraphError, match="merge"):
        ctx.merge([W], W)
    with pytest.raises(FunctionTypeError):
        DeltaTrigger.of(1, Distance)


def test_purging_purges_when_the_nested_trigger_fires():
    ctx = FakeWindows(PurgingTrigger.of(CountTrigger.of(2)))
    assert [ctx.element(W) for _ in range(4)] == [CONTINUE, FIRE_AND_PURGE] * 2
    ctx.clear(W)
    assert ctx.state == {}
    ctx = FakeWindows(PurgingTrigger(EventTimeTrigger()))
    ctx.element(W)
    assert ctx.trigger.can_merge()
    ctx.merge([W], TimeWindow(0, 150))
    assert ctx.advance_watermark(149) == [(149, TimeWindow(0, 150), FIRE_AND_PURGE)]
    ctx = FakeWindows(PurgingTrigger(ProcessingTimeTrigger()))
    ctx.element(W)
    assert ctx.advance_time(99) == [(99, W, FIRE_AND_PURGE)]
    assert not PurgingTrigger(NeverTrigger()).can_merge()


@pytest.mark.parametrize("wrap", [PurgingTrigger.of, lambda t: ProcessingTimeoutTrigger.of(t, 1)])
def test_nesting_triggers_need_a_trigger(wrap):
    for wrong in (None, CountTrigger, 3):
        with pytest.raises(FunctionTypeError):
            wrap(wrong)


def test_timeout_counts_from_the_first_record():
    ctx = FakeWindows(ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(50)))
    ctx.element(W)
    ctx.advance_time(30)
    ctx.element(W)
    assert ctx.advance_time(100) == [(50, W, FIRE)]
    assert ctx.state == {}
    assert [ctx.element(W) for _ in range(3)] == [CONTINUE, CONTINUE, FIRE]
    assert ctx.processing_timers == set()
    assert ctx.state == {}


def test_timeout_may_count_from_the_last_record():
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(9), Time.milliseconds(50), True)
    ctx = FakeWindows(trigger)
    ctx.element(W)
    ctx.advance_time(30)
    ctx.element(W)
    assert ctx.processing_timers == {(80, W)}
    assert ctx.advance_time(100) == [(80, W, FIRE)]


def test_timeout_may_keep_the_nested_state():
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(50), False, False)
    ctx = FakeWindows(trigger)
    ctx.element(W)
    ctx.element(W)
    assert ctx.advance_time(60) == [(50, W, FIRE)]
    assert ctx.element(W) is FIRE


def test_timeout_keeps_the_purge_of_the_nested_trigger():
    nested = PurgingTrigger.of(EventTimeTrigger())
    ctx = FakeWindows(ProcessingTimeoutTrigger.of(nested, Time.milliseconds(50)))
    ctx.element(W)
    assert ctx.advance_watermark(99) == [(99, W, FIRE_AND_PURGE)]
    assert ctx.processing_timers == set()
    assert not ctx.trigger.can_merge()
    with pytest.raises(GraphError):
        ProcessingTimeoutTrigger.of(nested, Time.milliseconds(0))


def test_never_and_end_of_stream():
    window = GlobalWindow.get()
    ctx = FakeWindows(NeverTrigger())
    assert ctx.element(window) is CONTINUE
    assert ctx.advance_watermark(MAX_LONG_VALUE) == []
    ctx.merge([window], window)
    ctx = FakeWindows(EndOfStreamTrigger())
    assert ctx.element(window) is CONTINUE
    assert ctx.trigger.on_event_time(5, window, ctx) is CONTINUE
    assert ctx.advance_watermark(MAX_LONG_VALUE) == [(MAX_LONG_VALUE, window, FIRE)]
    ctx.merge([window], window)


def test_a_trigger_of_ones_own_does_not_merge_unless_it_says_so():
    class Always(Trigger):
        def on_element(self, element, timestamp, window, ctx):
            return FIRE

        def on_processing_time(self, time, window, ctx):
            return CONTINUE

        def on_event_time(self, time, window, ctx):
            return CONTINUE

        def clear(self, window, ctx): ...

    assert not Always().can_merge()
    with pytest.raises(GraphError, match=r"Always\(\) does not support merging windows"):
        Always().on_merge(W, None)


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        (EventTimeTrigger(), "EventTimeTrigger()"),
        (ContinuousEventTimeTrigger(5), "ContinuousEventTimeTrigger(5)"),
        (CountTrigger(2), "CountTrigger(2)"),
        (PurgingTrigger(CountTrigger(2)), "PurgingTrigger(CountTrigger(2))"),
        (
            ProcessingTimeoutTrigger(NeverTrigger(), 7),
            "ProcessingTimeoutTrigger(NeverTrigger(), 7)",
        ),
    ],
)
def test_triggers_are_picklable_and_readable(trigger, text):
    assert repr(pickle.loads(pickle.dumps(trigger))) == text


def test_a_delta_trigger_is_picklable():
    trigger = DeltaTrigger(1, distance)
    assert "DeltaTrigger" in repr(trigger)
    ctx = FakeWindows(pickle.loads(pickle.dumps(trigger)))
    assert [ctx.element(W, element=e) for e in (0, 5)] == [CONTINUE, FIRE]
