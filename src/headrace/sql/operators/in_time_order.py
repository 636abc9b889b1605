"""Rows of a key in the order of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator

_WAITING = "waiting"


class InTimeOrderOperator(RowOperator):
    """Gives the rows of each key to `advance`, in the order of their time.

    In event time rows wait for the watermark, and late ones are dropped unless `takes_late` wants
    them; in processing time they come as they arrive.
    """

    def __init__(self, time: int, event_time: bool, order: Callable[[Any], Any]) -> None:
        super().__init__()
        self._time = time
        self._event_time = event_time
        self._order = order
        self._pending: dict[Any, list[Any]] = {}

    def advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        """Take rows of a key, none of them before those that came already."""
        raise NotImplementedError

    def advance_time(self, until: int, out: list[tuple[Any, ...]]) -> None:
        """The watermark; its rows were taken already."""

    def takes_late(self, key: Any, time: int) -> bool:
        """Whether a row of a time that the watermark has passed counts all the same."""
        return False

    def open(self) -> None:
        self._waiting = self.value_state(_WAITING)
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys(_WAITING):
            self.cell.key = key
            self._pending[key] = list(self._waiting.value())
        self.forget_key()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        if self._event_time:
            column, watermark = self._time, self.watermark
            for key, row in zip(batch.keys, batch.values, strict=True):
                time = row[column] // 1000
                if time > watermark or self.takes_late(key, time):
                    self._pending.setdefault(key, []).append(row)
            return
        out: list[tuple[Any, ...]] = []
        for key, row in zip(batch.keys, batch.values, strict=True):
            self.advance(key, [row], out)
        self.emit_rows(out)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        if self._event_time:
            out: list[tuple[Any, ...]] = []
            self._release(timestamp, out)
            self.advance_time(timestamp, out)
            self.emit_rows(out)
        self.output.watermark(timestamp)

    def _release(self, until: int, out: list[tuple[Any, ...]]) -> None:
        column = self._time
        for key, rows in list(self._pending.items()):
            due = sorted((r for r in rows if r[column] // 1000 <= until), key=self._order)
            if not due:
                continue
            rest = [r for r in rows if r[column] // 1000 > until]
            if rest:
                self._pending[key] = rest
            else:
                del self._pending[key]
            self.advance(key, due, out)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        backend = self.context.backend
        assert backend is not None
        for self.cell.key in [k for k in backend.keys(_WAITING) if k not in self._pending]:
            self._waiting.clear()
        self.store(self._waiting, self._pending)
