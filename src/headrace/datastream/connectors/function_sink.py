"""A `SinkFunction` as a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from headrace.common.watermark_strategy import Watermark
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.record_context import RecordContext
from headrace.datastream.functions import RichFunction, SinkFunction, positional_arguments

__all__ = ["FunctionSink", "SinkContext"]


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Calls `invoke` for each record."""

    function: SinkFunction[Any]

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _FunctionWriter(self.function, context)


class SinkContext(RecordContext, SinkFunction.Context):
    """What `invoke` of a sink function is given."""


class _FunctionWriter(SinkWriter):
    def __init__(self, function: SinkFunction[Any], context: WriterContext) -> None:
        self._function = function
        self._context = context
        self._sink_context = SinkContext(context)
        self._takes_context = positional_arguments(function.invoke) != 1
        self._record: Any = None

    @property
    def user_function(self) -> SinkFunction[Any]:
        return self._function

    def open(self) -> None:
        if isinstance(self._function, RichFunction):
            self._function.set_runtime_context(self._context.runtime_context)
        self._function.open(self._context.runtime_context)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        invoke, context = self._function.invoke, self._sink_context
        if not self._takes_context:
            for self._record in values:
                invoke(self._record)  # type: ignore[call-arg]
            return
        stamps = repeat(None) if timestamps is None else timestamps
        for self._record, context.stamp in zip(values, stamps, strict=False):
            invoke(self._record, context)

    def record_of_failure(self) -> tuple[Any, ...]:
        return (self._record,)

    def on_watermark(self, timestamp: int) -> None:
        self._function.write_watermark(Watermark(timestamp))

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._function.finish()

    def close(self) -> None:
        self._function.close()
