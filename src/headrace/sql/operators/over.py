"""OVER: aggregates of the rows of a key up to each row, by time."""

from __future__ import annotations

from collections import deque
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator
from headrace.sql.specs import OverSpec

_STATE = "over"


class OverOperator(RowOperator):
    """Waits for the watermark where time is event time, so that rows are seen in order.

    For each key it keeps the accumulator, the rows of the frame where that is bounded, and the rows
    that are not due yet.
    """

    def __init__(self, spec: OverSpec) -> None:
        super().__init__()
        self._spec = spec
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._value = spec.code.value.load()
        self._state: Any
        self._pending: dict[Any, list[Any]] = {}

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE)
        self._waiting = self.value_state("waiting")
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys("waiting"):
            self.cell.key = key
            self._pending[key] = list(self._waiting.value())
        self.forget_key()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        if self._spec.event_time:
            column, watermark = self._spec.time, self.watermark
            for key, row in zip(batch.keys, batch.values, strict=True):
                if row[column] // 1000 > watermark:
                    self._pending.setdefault(key, []).append(row)
            return
        out: list[tuple[Any, ...]] = []
        for key, row in zip(batch.keys, batch.values, strict=True):
            self._advance(key, [row], out)
        self.emit_rows(out)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        if self._pending:
            self._fire(timestamp)
        self.output.watermark(timestamp)

    def _fire(self, until: int) -> None:
        column = self._spec.time
        out: list[tuple[Any, ...]] = []
        for key, rows in list(self._pending.items()):
            due = sorted((r for r in rows if r[column] // 1000 <= until), key=lambda r: r[column])
            if not due:
                continue
            rest = [r for r in rows if r[column] // 1000 > until]
            if rest:
                self._pending[key] = rest
            else:
                del self._pending[key]
            self._advance(key, due, out)
        self.emit_rows(out)

    def _advance(self, key: Any, rows: list[Any], out: list[tuple[Any, ...]]) -> None:
        """Emit rows, in the order of time, with the aggregates of the rows up to them."""
        self.cell.key = key
        held = self._state.value()
        frame: deque[Any] = deque() if held is None else held[1]
        accumulator = self._create() if held is None else held[0]
        if self._spec.rows:
            for row in rows:
                accumulator = self._step(accumulator, frame, [row])
                out.append((*row, *self._value(accumulator)))
        else:
            for peers in self._peers(rows):
                accumulator = self._step(accumulator, frame, peers)
                value = self._value(accumulator)
                out += [(*row, *value) for row in peers]
        self._state.update([accumulator, frame])
        self.forget_key()

    def _peers(self, rows: list[Any]) -> list[list[Any]]:
        """Rows of the same time count together in a frame by RANGE."""
        if not self._spec.event_time:
            return [[r] for r in rows]
        groups: dict[int, list[Any]] = {}
        for row in rows:
            groups.setdefault(row[self._spec.time], []).append(row)
        return list(groups.values())

    def _step(self, accumulator: list[Any], frame: deque[Any], rows: list[Any]) -> list[Any]:
        """The accumulator after rows came, and others left the frame."""
        spec = self._spec
        if spec.start is None:
            self._add([0] * len(rows), rows, {0: accumulator}, None)
            return accumulator
        frame.extend(rows)
        if spec.rows:
            while len(frame) > spec.start + 1:
                frame.popleft()
        else:
            column = spec.time
            oldest = rows[0][column] - spec.start * 1000
            while frame and frame[0][column] < oldest:
                frame.popleft()
        # Taking rows back needs more state than adding the frame again: frames are short.
        fresh: list[Any] = self._create()
        self._add([0] * len(frame), frame, {0: fresh}, None)
        return fresh

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        backend = self.context.backend
        assert backend is not None
        for self.cell.key in [k for k in backend.keys("waiting") if k not in self._pending]:
            self._waiting.clear()
        self.store(self._waiting, self._pending)
