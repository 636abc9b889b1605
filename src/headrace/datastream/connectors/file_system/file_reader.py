"""The reader of a file source: one split after the other, in any format."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import FileFormat, SplitRecords

__all__ = ["FileReader"]


class FileReader(SourceReader):
    """Reads splits one after the other."""

    def __init__(self, file_format: FileFormat, context: ReaderContext) -> None:
        self._format = file_format
        self._set_aside = context.set_aside
        self._waiting: deque[FileSplit] = deque()
        self._current: tuple[str, SplitRecords] | None = None
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[FileSplit]) -> None:
        self._waiting.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._current is not None or self._waiting:
            if self._current is None:
                self._start(self._waiting.popleft())
                assert self._current is not None
            split_id, records = self._current
            values = records.take(max_records)
            if records.at_end:
                self._finish()
            if values:
                return ReadBatch(split_id, values)
        return None

    def _start(self, split: FileSplit) -> None:
        records = self._format.read(split)
        records.set_aside = self._set_aside
        self._current = split.split_id, records

    def _finish(self) -> None:
        assert self._current is not None
        split_id, records = self._current
        records.close()
        self._finished.append(split_id)
        self._current = None

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[FileSplit]:
        current = [] if self._current is None else [self._current[1].snapshot()]
        return [*current, *self._waiting]

    @property
    def exhausted(self) -> bool:
        return self._current is None and not self._waiting

    def close(self) -> None:
        if self._current is not None:
            self._current[1].close()
