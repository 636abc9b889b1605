"""Watermarks of a column: WATERMARK FOR ts AS ts - INTERVAL '5' SECOND."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.idleness import IdleTimer
from headrace.runtime.operator import Operator
from headrace.sql.operators.specs import WatermarkSpec


class WatermarkOperator(Operator):
    """After each batch, the largest value of the watermark's expression so far."""

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
        self.output.emit(batch)
        if self._run is None:
            return
        try:
            if self._spec.follows:
                rows = [rows[times.index(max(times))]]
            marks = [m for m in self._run(rows) if m is not None]
        except Exception as error:
            raise self.failed(error, where="watermark") from error
        if marks:
            super().process_watermark(max(marks) // 1000)

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
