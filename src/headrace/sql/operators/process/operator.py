"""Process table functions: calls for rows and timers, with state of their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import RowKind, row_of
from headrace.runtime.batch import MIN_TIMESTAMP, Batch
from headrace.runtime.failure import NO_RECORD
from headrace.sql.operators.base import INSERT, OpenedCode, RowOperator, without_old
from headrace.sql.operators.order.in_time import WaitingRows
from headrace.sql.operators.order.ordering import sort_key
from headrace.sql.operators.process.specs import ProcessTableSpec, TableSpec
from headrace.sql.operators.process.states import KeyStates
from headrace.sql.types import RowType
from headrace.sql.types.values import row_to_external, to_internal
from headrace.sql.udf.bound import runtime_context
from headrace.sql.udf.function_context import FunctionContext
from headrace.sql.udf.process.context import Context, OnTimerContext, TableSemantics

_KINDS = tuple(RowKind)
_ON_TIMER = "on_timer"
Row = tuple[Any, ...]


class ProcessTableOperator(RowOperator):
    """Calls the function for each row, and for each timer that the watermark has passed.

    Rows of a table with an order wait for the watermark. The operator is also what the function's
    contexts ask.
    """

    def __init__(self, spec: ProcessTableSpec) -> None:
        super().__init__()
        self._spec = spec
        self._function = spec.function.function
        self._tables = [_Table(self, table, spec) for table in spec.tables]
        self._out: list[Row] = []
        self._prefix: Row = ()
        self._emits_kinds = not spec.function.inserts_only
        self._single = not isinstance(spec.function.result, RowType)
        self.mode: ChangelogMode = spec.function.mode
        self.time: int | None = None
        self.timer: str | None = None
        self._input: int | None = None
        self._key: Any = None

    # Life.

    def open(self) -> None:
        spec, zone = self._spec, ZoneInfo(self._spec.zone)
        signature = spec.function.signature
        self._states: KeyStates | None = None
        if spec.keyed:
            self._states = KeyStates(self, signature.states, spec.ttl_ms, zone)
            for waiting in self._waiting():
                waiting.open()
        self._timers = self.map_state("timers of the function") if spec.timers else None
        self._take = to_internal(spec.function.columns.not_null(), zone)
        self._code = OpenedCode(spec.values, self)
        self._arguments = self._constants(zone)
        self._context = [Context(self)] if signature.takes_context else []
        self._timer_context = [OnTimerContext(self)] if signature.timer_context else []
        self._function.set_collector(self._collect)
        self.closing.append(self._function)
        try:
            runtime = runtime_context(self)
            self._function.open(FunctionContext(runtime, self.context.task.job_parameters))
        except Exception as error:
            raise self.failed(error, where="open") from error

    def _constants(self, zone: ZoneInfo) -> list[Any]:
        """The arguments of a call, all but the tables."""
        arguments: list[Any] = [None] * len(self._spec.function.signature.arguments)
        (values,) = self._code.run([()])
        given = row_to_external(self._spec.types, zone)(values)
        for place, value in zip(self._spec.places, given, strict=True):
            arguments[place] = value
        return arguments

    def _waiting(self) -> list[WaitingRows]:
        return [table.waiting for table in self._tables if table.waiting is not None]

    # Rows.

    def process_batch(self, batch: Batch) -> None:
        self.process_batch_of(0, batch)

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        self.records_in += len(batch.values)
        if not self._tables:
            for _ in batch.values:
                self._call(self._eval, NO_RECORD)
        else:
            keys = batch.keys if batch.keys is not None else repeat(())
            table = self._tables[input_index]
            if table.waiting is not None:
                table.hold(keys, batch.values, self.watermark)
                return
            self._evaluate(input_index, zip(keys, batch.values, strict=False))
        self._end_batch()

    def _evaluate(self, input_index: int, rows: Iterable[tuple[Any, Row]]) -> None:
        table = self._tables[input_index]
        spec, arguments = table.spec, list(self._arguments)
        self._input, self.timer = input_index, None
        if spec.changes and table.upserts:
            rows = without_old(list(rows))
        for key, row in rows:
            self.time = None if spec.time is None else row[spec.time] // 1000
            self._prefix = table.prefix(row)
            arguments[spec.place] = table.external(row)
            self._key = self.cell.key = key
            self._call(self._eval, row, arguments)
        self._input = None

    def _eval(self, arguments: Sequence[Any] | None = None) -> Any:
        states = self._states.of(self._key) if self._states is not None else ()
        given = self._arguments if arguments is None else arguments
        return self._function.eval(*self._context, *states, *given)

    def _on_timer(self) -> Any:
        assert self._states is not None
        states = self._states.of(self._key)
        wanted = [states[i] for i in self._spec.function.signature.timer_states]
        on_timer: Callable[..., Any] = getattr(self._function, _ON_TIMER)
        return on_timer(*self._timer_context, *wanted)

    def _call(self, method: Callable[..., Any], record: Any, *arguments: Any) -> None:
        try:
            made = method(*arguments)
            if made is not None:
                if isinstance(made, str | bytes | dict | tuple) or not hasattr(made, "__iter__"):
                    raise TypeError(f"rows are yielded or collected, not returned: {made!r}")
                for row in made:
                    self._collect(row)
        except Exception as error:
            raise self.failed(error, record, where=method.__name__.lstrip("_")) from error
        if self._states is not None:
            self._states.end_call(self._key)

    def _collect(self, value: Any) -> None:
        kind = value.get_row_kind() if hasattr(value, "get_row_kind") else RowKind.INSERT
        if kind not in self.mode.kinds:
            expected = ", ".join(k.name for k in _KINDS if k in self.mode.kinds)
            raise ValueError(
                f"Invalid row kind received: {kind.name}. Expected produced changelog mode: "
                f"[{expected}]"
            )
        row = (*self._prefix, *self._take(self._wrapped(value)))
        if self._spec.has_time:
            row = (*row, None if self.time is None else self.time * 1000)
        self._out.append((*row, kind.value) if self._emits_kinds else row)

    def _wrapped(self, value: Any) -> Any:
        """A single value is a row of its own, unless it has come as one to have a kind."""
        return (value,) if self._single and not hasattr(value, "get_row_kind") else value

    def _end_batch(self) -> None:
        if self._states is not None:
            self._states.write()
        out, self._out = self._out, []
        self.emit_rows(out)

    # Time.

    def process_watermark(self, timestamp: int) -> None:
        if timestamp > self.watermark:
            for number, table in enumerate(self._tables):
                if table.waiting is not None:
                    due = table.waiting.release(timestamp)
                    self._evaluate(number, ((key, row) for key, rows in due for row in rows))
            self._end_batch()
        super().process_watermark(timestamp)

    def fire_event_timers(self, until: int) -> None:
        if self._timers is None:
            return
        for time, (key, name) in self.event_timers.pop_due(until):
            self._key = self.cell.key = key
            self._timers.remove((name, None if name is not None else time))
            self.time, self.timer = time, name
            columns = len(self._spec.tables[0].partition)
            self._prefix = (key if columns != 1 else (key,)) * len(self._spec.tables)
            self._call(self._on_timer, NO_RECORD)
        self._end_batch()

    def key_of_timer(self, address: Any) -> Any:
        return address[0]

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        for waiting in self._waiting():
            waiting.store()

    # What contexts ask.

    @property
    def table_watermark(self) -> int | None:
        if self._input is None:
            return None
        return _known(self.watermark_of(self._input))

    @property
    def current_watermark(self) -> int | None:
        return _known(self.watermark)

    def semantics_of(self, table: str) -> TableSemantics:
        for spec in self._spec.tables:
            if spec.name == table:
                return TableSemantics(
                    spec.row_type, spec.partition, spec.order, spec.time, spec.mode
                )
        raise ValueError(f"Unknown table argument: {table}")

    def register_timer(self, name: str | None, time: int) -> None:
        timers = self._known_timers()
        if not hasattr(self._function, _ON_TIMER):
            raise RuntimeError("a function that registers timers has a method on_timer()")
        self.clear_timer(name, time)
        timers.put((name, None if name is not None else time), time)
        self.event_timers.register(time, (self._key, name))

    def clear_timer(self, name: str | None, time: int | None) -> None:
        timers = self._known_timers()
        address = (name, None if name is not None else time)
        known = timers.get(address)
        if known is not None:
            self.event_timers.delete(known, (self._key, name))
            timers.remove(address)

    def clear_timers(self) -> None:
        if self._timers is None:
            return
        for name, time in list(self._timers.keys()):
            self.clear_timer(name, time)

    def clear_states(self, names: list[str] | None) -> None:
        if self._states is not None:
            self._states.clear(names)

    def _known_timers(self) -> Any:
        if self._timers is None:
            raise RuntimeError(
                "Timers are not supported in the current PTF declaration. Note that only PTFs that "
                "take set semantic tables support timers. Also timers are not available for "
                "advanced traits such as supporting pass-through columns or updates."
            )
        return self._timers


class _Table:
    """A table of the function: its rows for users, and those that wait for their turn."""

    def __init__(self, operator: RowOperator, spec: TableSpec, whole: ProcessTableSpec) -> None:
        self.spec = spec
        self.upserts = RowKind.UPDATE_BEFORE not in spec.mode.kinds
        self.waiting: WaitingRows | None = None
        if spec.order:
            name = f"waiting rows of {spec.name}"
            self.waiting = WaitingRows(operator, name, spec.order[0][0], sort_key(spec.order))
        self._repeated = len(whole.tables)
        self._width = len(spec.row_type)
        self._names = spec.row_type.names
        types = [f.data_type for f in spec.row_type.fields]
        self._give = row_to_external(types, ZoneInfo(whole.zone))
        self._make = whole.function.signature.arguments[spec.place].make

    def external(self, row: Row) -> Any:
        """A row as the function gets it."""
        kind = row[-1] if self.spec.changes else INSERT
        values = self._give(row[: self._width])
        if self._make is not None:
            return self._make(*values)
        return row_of(values, self._names, _KINDS[kind])

    def prefix(self, row: Row) -> Row:
        """The columns that come out before those of the function."""
        return tuple([row[i] for i in self.spec.passes]) * self._repeated

    def hold(self, keys: Iterable[Any], rows: Sequence[Row], watermark: int) -> None:
        """Keep rows of a table with an order until their turn; late ones are dropped."""
        assert self.waiting is not None
        column = self.spec.order[0][0]
        for key, row in zip(keys, rows, strict=False):
            if row[column] // 1000 > watermark:
                self.waiting.add(key, row)


def _known(watermark: int) -> int | None:
    return None if watermark == MIN_TIMESTAMP else watermark
