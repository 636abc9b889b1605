"""What operators on rows have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from headrace.datastream.state import MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from headrace.datastream.state_ttl import StateTtlConfig
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.failure import NO_RECORD
from headrace.runtime.operator import Operator
from headrace.runtime.state.key_cell import NO_KEY, KeyCell
from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.emission import Emission

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
"""Kinds of rows, at the end of a changelog's rows; an odd one takes a row back."""


class RowOperator(Operator):
    """An operator whose keyed state is addressed by `cell`."""

    changes_records = False

    def __init__(self) -> None:
        super().__init__()
        self.cell = KeyCell()
        self.closing: list[Any] = []

    def value_state(self, name: str, ttl_ms: int = 0, namespaced: bool = False) -> Any:
        """A value for each key, kept for a while after it was last written."""
        return self.state_of(ValueStateDescriptor(name), ttl_ms, namespaced)

    def map_state(self, name: str, ttl_ms: int = 0) -> Any:
        """A map for each key, whose entries are kept for a while after they were last written."""
        return self.state_of(MapStateDescriptor(name), ttl_ms)

    def state_of(
        self, descriptor: StateDescriptor, ttl_ms: int = 0, namespaced: bool = False
    ) -> Any:
        """State of each key, kept for a while after it was last written."""
        backend = self.context.backend
        assert backend is not None, f"{self.context.name} has no key"
        if ttl_ms:
            descriptor.enable_time_to_live(
                StateTtlConfig.new_builder(timedelta(milliseconds=ttl_ms)).build()
            )
        return backend.get_or_create(descriptor, self.cell, namespaced)

    def store(self, state: Any, values: dict[Any, Any]) -> None:
        """Write values of several keys to a state."""
        for key, value in values.items():
            self.cell.key = key
            state.update(value)
        self.forget_key()

    def forget_key(self) -> None:
        self.cell.key = NO_KEY

    def open_functions(self, functions: Sequence[Any]) -> None:
        """Open users' aggregate functions; `close` closes them."""
        self.closing += functions
        for function in functions:
            try:
                function.open(self)
            except Exception as error:
                raise self.failed(error, where="open") from error

    def close(self) -> None:
        """Close what was opened: `closing` has it."""
        for opened in self.closing:
            opened.close()

    def emit_rows(self, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            self.output.emit(Batch(rows))

    def failed_in(self, code: Callable[[list[Any]], Any], rows: list[Any], error: Exception) -> Any:
        """The failure of generated code, with the row it was at."""
        record: Any = NO_RECORD
        for row in rows:
            try:
                code([row])
            except Exception:  # noqa: BLE001 - to find the row; the failure is known
                record = row
                break
        return self.failed(error, record, where=f"expressions of {self.context.name}")


class HoldingOperator(RowOperator):
    """Collects what comes in an epoch, and emits when the epoch or the input ends."""

    def flush(self) -> None:
        """Emit what changed since the last time."""
        raise NotImplementedError

    def end_epoch(self) -> None:
        self.flush()

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self.flush()
        super().process_watermark(timestamp)

    def finish(self) -> None:
        self.flush()


class NetChangeOperator(HoldingOperator):
    """Collects what an epoch touches, and emits the net change of it, or of every bundle of rows.

    A bundle is a single row, unless there is more to say about it.
    """

    def __init__(self, emission: Emission, bundle: int = 1) -> None:
        super().__init__()
        self._every_change = emission is Emission.EVERY_CHANGE
        self._bundle = self._missing = bundle
        self.final_only = emission is Emission.FINAL

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        """Rows of an input with their keys."""
        raise NotImplementedError

    def process_batch(self, batch: Batch) -> None:
        self.process_batch_of(0, batch)

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        keys, rows = batch.keys, batch.values
        assert keys is not None
        self.records_in += len(rows)
        if not self._every_change:
            self.take(input_index, keys, rows)
            return
        start = 0
        while start < len(rows):
            some = slice(start, start + self._missing)
            self.take(input_index, keys[some], rows[some])
            self._missing -= len(rows[some])
            start = some.stop
            if not self._missing:
                self._missing = self._bundle
                self.flush()

    def end_keys(self) -> None:
        """What is known of the keys goes out: nothing more comes for them."""
        self.flush()

    def end_epoch(self) -> None:
        if not self.final_only:
            self._missing = self._bundle
            self.flush()


class OpenedCode:
    """Generated code with its user-defined functions, opened and closed with the operator."""

    def __init__(self, code: GeneratedCode, operator: RowOperator) -> None:
        for _, function in code.functions:
            function.open(operator)
            operator.closing.append(function)
        self.run = code.load(dict(code.functions))


def without_old(rows: Sequence[tuple[Any, tuple[Any, ...]]]) -> list[tuple[Any, tuple[Any, ...]]]:
    """Rows with their keys, for those to whom a new row replaces the one of its key.

    A row before an update is left out if the key has a row afterwards; else it goes, as its key
    may not come back: an operator may update a row of one key to one of another.
    """
    if all(row[-1] != UPDATE_BEFORE for _, row in rows):
        return list(rows)
    replaced: set[Any] = set()
    found = []
    for key, row in reversed(rows):
        kind = row[-1]
        if kind != UPDATE_BEFORE:
            replaced.add(key)
        elif key in replaced:
            continue
        else:
            row = (*row[:-1], DELETE)
        found.append((key, row))
    found.reverse()
    return found


def zone_of(name: str | None) -> ZoneInfo | None:
    """A zone whose clock differs from UTC; None otherwise."""
    return None if name in (None, "UTC", "Etc/UTC", "Z") else ZoneInfo(str(name))
