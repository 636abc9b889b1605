"""Evictors in the window operator: before and after, with every kind of function."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.datastream.aggregates import Sum
from headrace.datastream.functions import as_reduce_function
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    TimeEvictor,
)
from tests.unit.runtime.operators.window.windows import assert_nothing_left, window_harness


def test_count_evictor_keeps_the_last_records() -> None:
    with window_harness(evictor=CountEvictor.of(2)) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 3)], ts=[3, 1, 2])
        h.snapshot_and_restore()
        h.watermark(9)
        assert h.output() == ["a 0-10: 2 3"]
        assert_nothing_left(h)


def test_what_is_evicted_is_gone_for_the_next_firing() -> None:
    settings = {"trigger": CountTrigger.of(2), "evictor": CountEvictor.of(1)}
    with window_harness(GlobalWindows.create(), **settings) as h:
        h.process_many([("a", n) for n in range(1, 5)])
        assert h.output() == ["a all: 2", "a all: 4"]
        assert list(h.state("window-contents").values()) == [[(("a", 4), None)]]


def test_eviction_after_the_function() -> None:
    evictor = CountEvictor.of(1, do_evict_after=True)
    with window_harness(GlobalWindows.create(), trigger=CountTrigger.of(2), evictor=evictor) as h:
        h.process_many([("a", n) for n in range(1, 5)])
        assert h.output() == ["a all: 1 2", "a all: 2 3 4"]


def test_time_evictor_looks_at_timestamps() -> None:
    with window_harness(evictor=TimeEvictor.of(4)) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 3)], ts=[8, 4, 5])
        h.watermark(9)
        assert h.output() == ["a 0-10: 1 3"]


def test_delta_evictor() -> None:
    evictor = DeltaEvictor.of(3, lambda old, last: last[1] - old[1])
    with window_harness(evictor=evictor) as h:
        h.process_many([("a", 1), ("a", 4), ("a", 3), ("a", 5)], ts=[1] * 4)
        h.watermark(9)
        assert h.output() == ["a 0-10: 4 3 5"]


class EvenOnly(Evictor[Any, Any]):
    """Takes out odd values, and those after the end of event time."""

    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        assert size == len(elements)
        elements[:] = [e for e in elements if e.value[1] % 2 == 0]

    def evict_after(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        if evictor_context.get_current_watermark() > 0:
            elements.clear()


def test_an_evictor_of_the_user() -> None:
    with window_harness(evictor=EvenOnly(), allowed_lateness_ms=10) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 4)], ts=[1, 2, 3])
        h.watermark(9)
        assert h.output() == ["a 0-10: 2 4"]
        h.process(("a", 6), ts=1)
        assert h.output() == ["a 0-10: 6"]


@pytest.mark.parametrize(
    ("parts", "results"),
    [
        ({"reduce": as_reduce_function(lambda a, b: (a[0], a[1] + b[1]))}, [("a", 6)]),
        ({"aggregate": Sum(1)}, [6]),
    ],
)
def test_an_incremental_function_sees_what_the_evictor_leaves(parts: Any, results: Any) -> None:
    with window_harness(evictor=EvenOnly(), **parts) as h:
        h.process_many([("a", 1), ("a", 2), ("a", 4), ("b", 1)], ts=[1, 2, 3, 4])
        h.snapshot_and_restore(parallelism=2)
        h.watermark(9)
        assert h.output() == results  # Of b nothing is left, so there is nothing to reduce.
        assert_nothing_left(h)


def test_a_window_function_is_called_although_nothing_is_left() -> None:
    with window_harness(evictor=EvenOnly()) as h:
        h.process(("a", 1), ts=1)
        h.watermark(9)
        assert h.output() == ["a 0-10: "]


def test_evictors_on_sessions() -> None:
    assigner = EventTimeSessionWindows.with_gap(5)
    with window_harness(assigner, evictor=CountEvictor.of(2)) as h:
        h.process(("a", 1), ts=0)
        h.process(("a", 2), ts=8)
        h.process(("a", 3), ts=4)
        h.watermark(12)
        assert h.output() == ["a 0-13: 2 3"]
        assert_nothing_left(h)


def test_an_evictor_that_raises_is_reported_with_its_window() -> None:
    class Broken(EvenOnly):
        def evict_before(self, *arguments: Any) -> None:
            raise RuntimeError("no room")

    with window_harness(evictor=Broken()) as h:
        h.process(("a", 1), ts=1)
        with pytest.raises(RuntimeError, match="no room") as caught:
            h.watermark(9)
        assert "TimeWindow(start=0, end=10)" in caught.value.__notes__[0]
