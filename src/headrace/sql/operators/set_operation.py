"""INTERSECT and EXCEPT: how often each row is on the two sides decides how often it comes out."""

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
from headrace.sql.operators.specs import SetOperationSpec

_STATE = "counts"


class SetOperationOperator(NetChangeOperator):
    """The whole row is the key; the net change of an epoch comes out.

    With every single change and ALL, the copies of a row are an update of those before, as in
    Flink, where they are made of the count of a group.
    """

    def __init__(self, spec: SetOperationSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._state: Any
        self._touched: dict[Any, list[int]] = {}
        self._before: dict[Any, list[int]] = {}

    def open(self) -> None:
        self._state = self.value_state(_STATE, self._spec.ttl_ms)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        final = self.final_only
        for key, row in zip(keys, rows, strict=True):
            counts = self._touched.get(key)
            if counts is None:
                self.cell.key = key
                counts = self._touched[key] = self._state.value() or [0, 0]
                self._before[key] = list(counts)
            counts[input_index] += -1 if not final and row[-1] & 1 else 1

    def _times(self, counts: list[int]) -> int:
        """How often the row comes out."""
        left, right = counts
        if self._spec.operation == "INTERSECT":
            return min(left, right) if self._spec.all else int(left > 0 and right > 0)
        return max(left - right, 0) if self._spec.all else int(left > 0 and right <= 0)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._touched)

    def flush(self) -> None:
        out: list[tuple[Any, ...]] = []
        for key, counts in self._touched.items():
            self.cell.key = key
            row = key if isinstance(key, tuple) else (key,)
            before = self._before[key]
            if any(counts):
                self._state.update(counts)
            else:
                self._state.clear()
            if self.final_only:
                out += [row] * self._times(counts)
            elif self._every_change and self._spec.all:
                old, new = any(before), any(counts)
                out += [(*row, UPDATE_BEFORE if new else DELETE)] * self._times(before)
                out += [(*row, UPDATE_AFTER if old else INSERT)] * self._times(counts)
            else:
                change = self._times(counts) - self._times(before)
                out += [(*row, INSERT if change > 0 else DELETE)] * abs(change)
        self.forget_key()
        self._touched = {}
        self._before = {}
        self.emit_rows(out)
