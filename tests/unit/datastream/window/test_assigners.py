"""Window assigners: which windows a record gets, and what is refused when one is made."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time
from headrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from tests.unit.datastream.window.fake_window_context import FakeWindows

TIMES = st.integers(-(10**12), 10**12)
SPANS = st.integers(1, 10**6)


def assign(assigner, timestamp=0, element=None, now=0):
    context = FakeWindows()
    context.now = now
    return list(assigner.assign_windows(element, timestamp, context))


@pytest.mark.parametrize("size", [Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5)])
def test_sizes_come_in_all_forms_of_time(size):
    assert assign(TumblingEventTimeWindows.of(size), 5001) == [TimeWindow(5000, 10000)]
    assert assign(TumblingProcessingTimeWindows.of(size), now=5001) == [TimeWindow(5000, 10000)]


def test_tumbling_with_offset():
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(3))
    assert assign(assigner, 2) == [TimeWindow(-7, 3)]
    assert assign(assigner, 3) == [TimeWindow(3, 13)]
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(-3))
    assert assign(assigner, 6) == [TimeWindow(-3, 7)]
    assert (assigner.size, assigner.offset, assigner.get_size()) == (10, -3, 10)


def test_sliding_lists_the_latest_window_first():
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    assert assign(assigner, 12) == [TimeWindow(10, 20), TimeWindow(5, 15)]
    assert assign(assigner, -1) == [TimeWindow(-5, 5), TimeWindow(-10, 0)]
    processing = SlidingProcessingTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    assert assign(processing, now=12) == [TimeWindow(10, 20), TimeWindow(5, 15)]


def test_a_slide_longer_than_the_size_leaves_gaps():
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(5))
    assert assign(assigner, 6) == [TimeWindow(5, 7)]
    assert assign(assigner, 7) == []


@given(TIMES, SPANS, SPANS, st.data())
def test_sliding_windows_are_exactly_those_that_contain_the_timestamp(time, size, slide, data):
    slide = max(slide, size // 50 + 1)
    offset = data.draw(st.integers(-slide + 1, slide - 1))
    windows = assign(SlidingEventTimeWindows(size, slide, offset), time)
    first = (time - size - offset) // slide
    naive = [
        TimeWindow(s, s + size)
        for s in (i * slide + offset for i in range(first - 1, first + size // slide + 4))
        if s <= time < s + size
    ]
    assert sorted(windows) == naive


@given(TIMES, SPANS, st.data())
def test_tumbling_is_sliding_by_its_size(time, size, data):
    offset = data.draw(st.integers(-size + 1, size - 1))
    tumbling = TumblingEventTimeWindows(size, offset)
    assert assign(tumbling, time) == assign(SlidingEventTimeWindows(size, size, offset), time)


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
def test_tumbling_refuses_what_makes_no_windows(kind):
    for size, offset in ((0, 0), (-1, 0), (10, 10), (10, -10)):
        with pytest.raises(GraphError):
            kind(size, offset)
    with pytest.raises(GraphError, match="2 ms"):
        kind.of(Time.milliseconds(10), Time.milliseconds(12))
    with pytest.raises(FunctionTypeError):
        kind.of("10 s")
    with pytest.raises(FunctionTypeError, match="WindowStagger"):
        kind.of(Time.seconds(1), None, "RANDOM")


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
def test_sliding_refuses_what_makes_no_windows(kind):
    for size, slide, offset in ((0, 5, 0), (5, 0, 0), (5, -1, 0), (10, 5, 5), (10, 5, -5)):
        with pytest.raises(GraphError):
            kind(size, slide, offset)
    with pytest.raises(GraphError, match="longer slide"):
        kind(20_000_000_000, 1)
    assigner = kind(10, 5, 4)
    assert (assigner.size, assigner.slide, assigner.offset) == (10, 5, 4)
    assert (assigner.get_size(), assigner.get_slide()) == (10, 5)


def test_natural_stagger_starts_with_the_first_record_and_stays():
    assigner = TumblingProcessingTimeWindows.of(
        Time.milliseconds(10), window_stagger=WindowStagger.NATURAL
    )
    assert assign(assigner, now=13) == [TimeWindow(13, 23)]
    assert assign(assigner, now=25) == [TimeWindow(23, 33)]


def test_random_stagger_is_drawn_once():
    assigner = TumblingEventTimeWindows.of(Time.days(1), Time.hours(1), WindowStagger.RANDOM)
    (first,) = assign(assigner, 10**12)
    assert assign(assigner, 10**12) == [first]
    assert first.start <= 10**12 < first.end
    assert 0 <= WindowStagger.RANDOM.get_stagger_offset(5, 10) < 10
    assert WindowStagger.ALIGNED.get_stagger_offset(5, 10) == 0


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.seconds(1)),
        SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)),
        EventTimeSessionWindows.with_gap(Time.seconds(1)),
        EventTimeSessionWindows.with_dynamic_gap(lambda e: 1),
    ],
)
@pytest.mark.parametrize("missing", [None, MIN_LONG_VALUE])
def test_event_time_needs_timestamps(assigner, missing):
    with pytest.raises(GraphError, match="assign_timestamps_and_watermarks"):
        assign(assigner, missing)


def test_sessions():
    assert assign(EventTimeSessionWindows.with_gap(Time.milliseconds(5)), 7) == [TimeWindow(7, 12)]
    processing = ProcessingTimeSessionWindows.with_gap(Duration.of_millis(5))
    assert assign(processing, now=7) == [TimeWindow(7, 12)]
    assert processing.session_gap == 5
    for kind in (EventTimeSessionWindows, ProcessingTimeSessionWindows):
        with pytest.raises(GraphError):
            kind.with_gap(Time.milliseconds(0))


class GapOf(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element


def test_dynamic_sessions():
    event = EventTimeSessionWindows.with_dynamic_gap(GapOf())
    assert isinstance(event, DynamicEventTimeSessionWindows)
    assert assign(event, 7, element=3) == [TimeWindow(7, 10)]
    processing = ProcessingTimeSessionWindows.with_dynamic_gap(lambda e: Time.milliseconds(e))
    assert isinstance(processing, DynamicProcessingTimeSessionWindows)
    assert assign(processing, element=3, now=7) == [TimeWindow(7, 10)]
    with pytest.raises(GraphError, match="returned 0"):
        assign(event, 7, element=0)
    for wrong in (3, GapOf):
        with pytest.raises(FunctionTypeError):
            DynamicEventTimeSessionWindows.with_dynamic_gap(wrong)
    assert DynamicProcessingTimeSessionWindows.with_dynamic_gap(GapOf()).is_event_time() is False


def test_session_assigners_merge():
    calls = []

    class Callback(MergingWindowAssigner.MergeCallback):
        def merge(self, to_be_merged, merge_result):
            calls.append(merge_result)

    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    assert isinstance(assigner, MergingWindowAssigner)
    assigner.merge_windows([TimeWindow(0, 5), TimeWindow(5, 10)], Callback())
    assert calls == [TimeWindow(0, 10)]


def test_count_tumbling():
    context = FakeWindows()
    assigner = CountTumblingWindowAssigner.of(2)
    ids = [assigner.assign_windows(None, 0, context)[0].id for _ in range(5)]
    assert ids == [0, 0, 1, 1, 2]
    assert assigner.window_size == 2


@given(st.integers(1, 8), st.integers(1, 8))
def test_count_sliding_windows_hold_consecutive_records(size, slide):
    context = FakeWindows()
    assigner = CountSlidingWindowAssigner.of(size, slide)
    content = {}
    for number in range(30):
        windows = assigner.assign_windows(None, 0, context)
        assert windows == sorted(windows, reverse=True)
        for window in windows:
            content.setdefault(window.id, []).append(number)
    for number, records in content.items():
        assert records == list(range(number * slide, min(number * slide + size, 30)))


def test_count_assigners_refuse_wrong_sizes():
    for wrong in (0, -1):
        with pytest.raises(GraphError):
            CountTumblingWindowAssigner.of(wrong)
        with pytest.raises(GraphError):
            CountSlidingWindowAssigner.of(3, wrong)
    with pytest.raises(FunctionTypeError):
        CountTumblingWindowAssigner.of(1.5)


def test_global_windows():
    assert assign(GlobalWindows.create()) == [GlobalWindow.get()]
    assert isinstance(GlobalWindows.create().get_default_trigger(), NeverTrigger)
    bounded = GlobalWindows.create_with_end_of_stream_trigger()
    assert isinstance(bounded.get_default_trigger(), EndOfStreamTrigger)
    assert GlobalWindows.NeverTrigger is NeverTrigger


def test_default_triggers_and_time_domains():
    event = [
        TumblingEventTimeWindows(1),
        SlidingEventTimeWindows(1, 1),
        EventTimeSessionWindows(1),
        DynamicEventTimeSessionWindows(GapOf()),
    ]
    processing = [
        TumblingProcessingTimeWindows(1),
        SlidingProcessingTimeWindows(1, 1),
        ProcessingTimeSessionWindows(1),
        DynamicProcessingTimeSessionWindows(GapOf()),
    ]
    for assigner in event:
        assert isinstance(assigner.get_default_trigger(None), EventTimeTrigger)
        assert assigner.is_event_time()
    for assigner in processing:
        assert isinstance(assigner.get_default_trigger(None), ProcessingTimeTrigger)
        assert not assigner.is_event_time()
    for assigner in event + processing:
        assert assigner.get_window_serializer() == TimeWindowSerializer()
    trigger = CountTumblingWindowAssigner.of(3).get_default_trigger()
    assert isinstance(trigger, PurgingTrigger)
    assert isinstance(trigger.get_nested_trigger(), CountTrigger)
    for assigner in (CountTumblingWindowAssigner.of(1), GlobalWindows.create()):
        assert not assigner.is_event_time()
        assert assigner.get_window_serializer() is not None


@pytest.mark.parametrize(
    ("assigner", "text"),
    [
        (TumblingEventTimeWindows.of(Time.seconds(1)), "TumblingEventTimeWindows(1000, 0)"),
        (SlidingProcessingTimeWindows(3, 2, 1), "SlidingProcessingTimeWindows(3, 2, 1)"),
        (EventTimeSessionWindows(5), "EventTimeSessionWindows(5)"),
        (DynamicEventTimeSessionWindows(GapOf()), "DynamicEventTimeSessionWindows()"),
        (CountTumblingWindowAssigner.of(2), "CountTumblingWindowAssigner(2)"),
        (CountSlidingWindowAssigner.of(2, 1), "CountSlidingWindowAssigner(2, 1)"),
        (GlobalWindows.create(), "GlobalWindows()"),
    ],
)
def test_assigners_are_picklable_and_readable(assigner, text):
    assert repr(assigner) == text
    assert repr(pickle.loads(pickle.dumps(assigner))) == text


def test_global_assignment_survives_pickling():
    assigner = pickle.loads(pickle.dumps(GlobalWindows.create()))
    assert assign(assigner)[0] is GlobalWindow.get()
    assert CountWindow(1) in {CountWindow(1)}
