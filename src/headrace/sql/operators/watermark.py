"""Watermarks of a column: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.operator import Operator
from headrace.runtime.time.idleness import IdleTimer
from headrace.sql.operators.specs import WatermarkSpec


class WatermarkOperator(Operator):
    """After each batch, or row, the largest value of the watermark's expression so far."""

    changes_records = False

    def __init__(self, spec: WatermarkSpec) -> None:
        super().__init__()
        self._spec = spec
        self._run: Callable[[list[Any]], list[Any]] | None = None
        self._idle = False
        self._idle_timer: IdleTimer

    def open(self) -> None:
        if self._spec.code is not None:
            self._run = self._spec.code.load()
        self._idle_timer = IdleTimer(self._spec.idle_timeout_ms, self.context.clock)

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        column = self._spec.column
        times = [row[column] for row in rows]
        if None in times:
            error = HeadraceError(
                "RowTime field should not be null, please convert it to a non-null long value."
            )
            raise self.failed(error, rows[times.index(None)], where="watermark")
        self._idle_timer.reset()
        if self._idle:
            self._idle = False
            self.output.status(False)
        if self._run is None:
            self.output.emit(batch)
            return
        if self._spec.rise_ms is not None:
            self._row_by_row(batch, self._marks(rows), self._spec.rise_ms)
            return
        self.output.emit(batch)
        if self._spec.follows:
            rows = [rows[times.index(max(times))]]
        self._advance(self._marks(rows))

    def _row_by_row(self, batch: Batch, marks: list[Any], rise_ms: int) -> None:
        """A row that comes after a watermark in Flink comes after it here, and may be late."""
        start = 0
        for end, mark in enumerate(marks, 1):
            if mark is not None and mark // 1000 - self.watermark > rise_ms:
                self.output.emit(Batch(batch.values[start:end]))
                self._advance([mark])
                start = end
        if start < len(batch):
            self.output.emit(Batch(batch.values[start:]))
        self._advance(marks)

    def _marks(self, rows: list[Any]) -> list[Any]:
        assert self._run is not None
        try:
            return self._run(rows)
        except Exception as error:
            raise self.failed(error, where="watermark") from error

    def _advance(self, marks: list[Any]) -> None:
        known = [m for m in marks if m is not None]
        if known:
            super().process_watermark(max(known) // 1000)

    def process_watermark(self, timestamp: int) -> None:
        """Marks of the source count only where there is no expression, or at the end."""
        if self._run is None or timestamp == MAX_TIMESTAMP:
            super().process_watermark(timestamp)

    def look_for_idleness(self) -> None:
        if not self._idle and self._idle_timer.found_nothing():
            self._idle = True
            self.output.status(True)

    def wake_up_at(self) -> int | None:
        return None if self._idle else self._idle_timer.due_at
