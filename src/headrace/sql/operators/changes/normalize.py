"""All changes of a stream that has for each key but its newest row, or that it is gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    NetChangeOperator,
)
from headrace.sql.operators.changes.specs import ChangelogNormalizeSpec


class ChangelogNormalizeOperator(NetChangeOperator):
    """Keeps the last row of each key; the deletion of an unknown key is dropped."""

    def __init__(self, spec: ChangelogNormalizeSpec) -> None:
        super().__init__(spec.emission)
        self._ttl_ms = spec.ttl_ms
        self._state: Any
        self._before: dict[Any, Any] = {}
        self._touched: dict[Any, Any] = {}

    def open(self) -> None:
        self._state = self.value_state("row", self._ttl_ms)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        for key, row in zip(keys, rows, strict=True):
            if row[-1] == UPDATE_BEFORE:
                continue  # the row after it says the same
            if key not in self._before:
                self.cell.key = key
                self._before[key] = self._state.value()
            self._touched[key] = None if row[-1] & 1 else row[:-1]
        self.forget_key()

    def flush(self) -> None:
        out: list[tuple[Any, ...]] = []
        for key, row in self._touched.items():
            old = self._before[key]
            if row == old:
                continue
            self.cell.key = key
            if row is None:
                self._state.clear()
                out.append((*old, DELETE))
                continue
            self._state.update(row)
            if old is None:
                out.append((*row, INSERT))
            else:
                out += [(*old, UPDATE_BEFORE), (*row, UPDATE_AFTER)]
        self.forget_key()
        self._touched = {}
        self._before = {}
        self.emit_rows(out)
