"""What the window tests share: a harness around a window, and functions that show what they see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.common import Types
from headrace.datastream import OutputTag, ProcessWindowFunction
from headrace.datastream.window import TumblingEventTimeWindows, WindowAssigner
from headrace.graph.specs import WindowSpec
from headrace.testing import OperatorHarness, keyed_harness

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


class Values(ProcessWindowFunction[Any, Any, Any, Any]):
    """The values of a window, as `key start-end: values`."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        window = context.window()
        span = f"{window.start}-{window.end}" if hasattr(window, "start") else "all"
        yield f"{key} {span}: {' '.join(str(value) for _, value in elements)}"

    def clear(self, context: Any) -> None:
        pass


def window_harness(
    assigner: WindowAssigner[Any, Any] | None = None, *, parallelism: int = 1, **parts: Any
) -> OperatorHarness:
    """A window operator for pairs of key and value; by default tumbling windows of 10 ms."""
    assigner = assigner or TumblingEventTimeWindows.of(10)
    trigger = parts.pop("trigger", None) or assigner.get_default_trigger()
    if not {"function", "reduce", "aggregate"} & parts.keys():
        parts["function"] = Values()
    spec = WindowSpec(assigner, trigger, **parts)
    return keyed_harness(spec, key=lambda record: record[0], parallelism=parallelism)


def entries(harness: OperatorHarness) -> int:
    """How many entries of state there are, of whatever name."""
    backends = [b for s in harness._subtasks for b in s.backends.values()]
    return sum(backend.number_of_entries() for backend in backends)


def late_dropped(harness: OperatorHarness) -> int:
    """What the counter of late records says."""
    return sum(s.head.late_dropped.get_count() for s in harness._subtasks)  # type: ignore[attr-defined]


def assert_nothing_left(harness: OperatorHarness) -> None:
    assert entries(harness) == 0
    assert harness.timers() == []
