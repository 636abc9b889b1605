"""Which operator serves which windows, and the slices of the fast one."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream import rolling
from headrace.datastream.aggregates import Count, Sum
from headrace.datastream.functions import ReduceFunction, as_reduce_function
from headrace.datastream.window import (
    CountEvictor,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from headrace.graph.specs import WindowSpec
from headrace.runtime.operators.window import AlignedWindowOperator, build_window_operator
from headrace.runtime.operators.window.slices import SlidingMerger, merge_of_slices
from tests.unit.runtime.operators.window.windows import entries, window_harness

HOUR = SlidingEventTimeWindows.of(60, 1)


class Joined(ReduceFunction[Any]):
    """A reduce function of the user that may be used on slices."""

    associative = True

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


def spec(assigner: Any, **parts: Any) -> WindowSpec:
    return WindowSpec(assigner, parts.pop("trigger", EventTimeTrigger()), **parts)


@pytest.mark.parametrize(
    ("window", "fast"),
    [
        (spec(TumblingEventTimeWindows.of(10)), True),
        (spec(HOUR), True),
        (spec(SlidingEventTimeWindows.of(10, 20)), False),
        (spec(TumblingEventTimeWindows.of(10, 0, WindowStagger.NATURAL)), False),
        (spec(TumblingEventTimeWindows.of(10), allowed_lateness_ms=1), False),
        (spec(TumblingEventTimeWindows.of(10), evictor=CountEvictor.of(1)), False),
        (
            spec(TumblingEventTimeWindows.of(10), trigger=PurgingTrigger.of(EventTimeTrigger())),
            False,
        ),
        (spec(TumblingProcessingTimeWindows.of(10)), False),
    ],
)
def test_which_operator(window: WindowSpec, fast: bool) -> None:
    assert isinstance(build_window_operator(window), AlignedWindowOperator) is fast


@pytest.mark.parametrize(
    ("window", "sliced"),
    [
        (spec(HOUR, aggregate=Sum(1)), True),
        (spec(HOUR, reduce=rolling.SumOf(1)), True),
        (spec(HOUR, reduce=Joined()), True),
        (spec(HOUR, reduce=as_reduce_function(lambda a, b: a)), False),
        (spec(HOUR), False),
        (spec(TumblingEventTimeWindows.of(10), aggregate=Sum(1)), False),
        (spec(SlidingEventTimeWindows.of(6, 4), aggregate=Sum(1)), True),
        (spec(SlidingEventTimeWindows.of(101, 97), aggregate=Sum(1)), False),
    ],
)
def test_which_windows_are_cut_into_slices(window: WindowSpec, sliced: bool) -> None:
    assert (merge_of_slices(window) is not None) is sliced


def test_each_record_is_added_once() -> None:
    added = []

    class Noted(Count):
        def add(self, value: Any, accumulator: int) -> int:
            added.append(value)
            return super().add(value, accumulator)

    operator = build_window_operator(spec(HOUR, aggregate=Noted()))
    assert isinstance(operator, AlignedWindowOperator)
    operator._fill(["a", "a"], [1, 2], [0, 1])
    assert added == [1, 2]


def test_merges_per_slide_do_not_grow_with_the_window() -> None:
    for slices in (10, 1_000):
        merges = 0

        def merge(a: int, b: int) -> int:
            nonlocal merges
            merges += 1
            return a + b

        merger = SlidingMerger(merge, slices, 1)
        panes = {n: {"key": 1} for n in range(3 * slices)}
        for start in range(2 * slices):
            assert merger.window(panes, start) == {"key": slices}
        assert merges <= 3 * 2 * slices


def test_a_record_between_two_firings_is_not_forgotten() -> None:
    with window_harness(SlidingEventTimeWindows.of(10, 5), aggregate=Sum(1)) as h:
        h.process(("a", 1), ts=7)
        h.watermark(9)
        h.process(("a", 10), ts=6)  # Of a slice that is merged already.
        h.watermark(14)
        assert h.output() == [1, 11]
        assert entries(h) == 0


def test_snapshots_write_what_changed_only() -> None:
    with window_harness(SlidingEventTimeWindows.of(10, 5), aggregate=Sum(1)) as h:
        h.process_many([("a", 1), ("b", 1)], ts=[1, 1])
        h.snapshot()
        assert entries(h) == 2
        h.process(("a", 1), ts=2)
        operator: Any = h._subtasks[0].head
        assert operator._touched == {0: {"a"}}
        h.snapshot_and_restore(parallelism=2)
        h.watermark(4)
        assert sorted(h.output()) == [1, 2]
        h.end_input()
        assert entries(h) == 0
