"""Bad input has a clear error at the right moment, or a documented behaviour."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.errors import (
    FunctionTypeError,
    GraphError,
    JobExecutionError,
    StateError,
    StateMigrationError,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.aggregates import Count, Sum
from headrace.datastream.window import (
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.graph.specs import WindowSpec
from headrace.testing import collect, keyed_harness
from tests.unit.runtime.operators.window.test_sessions import ByDay
from tests.unit.runtime.operators.window.windows import Values, window_harness


class GeneralTrigger(EventTimeTrigger):
    """The usual trigger, in the general operator."""


@pytest.fixture
def keyed() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([("a", 1), ("b", 2)]).key_by(lambda record: record[0])


ASSIGNERS = [
    TumblingEventTimeWindows.of(10),
    SlidingEventTimeWindows.of(10, 5),
    EventTimeSessionWindows.with_gap(10),
    EventTimeSessionWindows.with_dynamic_gap(lambda record: 10),
]


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("trigger", [EventTimeTrigger(), GeneralTrigger()], ids=["fast", "general"])
@pytest.mark.parametrize("stamps", [[None, None], [1, None], [1, -(1 << 63)]])
def test_a_record_without_timestamp(assigner: Any, trigger: Any, stamps: Any) -> None:
    with window_harness(assigner, trigger=trigger) as h:
        with pytest.raises(GraphError, match="call assign_timestamps_and_watermarks") as caught:
            h.process_many([("a", 1), ("b", 2)], ts=stamps)
        shown = "('a', 1)" if stamps[0] is None else "('b', 2)"
        assert shown in caught.value.__notes__[0]


def test_a_record_without_timestamp_in_a_job(keyed: Any) -> None:
    with pytest.raises(JobExecutionError, match="A record without a timestamp reached Tumbling"):
        collect(keyed.window(TumblingEventTimeWindows.of(10)).process(Values()))


def test_timestamps_are_not_needed_by_other_windows() -> None:
    with window_harness(TumblingProcessingTimeWindows.of(10)) as h:
        h.process(("a", 1))
        h.advance_time(9)
        assert h.output() == ["a 0-10: 1"]
    with window_harness(GlobalWindows.create(), trigger=CountTrigger.of(1)) as h:
        h.process(("a", 1))
        assert h.output() == ["a all: 1"]


@pytest.mark.parametrize("wrong", [None, "12", 1.5, object()])
def test_a_timestamp_that_is_none_or_no_number(wrong: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stamped = env.from_collection([("a", 1)]).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, before: None if wrong is None else wrong)
    )
    windows = stamped.key_by(lambda record: record[0]).window(TumblingEventTimeWindows.of(10))
    if isinstance(wrong, int | float | str | None):
        with pytest.raises(JobExecutionError, match="it must return milliseconds as an int"):
            collect(windows.process(Values()))


def test_negative_timestamps_are_times_before_1970() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    stamped = env.from_collection([("a", -1), ("a", -10), ("a", -11)])
    windows = stamped.assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda record, before: record[1])
    )
    results = collect(
        windows.key_by(lambda record: record[0])
        .window(TumblingEventTimeWindows.of(10))
        .process(Values())
    )
    assert results == ["a -20--10: -11", "a -10-0: -1 -10"]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: TumblingEventTimeWindows.of(0), "needs a size of at least one millisecond"),
        (lambda: TumblingEventTimeWindows.of(-5), "needs a size of at least one millisecond"),
        (lambda: SlidingEventTimeWindows.of(10, 0), "needs a slide of at least one millisecond"),
        (lambda: EventTimeSessionWindows.with_gap(0), "needs a gap of at least one millisecond"),
        (lambda: TumblingEventTimeWindows.of(10, 10), "must satisfy abs\\(offset\\) < size"),
        (lambda: CountTrigger.of(0), "positive number"),
    ],
)
def test_sizes_that_make_no_window(make: Any, text: str) -> None:
    with pytest.raises(GraphError, match=text):
        make()


def test_a_slide_longer_than_the_size_is_allowed() -> None:
    with window_harness(SlidingEventTimeWindows.of(3, 10)) as h:
        h.process_many([("a", n) for n in range(25)], ts=range(25))
        h.end_input()
        assert h.output() == ["a 0-3: 0 1 2", "a 10-13: 10 11 12", "a 20-23: 20 21 22"]


def test_a_gap_of_a_record_that_is_no_gap() -> None:
    with (
        window_harness(EventTimeSessionWindows.with_dynamic_gap(lambda record: 0)) as h,
        pytest.raises(GraphError, match=r"gap of .* must be at least one millisecond"),
    ):
        h.process(("a", 1), ts=1)


def test_settings_of_a_window_are_checked_where_they_are_made(keyed: Any) -> None:
    windows = keyed.window(TumblingEventTimeWindows.of(10))
    with pytest.raises(GraphError, match="lateness cannot be negative"):
        windows.allowed_lateness(-1)
    with pytest.raises(FunctionTypeError, match="takes a Trigger"):
        windows.trigger("often")
    with pytest.raises(FunctionTypeError, match="takes an Evictor"):
        windows.evictor(3)
    with pytest.raises(FunctionTypeError, match="takes an OutputTag"):
        windows.side_output_late_data("late")
    with pytest.raises(FunctionTypeError, match="needs a WindowAssigner"):
        keyed.window(Duration.of_seconds(10))
    with pytest.raises(FunctionTypeError):
        windows.process(lambda key, context, elements: [])
    with pytest.raises(FunctionTypeError):
        windows.aggregate(lambda a, b: a)


def test_a_trigger_that_cannot_merge_is_refused_for_sessions(keyed: Any) -> None:
    trigger = DeltaTrigger.of(3, lambda old, new: 1, Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(GraphError, match="a trigger that does not support merging"):
        keyed.window(EventTimeSessionWindows.with_gap(5)).trigger(trigger)


def test_a_default_trigger_that_cannot_merge_is_refused(keyed: Any) -> None:
    class Wrong(ByDay):
        def get_default_trigger(self, env: Any = None) -> Any:
            return DeltaTrigger.of(3, lambda old, new: 1, Types.PICKLED_BYTE_ARRAY())

    with pytest.raises(GraphError, match="a trigger that does not support merging"):
        keyed.window(Wrong()).process(Values())

    class Silent(EventTimeTrigger):
        def can_merge(self) -> bool:
            return False

        def on_merge(self, window: Any, ctx: Any) -> None:
            pass

    class Right(ByDay):
        def get_default_trigger(self, env: Any = None) -> Any:
            return Silent()

    keyed.window(Right()).process(Values())


@pytest.mark.parametrize("trigger", [EventTimeTrigger(), GeneralTrigger()], ids=["fast", "general"])
def test_none_as_a_record(trigger: Any) -> None:
    """It cannot be kept in a list; for aggregates it empties the window, as in Flink."""
    for parts, results in [({"aggregate": Count()}, [1]), ({"function": Values()}, None)]:
        window = WindowSpec(TumblingEventTimeWindows.of(10), trigger, **parts)
        with keyed_harness(window, key=lambda record: "k") as h:
            h.process(1, ts=1)
            if results is None:
                with pytest.raises(StateError, match=r"None .* filter\(lambda record"):
                    h.process(None, ts=1)
            else:
                h.process_many([None, 2], ts=[1, 1])
                h.watermark(9)
                assert h.output() == results


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"allowed_lateness_ms": 5}),
        ({"allowed_lateness_ms": 5}, {}),
        ({"assigner": SlidingEventTimeWindows.of(10, 5)}, {"trigger": GeneralTrigger()}),
    ],
)
def test_state_of_another_kind_of_window_is_refused(before: Any, after: Any) -> None:
    with window_harness(aggregate=Sum(1), **before) as h:
        h.process(("a", 1), ts=1)
        saved = h.snapshot()
    with (
        window_harness(aggregate=Sum(1), **after) as h,
        pytest.raises(StateMigrationError, match="were saved with another kind of window"),
    ):
        h.restore(saved)
