"""What a window holds: the reduced value, the accumulator, or all records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from headrace.datastream.window import TimestampedValue
from headrace.graph.specs import WindowSpec

WINDOW_STATE = "window-contents"
"""State of the general operator."""

PANE_STATE = "window-panes"
SLICE_STATE = "window-slices"
"""State of the aligned operator: windows, or slices of them."""


def contents_descriptor(spec: WindowSpec) -> StateDescriptor:
    """The state that holds the content of a window."""
    if spec.evictor is None and spec.aggregate is not None:
        return AggregatingStateDescriptor(WINDOW_STATE, spec.aggregate, None)
    if spec.evictor is None and spec.reduce is not None:
        return ReducingStateDescriptor(WINDOW_STATE, spec.reduce, None)
    return ListStateDescriptor(WINDOW_STATE)


def folded(spec: WindowSpec, values: Iterable[Any]) -> list[Any]:
    """What reduce or aggregate makes of records that an evictor left, if there is one of them.

    Where no record is left, there is nothing to reduce, and the result is empty.
    """
    records = list(values)
    if not records:
        return records
    if spec.aggregate is not None:
        accumulator = spec.aggregate.create_accumulator()
        for record in records:
            accumulator = spec.aggregate.add(record, accumulator)
        return [spec.aggregate.get_result(accumulator)]
    if spec.reduce is not None:
        result = records[0]
        for record in records[1:]:
            result = spec.reduce.reduce(result, record)
        return [result]
    return records


def stamped(records: Iterable[tuple[Any, int | None]]) -> list[TimestampedValue[Any]]:
    """Records as an evictor sees them."""
    return [TimestampedValue(value, timestamp) for value, timestamp in records]
