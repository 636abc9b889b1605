"""The row that counts for each key of a sink, where several rows of a query may have that key."""

from __future__ import annotations

from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import DELETE, INSERT, UPDATE_AFTER, RowOperator
from headrace.sql.operators.changes.specs import UpsertMaterializeSpec

_STATE = "rows"


class UpsertMaterializeOperator(RowOperator):
    """Keeps all rows that a key has now, in the order in which they came. The last one counts.

    When it goes, the one before it counts again; only when the last one left goes is the key
    deleted. A row that is taken back but is not there has outlived the state's time to live.
    """

    def __init__(self, spec: UpsertMaterializeSpec) -> None:
        super().__init__()
        self._ttl_ms = spec.ttl_ms
        self._state: Any

    def open(self) -> None:
        self._state = self.value_state(_STATE, self._ttl_ms)

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        before: dict[Any, list[Any]] = {}
        now: dict[Any, list[Any]] = {}
        for key, change in zip(batch.keys, batch.values, strict=True):
            rows = now.get(key)
            if rows is None:
                self.cell.key = key
                before[key] = self._state.value() or []
                rows = now[key] = list(before[key])
            row = change[:-1]
            if not change[-1] & 1:
                rows.append(row)
            elif row in rows:
                rows.remove(row)
        self._keep(before, now)
        self.emit_rows([c for key in now for c in _net(before[key], now[key])])

    def _keep(self, before: dict[Any, list[Any]], now: dict[Any, list[Any]]) -> None:
        for key, rows in now.items():
            self.cell.key = key
            if rows:
                self._state.update(rows)
            elif before[key]:
                self._state.clear()
        self.forget_key()


def _net(before: list[Any], now: list[Any]) -> list[tuple[Any, ...]]:
    """What the sink has to be told."""
    if not now:
        return [(*before[-1], DELETE)] if before else []
    if not before:
        return [(*now[-1], INSERT)]
    return [] if before[-1] == now[-1] else [(*now[-1], UPDATE_AFTER)]
