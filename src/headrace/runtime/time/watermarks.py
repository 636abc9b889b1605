"""Timestamps and watermarks of one stream: an assigner, a generator, idleness."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from headrace.common.watermark_strategy import (
    BatchWatermarkGenerator,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkStrategy,
)
from headrace.runtime.batch import MIN_TIMESTAMP, Batch
from headrace.runtime.failure import UserCodeFailure, record_at
from headrace.runtime.time.idleness import IdleTimer


class WatermarkTracker:
    """Assigns timestamps to the batches of one stream (or split) and keeps its watermark.

    `emit_batch` is called with pieces of the batch, `on_change` whenever watermark or idleness
    changed; a generator that reacts to single records cuts the batch at these places.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        clock: Callable[[], int],
        interval_ms: int,
        on_change: Callable[[], None],
    ) -> None:
        self._assign = strategy.timestamp_function()
        self._generator = strategy.create_generator()
        self._by_batch = isinstance(
            self._generator, NoWatermarksGenerator | BoundedOutOfOrdernessWatermarks
        )
        self._of_records: BatchWatermarkGenerator | None = None
        if isinstance(self._generator, BatchWatermarkGenerator):
            self._of_records = self._generator
        self._silent = isinstance(self._generator, NoWatermarksGenerator) or interval_ms <= 0
        self._interval_ms = interval_ms
        self._on_change = on_change
        self._finds_idleness = strategy.idle_timeout_ms is not None
        self._idle_timer = IdleTimer(strategy.idle_timeout_ms, clock)
        self._next_emit_ms = clock() + interval_ms
        self._news = False
        self.watermark = MIN_TIMESTAMP
        self.idle = False
        self.held = False
        """Nothing is read for now, so that it means nothing that no records come."""

    def process(self, batch: Batch, emit_batch: Callable[[Batch], None]) -> None:
        """Assign timestamps, let the generator see them, and pass the records on."""
        batch = self._with_timestamps(batch)
        self._idle_timer.reset()
        self._news = True
        if self.idle and self._finds_idleness:
            self.mark_active()
        if self._of_records is not None:
            emit_batch(batch)
            self._of_records.on_records(batch.values, self)
            return
        if not self._by_batch:
            self._record_by_record(batch, emit_batch)
            return
        stamps = batch.timestamps
        if stamps is not None and not self._silent:
            if None in stamps:
                stamps = [stamp for stamp in stamps if stamp is not None]
            self._generator.on_batch(stamps)  # type: ignore[attr-defined]
        emit_batch(batch)

    def _with_timestamps(self, batch: Batch) -> Batch:
        assign = self._assign
        if assign is None:
            # Records may go without a timestamp until something asks for it: a window does.
            return batch
        values = batch.values
        rows = iter(values)
        before: Any = repeat(MIN_TIMESTAMP)
        if batch.timestamps is not None:
            before = [MIN_TIMESTAMP if t is None else t for t in batch.timestamps]
        try:
            stamps = list(map(assign, rows, before))
        except Exception as error:
            raise UserCodeFailure.of(error, record_at(values, rows), "extract_timestamp") from error
        if len(stamps) != len(values):
            stopped = RuntimeError("extract_timestamp raised StopIteration")
            raise UserCodeFailure.of(stopped, values[len(stamps)], "extract_timestamp")
        if set(map(type, stamps)) != {int}:
            stamps = [_as_timestamp(s, v) for s, v in zip(stamps, values, strict=True)]
        return Batch(values, stamps)

    def _record_by_record(self, batch: Batch, emit_batch: Callable[[Batch], None]) -> None:
        values, stamps = batch.values, batch.timestamps
        on_event, start = self._generator.on_event, 0
        value = None
        before = (self.watermark, self.idle)
        for position, value in enumerate(values):
            stamp = None if stamps is None else stamps[position]
            held, self._on_change = self._on_change, _nothing
            try:
                on_event(value, MIN_TIMESTAMP if stamp is None else stamp, self)
            except Exception as error:
                raise UserCodeFailure.of(error, value, "on_event") from error
            finally:
                self._on_change = held
            if (self.watermark, self.idle) != before:
                before = (self.watermark, self.idle)
                emit_batch(_slice(batch, start, position + 1))
                start = position + 1
                self._on_change()
        if start < len(values):
            emit_batch(_slice(batch, start, len(values)))

    def process_time(self, now: int) -> None:
        """Emit periodically."""
        if not self._silent and now >= self._next_emit_ms:
            self._next_emit_ms = now + self._interval_ms
            self.emit_now()

    def found_nothing(self) -> None:
        """The stream has nothing to read now: find out whether it is idle."""
        if self._idle_timer.found_nothing():
            self.mark_idle()

    def emit_now(self) -> None:
        """Ask the generator for its watermark."""
        self._news = False
        if self.idle and self._finds_idleness:
            return
        try:
            self._generator.on_periodic_emit(self)
        except Exception as error:
            raise UserCodeFailure.of(error, where="on_periodic_emit") from error

    def wake_up_at(self) -> int | None:
        """When `process_time` has something to do although no record comes."""
        times = []
        steady = self._by_batch or self._of_records is not None
        if not self._silent and (self._news or not steady):
            times.append(self._next_emit_ms)
        idle_at = None if self.idle or self.held else self._idle_timer.due_at
        if idle_at is not None:
            times.append(idle_at)
        return min(times, default=None)

    # The generator's WatermarkOutput.

    def emit_watermark(self, watermark: Watermark | int) -> None:
        timestamp = watermark.timestamp if isinstance(watermark, Watermark) else int(watermark)
        was_idle, self.idle = self.idle, False
        if timestamp > self.watermark:
            self.watermark = timestamp
            self._on_change()
        elif was_idle:
            self._on_change()

    def mark_idle(self) -> None:
        if not self.idle:
            self.idle = True
            self._on_change()

    def mark_active(self) -> None:
        if self.idle:
            self.idle = False
            self._on_change()


def _nothing() -> None:
    pass


def _slice(batch: Batch, start: int, end: int) -> Batch:
    stamps = batch.timestamps
    return Batch(batch.values[start:end], None if stamps is None else list(stamps[start:end]))


def _as_timestamp(stamp: Any, value: Any) -> int:
    try:
        if stamp is not None and not isinstance(stamp, str) and int(stamp) == stamp:
            return int(stamp)
    except (TypeError, ValueError):
        pass
    raise UserCodeFailure.of(
        TypeError(
            f"the timestamp assigner returned {stamp!r}; it must return milliseconds as an int"
        ),
        value,
        "extract_timestamp",
    )
