"""Histories of a window operator: records, watermarks, failures; and what it emits on the way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import strategies as st

from headrace.common import Types, WatermarkStrategy
from headrace.common.watermark_strategy import Watermark, WatermarkGenerator
from headrace.datastream import AggregateFunction, OutputTag, ProcessWindowFunction, ReduceFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import EventTimeTrigger, WindowAssigner
from headrace.graph.specs import WindowSpec
from headrace.testing import OperatorHarness, keyed_harness

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())

Step = tuple[str, Any]
Record = tuple[str, int, int]
"""Key, timestamp, value."""

stamps = st.integers(-30, 60)
records = st.tuples(st.sampled_from("abcd"), stamps, st.integers(0, 9))
batches = st.tuples(st.just("records"), st.lists(records, min_size=1, max_size=6))
watermarks = st.tuples(st.just("watermark"), stamps)
recoveries = st.tuples(st.just("restore"), st.integers(1, 4))
histories = st.lists(st.one_of(batches, watermarks, batches, recoveries), max_size=14)


class Show(ProcessWindowFunction[Any, Any, Any, Any]):
    """Key, window and values; values are in order unless the windows merge."""

    def __init__(self, in_order: bool = True) -> None:
        self.in_order = in_order

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        window, values = context.window(), [value for _, _, value in elements]
        yield key, window.start, window.end, tuple(values if self.in_order else sorted(values))

    def clear(self, context: Any) -> None:
        pass


class ShowContent(ProcessWindowFunction[Any, Any, Any, Any]):
    """Key, window and the one aggregated value."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        (content,) = elements
        yield key, context.window().start, context.window().end, content

    def clear(self, context: Any) -> None:
        pass


class ShowNumbered(ProcessWindowFunction[Any, Any, Any, Any]):
    """Key, number and values of a count window; the global window has number 0."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        number = getattr(context.window(), "id", 0)
        yield key, number, tuple(value for _, _, value in elements)

    def clear(self, context: Any) -> None:
        pass


class Counted(ProcessWindowFunction[Any, Any, Any, Any]):
    """Uses state of the window and of the key, and the side output."""

    mine = ValueStateDescriptor("mine", Types.LONG())
    windows = ValueStateDescriptor("windows", Types.LONG())

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        mine = context.window_state().get_state(self.mine)
        windows = context.global_state().get_state(self.windows)
        mine.update((mine.value() or 0) + 1)
        windows.update((windows.value() or 0) + 1)
        yield key, context.window().start, mine.value(), windows.value(), len(list(elements))
        yield LATE, ("side", context.window().start, key)

    def clear(self, context: Any) -> None:
        assert context.window_state().get_state(self.mine).value() == 1
        context.window_state().get_state(self.mine).clear()


class SlowEventTimeTrigger(EventTimeTrigger):
    """The usual trigger, under a name that keeps the general operator in charge."""


class CountAndSum(AggregateFunction[Any, Any, Any]):
    """An immutable accumulator."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Record, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value[2]

    def get_result(self, accumulator: tuple[int, int]) -> Any:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Collected(AggregateFunction[Any, Any, Any]):
    """A mutable accumulator that add() and merge() change in place, and get_result() too."""

    def create_accumulator(self) -> dict[str, list[int]]:
        return {"values": []}

    def add(self, value: Record, accumulator: dict[str, list[int]]) -> dict[str, list[int]]:
        accumulator["values"].append(value[2])
        return accumulator

    def get_result(self, accumulator: dict[str, list[int]]) -> Any:
        accumulator["values"].sort()
        return tuple(accumulator["values"])

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_a["values"] += acc_b["values"]
        acc_b["values"].clear()
        return acc_a


class InTuple(Collected):
    """A mutable accumulator inside of a tuple, emitted as it is."""

    def create_accumulator(self) -> Any:
        return ("values", [])

    def add(self, value: Record, accumulator: Any) -> Any:
        accumulator[1].append(value[2])
        accumulator[1].sort()
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        acc_a[1].extend(acc_b[1])
        acc_a[1].sort()
        return acc_a


class EmptyMerge(CountAndSum):
    """merge() left empty, as in many programs."""

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        pass


class SometimesNothing(CountAndSum):
    """Results and accumulators that are None are nothing."""

    def add(self, value: Record, accumulator: tuple[int, int]) -> Any:
        return None if value[2] == 9 else super().add(value, accumulator)

    def get_result(self, accumulator: tuple[int, int]) -> Any:
        return None if accumulator[1] == 4 else accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise NotImplementedError


class KeepOrder(ReduceFunction[Any]):
    """Neither commutative nor associative."""

    def reduce(self, value1: Record, value2: Record) -> Record:
        return value1[0], value2[1], value1[2] * 10 + value2[2]


def has_watermark(record: Record) -> bool:
    """Whether the generator of `punctuated` emits a watermark after this record."""
    return record[2] >= 7


def punctuated() -> WatermarkStrategy:
    """Timestamps of records, and watermarks after some of them."""
    strategy = WatermarkStrategy.for_generator(_Punctuated)
    return strategy.with_timestamp_assigner(lambda record, stamp: record[1])


class _Punctuated(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if has_watermark(event):
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def spec(assigner: WindowAssigner[Any, Any], **parts: Any) -> WindowSpec:
    trigger = parts.pop("trigger", None) or assigner.get_default_trigger()
    return WindowSpec(assigner, trigger, **parts)


def run(window: WindowSpec, history: Iterable[Step], parallelism: int = 1) -> list[Any]:
    """What was emitted, late or dropped in each step, in an order that does not depend on keys."""
    with keyed_harness(window, key=lambda r: r[0], parallelism=parallelism) as harness:
        seen = []
        for step in history:
            play(harness, *step)
            seen.append(emitted(harness))
        harness.end_input()
        seen.append(emitted(harness))
        assert entries(harness) == 0
        assert harness.timers() == []
    return seen


def play(harness: OperatorHarness, kind: str, what: Any) -> None:
    if kind == "records":
        harness.process_many(what, ts=lambda r: r[1])
    elif kind == "watermark":
        harness.watermark(what)
    else:
        harness.snapshot_and_restore(what)


def emitted(harness: OperatorHarness) -> tuple[Any, Any]:
    return sorted(harness.timestamped_output(), key=repr), sorted(harness.side_output(LATE))


def entries(harness: OperatorHarness) -> int:
    """How many entries of state there are, apart from those that `Counted` keeps on purpose."""
    backends = [b for s in harness._subtasks for b in s.backends.values()]
    names = [(b, name) for b in backends for name in b.state_names() if name != "windows"]
    return sum(backend.number_of_entries(name) for backend, name in names)
