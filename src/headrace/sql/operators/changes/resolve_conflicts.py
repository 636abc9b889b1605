"""ON CONFLICT DO NOTHING and DO ERROR: rows of a query that have the same key of a sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import DELETE, INSERT, UPDATE_AFTER, RowOperator
from headrace.sql.operators.changes.specs import ResolveConflictsSpec
from headrace.sql.operators.order.in_time import HeldRows

_ROW = "row"
_CHANGES = "changes"

Row = tuple[Any, ...]


class ResolveConflictsOperator(RowOperator):
    """Holds the changes of each key until the watermark rises, and sees then which rows are left.

    Until then, a row may come before the one that it replaces has gone.
    """

    def __init__(self, spec: ResolveConflictsSpec) -> None:
        super().__init__()
        self._spec = spec
        self._same = tuple if spec.row_key is None else _columns(spec.row_key)
        self._held = HeldRows(self, _CHANGES)

    def open(self) -> None:
        self._row = self.value_state(_ROW, self._spec.ttl_ms)
        self._held.open()

    def process_batch(self, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        changes = self._spec.changes
        for key, row in zip(batch.keys, batch.values, strict=True):
            self._held.add(key, row if changes else (*row, INSERT))

    def process_watermark(self, timestamp: int) -> None:
        if timestamp > self.watermark:
            out: list[Row] = []
            for key, changes in self._held.by_key.items():
                self.cell.key = key
                self._resolve(key, changes, out)
            self._held.by_key.clear()
            self.forget_key()
            self.emit_rows(out)
        super().process_watermark(timestamp)

    def _resolve(self, key: Any, changes: list[Row], out: list[Row]) -> None:
        before = self._row.value()
        rows = self._rows(before, _net(changes))
        if len(rows) > 1 and self._spec.fails:
            raise self.failed(self._conflict(key))
        if len(rows) > 1 and before is not None:
            return
        now = rows[0] if rows else None
        if now == before:
            return
        if now is None:
            self._row.clear()
            out.append((*before, DELETE))
            return
        self._row.update(now)
        out.append((*now, INSERT if before is None else UPDATE_AFTER))

    def _rows(self, before: Row | None, changes: Sequence[Row]) -> list[Row]:
        """The rows that a key has after changes; those of the same row of the query are one."""
        rows: dict[Any, list[Row]] = {} if before is None else {self._same(before): [before]}
        keyed = self._spec.row_key is not None
        for *values, kind in changes:
            row = tuple(values)
            same = self._same(row)
            if not kind & 1 and keyed:
                rows[same] = [row]
            elif not kind & 1:
                rows.setdefault(same, []).append(row)
            elif same in rows:
                rows[same].pop()
                if not rows[same]:
                    del rows[same]
        return [row for alike in rows.values() for row in alike]

    def _conflict(self, key: Any) -> ValueError:
        values = key if len(self._spec.names) > 1 else (key,)
        shown = ", ".join(f"{n}={v}" for n, v in zip(self._spec.names, values, strict=True))
        return ValueError(
            "Primary key constraint violation: multiple distinct records with the same primary key "
            f"detected. Conflicting key: [{shown}]. Use ON CONFLICT DO NOTHING to keep the first "
            "record."
        )

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self._held.store()


def _columns(indices: Sequence[int]) -> Callable[[Row], Any]:
    return itemgetter(*indices) if indices else lambda row: ()


def _net(changes: Sequence[Row]) -> list[Row]:
    """Changes without those that take each other back, whichever of both came first."""
    left: Counter[Row] = Counter()
    for change in changes:
        left[change[:-1]] += -1 if change[-1] & 1 else 1
    found = []
    for change in reversed(changes):
        row, sign = change[:-1], -1 if change[-1] & 1 else 1
        if left[row] * sign > 0:
            left[row] -= sign
            found.append(change)
    return found[::-1]
