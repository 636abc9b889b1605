"""What user code is told about a record that is being written."""

from __future__ import annotations

from headrace.datastream.connectors.base import WriterContext


class RecordContext:
    """The clocks of a writer, and the timestamp of its record: one object for all records."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self.stamp: int | None = None

    def current_processing_time(self) -> int:
        return self._context.now_ms()

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def timestamp(self) -> int | None:
        return self.stamp
