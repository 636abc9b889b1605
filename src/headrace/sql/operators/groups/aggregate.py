"""Group aggregates: accumulators for each key, and the net change of an epoch comes out.

A row that comes and goes within an epoch leaves no trace in the output, and a key that changes a
thousand times is updated once: what Flink calls mini-batch, without waiting for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch, LazyBatch
from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    HoldingOperator,
    NetChangeOperator,
)
from headrace.sql.operators.groups.column_groups import ColumnGroups
from headrace.sql.operators.groups.specs import (
    ColumnsAggregateSpec,
    GroupAggregateSpec,
    LocalAggregateSpec,
)
from headrace.sql.segments.columns import RowsOfColumns

_STATE = "accumulators"
_MOST_LOCAL = 200_000


class LocalAggregateOperator(HoldingOperator):
    """Aggregates what one sender has; emits `(key, accumulator)` at the end of the epoch."""

    def __init__(self, spec: LocalAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = itemgetter(*spec.key) if spec.key else None
        self._add = spec.code.add.load()
        create = spec.code.create.load()
        self._create = lambda key: create()
        self._accumulators: dict[Any, list[Any]] = {}
        self._merge_all = spec.code.merge_all.load()
        self._columns = None if spec.places is None else ColumnGroups(spec.key, spec.places)

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch)
        if not self._take_columns(batch):
            self._add_rows(batch.values)
        if len(self._accumulators) > _MOST_LOCAL:
            self.flush()

    def _add_rows(self, rows: list[Any]) -> None:
        keys: Any = repeat((), len(rows)) if self._key is None else map(self._key, rows)
        try:
            self._add(keys, rows, self._accumulators, self._create)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error

    def _take_columns(self, batch: Batch) -> bool:
        columns = self._columns
        if columns is None or not isinstance(batch, LazyBatch):
            return False
        if not columns.add(batch.columns, len(batch)):
            return False
        if columns.full:
            self._merge_columns()
        return True

    def _merge_columns(self) -> None:
        if self._columns is not None:
            self._merge_all(self._accumulators, self._columns.take(), lambda key, other: other)

    def flush(self) -> None:
        self._merge_columns()
        if self._accumulators:
            self.output.emit(Batch(list(self._accumulators.items())))
            self._accumulators = {}


class ColumnsAggregateOperator(LocalAggregateOperator):
    """Aggregates Arrow batches of Spark; only what cannot be computed of columns becomes rows."""

    def __init__(self, spec: ColumnsAggregateSpec) -> None:
        super().__init__(spec)
        self._layout = RowsOfColumns(spec.width, spec.positions)

    def process_batch(self, batch: Batch) -> None:
        for columns in batch.values:
            super().process_batch(self._layout.lazy(columns))


class GroupAggregateOperator(NetChangeOperator):
    """Adds and takes back rows, or merges accumulators, and emits a changelog."""

    takes_keys_in_turn = True

    def __init__(self, spec: GroupAggregateSpec) -> None:
        super().__init__(spec.emission, spec.bundle)
        self._spec = spec
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._merge_all = spec.code.merge_all.load()
        self._value = spec.code.value.load()
        self._rows = spec.code.rows.load()
        self._state: Any
        # Of this epoch: accumulators that were touched, and the results that they had before.
        self._touched: dict[Any, list[Any]] = {}
        self._before: dict[Any, tuple[Any, ...]] = {}
        self._emitted = False

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE, self._spec.ttl_ms)

    def _load(self, key: Any) -> list[Any]:
        self.cell.key = key
        accumulator: list[Any] | None = self._state.value()
        if accumulator is None:
            created: list[Any] = self._create()
            return created
        self._before[key] = self._value(accumulator)
        return accumulator

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        try:
            if self._spec.merges:
                self._merge_all(self._touched, rows, lambda key, other: self._load(key))
            else:
                self._add(keys, rows, self._touched, self._load)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error

    def finish(self) -> None:
        super().finish()
        if self._spec.always and not self._emitted:
            self.emit_rows([self._value(self._create())])

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        if self.final_only:
            self._store()

    def _store(self) -> None:
        """Batch mode keeps results back, but not its state."""
        self.store(self._state, self._touched)

    def flush(self) -> None:
        """Emit what changed since the last time."""
        if not self._touched:
            return
        self._emitted = True
        value, cell, state, before = self._value, self.cell, self._state, self._before
        single, renews = self._spec.keys == 1, self._spec.renews
        goes, comes = (DELETE, INSERT) if renews else (UPDATE_BEFORE, UPDATE_AFTER)
        if self.final_only:
            self._emit_final(single)
            return
        out: list[tuple[Any, ...]] = []
        for key, accumulator in self._touched.items():
            cell.key = key
            old = before.get(key)
            head = (key,) if single else key
            if accumulator[0] <= 0 and self._spec.retracts:
                if old is not None:
                    state.clear()
                    out.append((*head, *old, DELETE))
                continue
            new = value(accumulator)
            state.update(accumulator)
            if old is None:
                out.append((*head, *new, INSERT))
            elif old != new or renews:
                out.append((*head, *old, goes))
                out.append((*head, *new, comes))
        self.forget_key()
        self._touched = {}
        self._before = {}
        self.emit_rows(out)

    def _emit_final(self, single: bool) -> None:
        """Results alone, without kinds: nothing changes them any more."""
        rows = self._rows(self._touched.items(), single, ())
        self._touched = {}
        self._before = {}
        self.emit_rows(rows)
