"""Watermarks of rows, for a source that makes them for each of its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.watermark_strategy import BatchWatermarkGenerator, WatermarkOutput
from headrace.sql.codegen.code import GeneratedCode

__all__ = ["RowWatermarks"]


@dataclass(frozen=True)
class RowWatermarks:
    """Makes generators.

    Attributes:
        code: The watermark's expression.
        emit_every: Emit after so many rows; 0 for periodically.
    """

    code: GeneratedCode
    emit_every: int = 0

    def __call__(self) -> BatchWatermarkGenerator:
        return _Generator(self)


class _Generator(BatchWatermarkGenerator):
    """The largest value of the expression so far."""

    def __init__(self, settings: RowWatermarks) -> None:
        self._run = settings.code.load()
        self._every = settings.emit_every
        self._rows = 0
        self._largest = MIN_LONG_VALUE

    def on_records(self, records: Sequence[Any], output: WatermarkOutput) -> None:
        marks = [m for m in self._run(list(records)) if m is not None]
        if marks:
            self._largest = max(self._largest, max(marks) // 1000)
        self._rows += len(records)
        if self._every and self._rows >= self._every:
            self._rows = 0
            self.on_periodic_emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._largest > MIN_LONG_VALUE:
            output.emit_watermark(self._largest)
