"""Process functions: records with their context, timers, side outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from inspect import isgeneratorfunction
from itertools import repeat
from operator import length_hint
from typing import Any

from headrace.common.errors import FunctionTypeError, StateError
from headrace.common.types import Row
from headrace.datastream.functions import KeyedProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.time_domain import TimeDomain
from headrace.datastream.timerservice import TimerService
from headrace.graph.specs import ProcessSpec
from headrace.runtime.batch import MIN_TIMESTAMP, Batch
from headrace.runtime.exchange.output import OperatorOutput
from headrace.runtime.key_groups import OpaqueKey
from headrace.runtime.operator import Operator, OperatorContext
from headrace.runtime.operators.simple import TEXTS, FunctionOperator
from headrace.runtime.ownership import PLAIN, own
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

# PyFlink's words.
_REGISTER = "Register timers is only supported on a keyed stream."
_DELETE = "Deleting timers is only supported on a keyed streams."
_SINGLE_VALUES = (*TEXTS, tuple, dict, Row)
"""What can be iterated, but is rather one result of a process function than several."""


class Timers(TimerService):
    """Timers of the current key of an operator."""

    def __init__(self, operator: Operator, cell: KeyCell, keyed: bool) -> None:
        self._operator = operator
        self._cell = cell
        self._keyed = keyed
        self._clock = operator.context.clock

    def current_processing_time(self) -> int:
        return self._clock()

    def current_watermark(self) -> int:
        return self._operator.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        self._operator.event_timers.register(self._checked(timestamp), self._cell.key)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._operator.processing_timers.register(self._checked(timestamp), self._cell.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._operator.event_timers.delete(self._checked(timestamp, _DELETE), self._cell.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._operator.processing_timers.delete(self._checked(timestamp, _DELETE), self._cell.key)

    def _checked(self, timestamp: int, refusal: str = _REGISTER) -> int:
        if not self._keyed:
            raise StateError(f"{refusal} Call key_by() before process()")
        if type(timestamp) is not int:
            # A float, or a numpy integer, is common in Python; a fraction of a ms is cut off.
            try:
                return int(timestamp)
            except (TypeError, ValueError, OverflowError):
                raise StateError(
                    f"a timer needs a timestamp in milliseconds (int), not {timestamp!r}"
                ) from None
        return timestamp


class ElementContext(KeyedProcessFunction.OnTimerContext):
    """The context of every kind of process function; the operator moves it along the records."""

    def __init__(self, cell: KeyCell, timers: TimerService) -> None:
        self._cell = cell
        self._timers = timers
        self.stamp: int | None = None
        self.domain: TimeDomain | None = None
        self.side: dict[str, tuple[list[Any], list[int | None]]] = {}
        self.results: list[Any] = []
        self.stamps: list[int | None] | None = None

    def timestamp(self) -> int:
        # PyFlink's programs see the smallest timestamp, not None, where there is none.
        return MIN_TIMESTAMP if self.stamp is None else self.stamp

    def timer_service(self) -> TimerService:
        return self._timers

    def get_current_key(self) -> Any:
        key = self._cell.key
        if key is NO_KEY:
            raise StateError("there is no current key: call key_by() before process()")
        return key.value if type(key) is OpaqueKey else key

    def time_domain(self) -> TimeDomain:
        assert self.domain is not None, "time_domain() is only available in on_timer()"
        return self.domain

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        return self._timers.current_watermark()

    def output(self, output_tag: OutputTag, value: Any) -> None:
        # Like a yield, so that both ways to a side output keep their order.
        if not isinstance(output_tag, OutputTag):
            raise FunctionTypeError(f"output() takes an OutputTag and a value, not {output_tag!r}")
        self.results.append((output_tag, own(value)))
        if self.stamps is not None:
            self.stamps.append(self.stamp)

    def add_side(self, output_tag: OutputTag, value: Any, stamp: int | None) -> None:
        columns = self.side.get(output_tag.tag_id)
        if columns is None:
            columns = self.side[output_tag.tag_id] = ([], [])
        columns[0].append(value)
        columns[1].append(stamp)


class ContextOperator(FunctionOperator):
    """Base of the operators whose function gets a context, yields records and may have timers."""

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        super().setup(context, output)
        self.timers = Timers(self, self.cell, context.keyed)
        self.element_context = ElementContext(self.cell, self.timers)

    def process_elements(self, call: Any, batch: Batch, where: str) -> None:
        """Call a method `(value, ctx)` for each record and emit what it yields."""
        self.records_in += len(batch.values)
        stamps = batch.timestamps
        if stamps is None:
            values = self._untimed(call, batch, where)
            out_stamps = None
        else:
            values, out_stamps = self._timed(call, batch, stamps, where)
        self.cell.key = NO_KEY
        self.emit_results(values, out_stamps)
        self.dead_letters.emit(self.output)

    def _untimed(self, call: Any, batch: Batch, where: str) -> list[Any]:
        ctx, cell = self.element_context, self.cell
        keys = repeat(NO_KEY) if batch.keys is None else batch.keys
        out: list[Any] = []
        ctx.results, ctx.stamps = out, None
        append, extend = out.append, out.extend
        plain = PLAIN
        ctx.stamp = None
        values = iter(batch.values)
        rows = zip(keys, values)  # noqa: B905
        while True:
            try:
                if isgeneratorfunction(call):
                    # Cheaper than extend(), which asks a generator for its length first.
                    for cell.key, value in rows:
                        for result in call(value, ctx):
                            kind = type(result)
                            if kind is tuple:  # what own() does, without a call
                                for item in result:
                                    if type(item) not in plain:
                                        append(own(result))
                                        break
                                else:
                                    append(result)
                            else:
                                append(result if kind in plain else own(result))
                else:
                    for cell.key, value in rows:
                        results = call(value, ctx)
                        if results is not None:
                            extend(map(own, results))
                return out
            except Exception as error:  # noqa: BLE001 - set aside, or raised there
                # What comes after the record goes on from the same iterator.
                self.set_aside(error, batch, _position(batch, values), where)

    def _timed(
        self, call: Any, batch: Batch, stamps: Sequence[int | None], where: str
    ) -> tuple[list[Any], list[int | None]]:
        ctx, cell = self.element_context, self.cell
        keys = repeat(NO_KEY) if batch.keys is None else batch.keys
        out: list[Any] = []
        out_stamps: list[int | None] = []
        ctx.results, ctx.stamps = out, out_stamps
        append, append_stamp = out.append, out_stamps.append
        plain = PLAIN
        values = iter(batch.values)
        rows = zip(keys, values, stamps)  # noqa: B905
        while True:
            try:
                for cell.key, value, ctx.stamp in rows:
                    results = call(value, ctx)
                    if results is not None:
                        for result in results:
                            append(result if type(result) in plain else own(result))
                            append_stamp(ctx.stamp)
                return out, out_stamps
            except Exception as error:  # noqa: BLE001 - set aside, or raised there
                self.set_aside(error, batch, _position(batch, values), where)

    def emit_results(self, values: list[Any], stamps: list[int | None] | None) -> None:
        """Emit what a function yielded: records, and pairs of tag and record for side outputs."""
        if tuple in set(map(type, values)):
            values, stamps = self._take_side_outputs(values, stamps)
        self.output.emit(Batch(values, stamps))
        side = self.element_context.side
        if side:
            self.element_context.side = {}
            for tag_id, (side_values, side_stamps) in side.items():
                known = any(s is not None for s in side_stamps)
                self.output.emit_side(tag_id, Batch(side_values, side_stamps if known else None))

    def _take_side_outputs(
        self, values: list[Any], stamps: list[int | None] | None
    ) -> tuple[list[Any], list[int | None] | None]:
        tagged = [type(v) is tuple and len(v) == 2 and isinstance(v[0], OutputTag) for v in values]
        if not any(tagged):
            return values, stamps
        add_side = self.element_context.add_side
        main: list[Any] = []
        main_stamps: list[int | None] = []
        for value, is_tagged, stamp in zip(
            values, tagged, repeat(None) if stamps is None else stamps, strict=False
        ):
            if is_tagged:
                add_side(value[0], value[1], stamp)
            else:
                main.append(value)
                main_stamps.append(stamp)
        return main, None if stamps is None else main_stamps

    def fire_event_timers(self, until: int) -> None:
        self._fire(self.event_timers, until, TimeDomain.EVENT_TIME)

    def fire_processing_timers(self, until: int) -> None:
        self._fire(self.processing_timers, until, TimeDomain.PROCESSING_TIME)

    def _fire(self, queue: Any, until: int, domain: TimeDomain) -> None:
        on_timer = getattr(self.function, "on_timer", None)
        ctx, cell = self.element_context, self.cell
        out: list[Any] = []
        stamps: list[int | None] = []
        ctx.results, ctx.stamps = out, None
        event_time = domain is TimeDomain.EVENT_TIME
        ctx.domain = domain
        for timestamp, cell.key in queue.pop_due(until):
            ctx.stamp = timestamp
            try:
                result = on_timer(timestamp, ctx) if on_timer is not None else None
                if result is not None:
                    out.extend(map(own, result))
            except Exception as error:  # noqa: BLE001 - set aside, or raised there
                self._timer_failed(error, timestamp, domain)
            if len(out) > len(stamps):
                stamps.extend(repeat(ctx.stamp, len(out) - len(stamps)))
        ctx.domain, ctx.stamp, cell.key = None, None, NO_KEY
        # Records that a processing-time timer emits have no timestamp, as in Flink.
        self.emit_results(out, stamps if event_time else None)
        self.dead_letters.emit(self.output)

    def _timer_failed(self, error: Exception, timestamp: int, domain: TimeDomain) -> None:
        """The timer is gone; its key becomes a dead letter, or the job fails."""
        key = self.element_context.get_current_key()
        if not self.dead_letters:
            where = f"on_timer({timestamp}) of key {key!r}"
            raise self.failed(error, where=where) from error
        stamp = timestamp if domain is TimeDomain.EVENT_TIME else None
        self.dead_letters.add(self.context.name, error, key, f"on_timer({timestamp})", stamp)


class ProcessOperator(ContextOperator):
    """A ProcessFunction or KeyedProcessFunction."""

    def __init__(self, spec: ProcessSpec) -> None:
        super().__init__(spec.function, spec.error_tag)

    def process_batch(self, batch: Batch) -> None:
        where = "process_element"
        call = self.results_of(self.function.process_element, where, _SINGLE_VALUES)
        self.process_elements(call, batch, where)


def _position(batch: Batch, values: Iterator[Any]) -> int:
    """Which record was last taken from an iterator over the values of a batch."""
    return len(batch.values) - length_hint(values) - 1
