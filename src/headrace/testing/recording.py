"""What an operator under test emits, kept for the test to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.runtime.batch import Batch
from headrace.runtime.exchange.input_gate import InputGate
from headrace.runtime.exchange.output import Converter, OperatorOutput
from headrace.runtime.operator import SubtaskServices

Emitted = list[tuple[Any, int | None]]
"""Records with their timestamps."""


class Recording:
    """The output of all subtasks of an operator, in the order in which it was emitted."""

    def __init__(self) -> None:
        self.main: Emitted = []
        self.side: dict[str, Emitted] = {}
        self.watermarks: list[int] = []
        self.statuses: list[bool] = []
        self.ended = 0
        self._gate = InputGate()

    def follow(self, subtasks: int) -> None:
        """Expect marks of so many subtasks; the watermark is their minimum, as downstream."""
        before = self._gate.watermark
        self._gate = InputGate(watermark=before)
        for subtask in range(subtasks):
            self._gate.add_channel((0, subtask), 0)

    def watermark(self, subtask: int, timestamp: int) -> None:
        """A subtask emitted a watermark."""
        advanced = self._gate.on_watermark((0, subtask), timestamp)
        if advanced is not None:
            self.watermarks.append(advanced)

    def status(self, subtask: int, idle: bool) -> None:
        """A subtask became idle or active."""
        advanced, changed = self._gate.on_status((0, subtask), idle)
        if changed is not None:
            self.statuses.append(changed)
        if advanced is not None:
            self.watermarks.append(advanced)


class RecordingOutput(OperatorOutput):
    """Stands in the place of the operators downstream."""

    def __init__(self, recording: Recording, subtask: int, convert: Converter | None) -> None:
        super().__init__((), {}, convert)
        self._recording = recording
        self._subtask = subtask

    def emit(self, batch: Batch) -> None:
        """Keep records of the main output."""
        if batch.values:
            self.records_out += len(batch.values)
            values = batch.values if self._convert is None else self._convert(batch.values)
            self._recording.main += _rows(values, batch)

    def emit_side(self, tag_id: str, batch: Batch) -> None:
        """Keep records of a side output."""
        if batch.values:
            self.records_out += len(batch.values)
            self._recording.side.setdefault(tag_id, []).extend(_rows(batch.values, batch))

    def watermark(self, timestamp: int) -> None:
        """Keep a watermark."""
        self._recording.watermark(self._subtask, timestamp)

    def status(self, idle: bool) -> None:
        """Keep idleness."""
        self._recording.status(self._subtask, idle)

    def end(self) -> None:
        """Count the subtasks that have ended."""
        self._recording.ended += 1


def _rows(values: list[Any], batch: Batch) -> Emitted:
    stamps = batch.timestamps or [None] * len(values)
    return list(zip(values, stamps, strict=True))


class RecordingServices(SubtaskServices):
    """Keeps printed lines and collected records."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.printed_to_stderr: list[str] = []
        self.collected: dict[str, list[Any]] = {}
        self.wake: Callable[[], None] = lambda: None
        """Called when a source has data again, on whichever thread it notices."""

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None:
        """Keep lines."""
        (self.printed_to_stderr if to_stderr else self.printed).extend(lines)

    def collect(self, collect_id: str, values: list[Any]) -> None:
        """Keep records."""
        self.collected.setdefault(collect_id, []).extend(values)

    def data_available(self) -> None:
        """Wake whoever waits for a source."""
        self.wake()
