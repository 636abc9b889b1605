"""The interval join: records of two keyed inputs that are close to each other in event time.

Each side keeps its records, for each key, in two lists in order of time: timestamps and values.
Matches of a record are then a slice of the other side's lists, and what is over is a prefix of the
own ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from headrace.common.errors import GraphError
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import ValueStateDescriptor
from headrace.graph.specs import IntervalJoinSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.operator import OperatorContext
from headrace.runtime.operators.process import ContextOperator
from headrace.runtime.ownership import own
from headrace.runtime.state.key_cell import NO_KEY

_LEFT, _RIGHT = 0, 1
_LATE_COUNTER = "numLateRecordsDropped"
_STATES = ("interval-join-left", "interval-join-right")


class JoinContext(ProcessJoinFunction.Context):
    """The context of a pair; the operator moves it from pair to pair."""

    __slots__ = ("_operator", "left", "right")

    def __init__(self, operator: ContextOperator) -> None:
        self._operator = operator
        self.left = 0
        self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, output_tag: OutputTag, value: Any) -> None:
        self._operator.element_context.add_side(output_tag, own(value), self.get_timestamp())


class _Side:
    """What is different for the two sides; the bounds are seen from a record of this side."""

    def __init__(self, lower: int, upper: int, late_tag: OutputTag | None) -> None:
        self.lower = lower
        self.upper = upper
        # Until when a record may still meet one of the other side that is not late.
        self.kept_ms = max(upper, 0)
        self.late_tag = late_tag
        self.buffer: Any = None


class IntervalJoinOperator(ContextOperator):
    """Joins each record with those of the other side that are there, then keeps it for later ones.

    A buffer that is not empty has a timer at the time at which its earliest record is over.
    """

    def __init__(self, spec: IntervalJoinSpec) -> None:
        super().__init__(spec.function)
        self._sides = (
            _Side(spec.lower_ms, spec.upper_ms, spec.left_late_tag),
            _Side(-spec.upper_ms, -spec.lower_ms, spec.right_late_tag),
        )

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        super().setup(context, output)
        self._join_context = JoinContext(self)
        self._late_dropped = context.metrics.counter(_LATE_COUNTER)

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None
        for side, name in zip(self._sides, _STATES, strict=True):
            side.buffer = backend.get_or_create(ValueStateDescriptor(name), self.cell)

    # Records.

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        self.records_in += len(batch.values)
        own, other = self._sides[input_index], self._sides[1 - input_index]
        out: list[Any] = []
        out_stamps: list[int | None] = []
        cell, watermark = self.cell, self.watermark
        lower, upper, other_buffer = own.lower, own.upper, other.buffer
        for cell.key, value, stamp in _rows(self, batch):
            if stamp < watermark:
                self._late(own, value, stamp)
                continue
            self._keep(input_index, own, stamp, value)
            candidates = other_buffer.value()
            if candidates is None:
                continue
            stamps, values = candidates
            first = bisect_left(stamps, stamp + lower)
            last = bisect_right(stamps, stamp + upper, first)
            if first < last:
                matches = zip(stamps[first:last], values[first:last], strict=True)
                self._join(input_index, stamp, value, matches, out, out_stamps)
        cell.key = NO_KEY
        self.emit_results(out, out_stamps)

    def _keep(self, input_index: int, side: _Side, stamp: int, value: Any) -> None:
        held = side.buffer.value()
        if held is None:
            held, place = ([stamp], [value]), 0
        else:
            stamps, values = held
            place = len(stamps) if stamp >= stamps[-1] else bisect_right(stamps, stamp)
            stamps.insert(place, stamp)
            values.insert(place, value)
        side.buffer.update(held)
        if place == 0:
            self._register_cleanup(input_index, side, stamp)

    def _join(
        self,
        input_index: int,
        stamp: int,
        value: Any,
        matches: Iterator[tuple[int, Any]],
        out: list[Any],
        out_stamps: list[int | None],
    ) -> None:
        ctx, process = self._join_context, self.function.process_element
        match = None
        try:
            for match_stamp, match in matches:
                if input_index == _LEFT:
                    ctx.left, ctx.right = stamp, match_stamp
                    results = process(value, match, ctx)
                else:
                    ctx.left, ctx.right = match_stamp, stamp
                    results = process(match, value, ctx)
                if results is not None:
                    later = max(stamp, match_stamp)
                    for result in results:
                        out.append(own(result))
                        out_stamps.append(later)
        except Exception as error:
            pair = (value, match) if input_index == _LEFT else (match, value)
            raise self.failed(error, pair, where="process_element") from error

    def _late(self, side: _Side, value: Any, stamp: int) -> None:
        if side.late_tag is not None:
            self.element_context.add_side(side.late_tag, value, stamp)
        else:
            self._late_dropped.inc()

    # Clean-up.

    def _register_cleanup(self, input_index: int, side: _Side, earliest: int) -> None:
        due = min(earliest + side.kept_ms, MAX_TIMESTAMP)
        self.event_timers.register(due, (self.cell.key, input_index))

    def fire_event_timers(self, until: int) -> None:
        cell = self.cell
        for _, (cell.key, input_index) in self.event_timers.pop_due(until):
            side = self._sides[input_index]
            held = side.buffer.value()
            if held is None:
                continue
            stamps, values = held
            over = bisect_right(stamps, until - side.kept_ms)
            if over == len(stamps) or until == MAX_TIMESTAMP:
                side.buffer.clear()
                continue
            if over:
                del stamps[:over], values[:over]
                side.buffer.update(held)
            self._register_cleanup(input_index, side, stamps[0])
        cell.key = NO_KEY

    def key_of_timer(self, address: Any) -> Any:
        return address[0]


def _rows(operator: IntervalJoinOperator, batch: Batch) -> Iterator[tuple[Any, Any, int]]:
    """Key, value and timestamp of each record; all need a timestamp."""
    keys, stamps = batch.keys, batch.timestamps
    assert keys is not None
    if stamps is None or None in stamps:
        where = 0 if stamps is None else list(stamps).index(None)
        error = GraphError(
            "a record without a timestamp reached an interval join; call "
            "assign_timestamps_and_watermarks(...) on both streams before it"
        )
        raise operator.failed(error, batch.values[where], where="interval join")
    return zip(keys, batch.values, stamps, strict=True)  # type: ignore[arg-type]
