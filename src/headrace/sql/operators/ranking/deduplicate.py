"""The last row of each key by time, or the first one that comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.operators.base import INSERT, UPDATE_AFTER, UPDATE_BEFORE, NetChangeOperator
from headrace.sql.operators.ranking.specs import DeduplicateSpec

_STATE = "row"


class DeduplicateOperator(NetChangeOperator):
    """Lets first rows through; for last ones it emits a changelog."""

    def __init__(self, spec: DeduplicateSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._state: Any
        self._touched: dict[Any, Any] = {}
        self._before: dict[Any, Any] = {}
        self._plain = not spec.last

    def open(self) -> None:
        self._state = self.value_state(_STATE, self._spec.ttl_ms)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        touched, before, cell, state = self._touched, self._before, self.cell, self._state
        column = self._spec.order if self._spec.event_time else None
        out = []
        for key, row in zip(keys, rows, strict=True):
            if key in touched:
                held = touched[key]
            else:
                cell.key = key
                held = before[key] = touched[key] = state.value()
            if held is not None:
                replaces = self._spec.last if column is None else row[column] >= held[column]
                if not replaces:
                    continue
            touched[key] = row
            if self._plain:
                out.append(row)
        self.forget_key()
        self.emit_rows(out)

    def flush(self) -> None:
        out: list[tuple[Any, ...]] = []
        for key, row in self._touched.items():
            self.cell.key = key
            old = self._before[key]
            if row is old:
                continue
            self._state.update(row)
            if self._plain:
                continue
            if old is None:
                out.append((*row, INSERT))
            elif old != row or (self._every_change and self._spec.event_time):
                out += [(*old, UPDATE_BEFORE), (*row, UPDATE_AFTER)]
        self.forget_key()
        self._touched = {}
        self._before = {}
        self.emit_rows(out)
