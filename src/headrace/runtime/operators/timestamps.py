"""assign_timestamps_and_watermarks in the middle of a stream."""

from __future__ import annotations

from headrace.graph.specs import TimestampsSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.operator import Operator
from headrace.runtime.time.watermarks import WatermarkTracker


class TimestampsOperator(Operator):
    """Replaces timestamps and watermarks; of those from above only the last, the maximum, stays."""

    def __init__(self, spec: TimestampsSpec) -> None:
        super().__init__()
        self._spec = spec
        self._tracker: WatermarkTracker
        self._told_idle = False

    def open(self) -> None:
        try:
            self._tracker = WatermarkTracker(
                self._spec.strategy, self.context.clock, self._spec.interval_ms, self._changed
            )
        except Exception as error:
            raise self.failed(error, where="watermark strategy") from error

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        try:
            self._tracker.process(batch, self.output.emit)
        except Exception as error:
            raise self.failed(error) from error

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            super().process_watermark(timestamp)

    def process_status(self, idle: bool) -> None:
        """Idleness from above is replaced by the strategy's own."""

    def process_time(self, now: int) -> None:
        try:
            self._tracker.process_time(now)
        except Exception as error:
            raise self.failed(error) from error

    def look_for_idleness(self) -> None:
        self._tracker.found_nothing()

    def wake_up_at(self) -> int | None:
        return self._tracker.wake_up_at()

    def _changed(self) -> None:
        if self._tracker.idle != self._told_idle:
            self._told_idle = self._tracker.idle
            self.output.status(self._told_idle)
        super().process_watermark(self._tracker.watermark)
