"""What is made of windows: every kind of function, its context, its state and its side outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.common import Types
from headrace.common.errors import StateError
from headrace.datastream import AggregateFunction, OutputTag, ProcessWindowFunction, ReduceFunction
from headrace.datastream.aggregates import Average, Count, Maximum, Minimum, Sum
from headrace.datastream.functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    WindowFunction,
    as_reduce_function,
)
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
)
from tests.unit.runtime.operators.window.windows import assert_nothing_left, window_harness


class GeneralTrigger(EventTimeTrigger):
    """The usual trigger, in the general operator."""


#: Everything here must be the same in the fast and in the general operator.
both_operators = pytest.mark.parametrize(
    "trigger", [EventTimeTrigger(), GeneralTrigger()], ids=["fast", "general"]
)
ADD = as_reduce_function(lambda a, b: (a[0], a[1] + b[1]))


class Applied(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
        return [(key, window.start, list(inputs))]


class AppliedToAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Any:
        return [(window.start, list(inputs))]


class Processed(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield key, context.window().start, list(elements)

    def clear(self, context: Any) -> None:
        pass


class ProcessedAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Any:
        yield context.window().start, list(elements)

    def clear(self, context: Any) -> None:
        pass


ONE, TWO = ("a", 1), ("a", 2)


@both_operators
@pytest.mark.parametrize(
    ("parts", "result"),
    [
        ({"reduce": ADD}, ("a", 3)),
        ({"aggregate": Sum(1)}, 3),
        ({"aggregate": Count()}, 2),
        ({"aggregate": Average(1)}, 1.5),
        ({"aggregate": Minimum(1)}, 1),
        ({"aggregate": Maximum(1)}, 2),
        ({"function": Applied()}, ("a", 0, [ONE, TWO])),
        ({"function": AppliedToAll()}, (0, [ONE, TWO])),
        ({"function": Processed()}, ("a", 0, [ONE, TWO])),
        ({"function": ProcessedAll()}, (0, [ONE, TWO])),
        ({"reduce": ADD, "function": Applied()}, ("a", 0, [("a", 3)])),
        ({"reduce": ADD, "function": ProcessedAll()}, (0, [("a", 3)])),
        ({"aggregate": Sum(1), "function": Processed()}, ("a", 0, [3])),
        ({"aggregate": Sum(1), "function": AppliedToAll()}, (0, [3])),
    ],
)
def test_results(trigger: Any, parts: dict[str, Any], result: Any) -> None:
    with window_harness(trigger=trigger, **parts) as h:
        h.process(ONE, ts=4)
        h.snapshot_and_restore(parallelism=2)
        h.process(TWO, ts=2)
        h.watermark(9)
        assert h.timestamped_output() == [(result, 9)]
        assert_nothing_left(h)


@both_operators
def test_a_function_that_returns_nothing_emits_nothing(trigger: Any) -> None:
    class Silent(Applied):
        def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
            return None

    with window_harness(trigger=trigger, function=Silent()) as h:
        h.process(ONE, ts=4)
        h.watermark(9)
        assert h.output() == []


SMALL = OutputTag("small", Types.INT())
INFO = OutputTag("info", Types.STRING())


class Stateful(ProcessWindowFunction[Any, Any, Any, Any]):
    firings = ValueStateDescriptor("firings", Types.LONG())
    history = ListStateDescriptor("history", Types.LONG())

    def __init__(self) -> None:
        self.cleared: list[Any] = []

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        mine = context.window_state().get_state(self.firings)
        mine.update((mine.value() or 0) + 1)
        history = context.global_state().get_list_state(self.history)
        history.add(context.window().start)
        context.output(INFO, f"{context.current_watermark()} {context.current_processing_time()}")
        yield SMALL, min(value for _, value in elements)
        yield key, mine.value(), list(history.get())

    def clear(self, context: Any) -> None:
        self.cleared.append((context.window().start, context.current_watermark()))
        context.window_state().get_state(self.firings).clear()


@both_operators
def test_context_state_and_side_outputs(trigger: Any) -> None:
    with window_harness(trigger=trigger, function=Stateful()) as h:
        h.advance_time(7)
        h.process_many([("a", 5), ("a", 3), ("b", 8), ("a", 1)], ts=[1, 2, 3, 14])
        h.watermark(9)
        assert h.output() == [("a", 1, [0]), ("b", 1, [0])]
        assert h.side_output(SMALL) == [3, 8]
        assert h.side_output(INFO) == ["9 7", "9 7"]
        assert h.function.cleared == [(0, 9), (0, 9)]
        h.watermark(50)
        assert h.output() == [("a", 1, [0, 10])]
        assert h.function.cleared == [(0, 9), (0, 9), (10, 50)]
        assert h.state("firings") == {}
        assert h.state("history") == {"a": [0, 10], "b": [0]}
        assert h.timers() == []


def test_state_of_a_window_lasts_from_firing_to_firing() -> None:
    with window_harness(trigger=CountTrigger.of(1), function=Stateful()) as h:
        h.process(("a", 1), ts=1)
        h.process(("a", 1), ts=11)
        h.snapshot_and_restore(parallelism=2)
        h.process(("a", 1), ts=2)
        assert [result[1] for result in h.output()] == [1, 1, 2]
        h.watermark(9)
        assert h.state("firings") == {("a", TimeWindow(10, 20)): 1}


def test_sessions_have_no_state_of_a_window() -> None:
    with window_harness(EventTimeSessionWindows.with_gap(5), function=Stateful()) as h:
        h.process(("a", 1), ts=1)
        with pytest.raises(StateError, match=r"'firings' .* use global_state\(\)"):
            h.watermark(9)


@both_operators
def test_functions_are_opened_and_closed(trigger: Any) -> None:
    calls = []

    class Opened(AggregateFunction[Any, Any, Any]):
        def open(self, runtime_context: Any) -> None:
            self.subtask = runtime_context.get_index_of_this_subtask()

        def close(self) -> None:
            calls.append("closed")

        def create_accumulator(self) -> int:
            return self.subtask

        def add(self, value: Any, accumulator: int) -> int:
            return accumulator + value[1]

        def get_result(self, accumulator: int) -> int:
            return accumulator

        def merge(self, acc_a: int, acc_b: int) -> int:
            return acc_a + acc_b

    with window_harness(trigger=trigger, aggregate=Opened(), function=Processed()) as h:
        h.process(ONE, ts=1)
        h.watermark(9)
        assert h.output() == [("a", 0, [1])]


class Growing(AggregateFunction[Any, Any, Any]):
    """Emits the accumulator itself, and changes it with the next record."""

    def create_accumulator(self) -> list[Any]:
        return []

    def add(self, value: Any, accumulator: list[Any]) -> list[Any]:
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[Any]) -> list[Any]:
        return accumulator

    def merge(self, acc_a: list[Any], acc_b: list[Any]) -> list[Any]:
        acc_a.extend(acc_b)
        return acc_a


def test_what_was_emitted_does_not_change() -> None:
    for trigger in (CountTrigger.of(1), ContinuousEventTimeTrigger.of(1)):
        with window_harness(trigger=trigger, aggregate=Growing()) as h:
            h.process(("a", 1), ts=0)
            h.watermark(1)
            first = h.output()
            h.process(("a", 2), ts=3)
            assert first == [[1]]


def test_overlapping_windows_do_not_share_accumulators() -> None:
    with window_harness(SlidingEventTimeWindows.of(6, 2), aggregate=Growing()) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 3)], ts=[0, 2, 4])
        h.watermark(1)
        emitted = h.output()
        h.end_input()
        emitted += h.output()
        assert emitted == [[1], [1, 2], [1, 2, 3], [2, 3], [3]]
        emitted[0].append("changed")
        assert emitted[1:] == [[1, 2], [1, 2, 3], [2, 3], [3]]


@both_operators
def test_a_failing_function_names_record_window_and_key(trigger: Any) -> None:
    class Broken(ReduceFunction[Any]):
        def reduce(self, value1: Any, value2: Any) -> Any:
            raise ValueError("cannot be reduced")

    class BrokenWindow(Applied):
        def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
            raise ValueError("bad window")

    with window_harness(trigger=trigger, reduce=Broken()) as h:
        h.process(ONE, ts=1)
        with pytest.raises(ValueError, match="cannot be reduced") as caught:
            h.process(TWO, ts=1)
        assert "('a', 2)" in caught.value.__notes__[0]
    with window_harness(trigger=trigger, function=BrokenWindow()) as h:
        h.process(ONE, ts=1)
        with pytest.raises(ValueError, match="bad window") as caught:
            h.watermark(9)
        assert "window TimeWindow(start=0, end=10) of key 'a'" in caught.value.__notes__[0]


@both_operators
@pytest.mark.parametrize("method", ["add", "get_result", "create_accumulator"])
def test_a_failing_aggregate_is_reported(trigger: Any, method: str) -> None:
    def fail(self: Any, *arguments: Any) -> Any:
        raise ValueError(f"{method} failed")

    broken = type("Broken", (Growing,), {method: fail})

    def run() -> None:
        with window_harness(trigger=trigger, aggregate=broken()) as h:
            h.process(ONE, ts=1)
            h.watermark(9)

    with pytest.raises(ValueError, match=f"{method} failed"):
        run()


@both_operators
def test_keys_that_cannot_be_hashed_reach_the_function_as_they_are(trigger: Any) -> None:
    with window_harness(trigger=trigger, function=Applied()) as h:
        h.process((["x", 1], "value"), ts=1)
        h.watermark(9)
        assert h.output() == [(["x", 1], 0, [(["x", 1], "value")])]
