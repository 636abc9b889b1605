"""The reader of a file source: one split after the other, in any format."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader
from headrace.datastream.connectors.file_system.enumeration import FileSplit, is_remote
from headrace.datastream.connectors.file_system.formats import FileFormat, SplitRecords
from headrace.datastream.connectors.file_system.remote import Workspace

if TYPE_CHECKING:
    from headrace.runtime.storage import Storages

__all__ = ["FileReader"]


@dataclass(frozen=True)
class _Reading:
    """A split that is being read; the records are those of a copy of a file that is elsewhere."""

    split: FileSplit
    records: SplitRecords
    copy: str | None

    def named(self, error: BaseException) -> BaseException:
        """An error about the file that the user knows."""
        if self.copy is None:
            return error
        return HeadraceError(str(error).replace(self.copy, self.split.path))


class FileReader(SourceReader):
    """Reads splits one after the other."""

    def __init__(
        self, file_format: FileFormat, context: ReaderContext, storages: Storages | None = None
    ) -> None:
        self._format = file_format
        self._context = context
        self._workspace = None if storages is None else Workspace(storages)
        self._waiting: deque[FileSplit] = deque()
        self._current: _Reading | None = None
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[FileSplit]) -> None:
        self._waiting.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._current is not None or self._waiting:
            reading = self._current
            if reading is None:
                reading = self._current = self._start(self._waiting.popleft())
            try:
                values = reading.records.take(max_records)
            except HeadraceError as error:
                raise reading.named(error) from error.__cause__
            if reading.records.at_end:
                self._finish(reading)
            if values:
                return ReadBatch(reading.split.split_id, values)
        return None

    def _start(self, split: FileSplit) -> _Reading:
        copy = None
        if is_remote(split.path):
            assert self._workspace is not None
            copy = self._workspace.fetch(split.path)
        records = self._format.read(split if copy is None else replace(split, path=copy))
        reading = _Reading(split, records, copy)

        def set_aside(record: Any, error: BaseException) -> bool:
            return self._context.set_aside(record, reading.named(error))

        records.set_aside = set_aside
        return reading

    def _finish(self, reading: _Reading) -> None:
        reading.records.close()
        if reading.copy is not None:
            with contextlib.suppress(OSError):
                os.unlink(reading.copy)
        self._finished.append(reading.split.split_id)
        self._current = None

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def snapshot(self) -> list[FileSplit]:
        reading = self._current
        if reading is None:
            return list(self._waiting)
        # The copy may be gone when somebody goes on from here.
        current = replace(reading.records.snapshot(), path=reading.split.path)
        return [current, *self._waiting]

    @property
    def exhausted(self) -> bool:
        return self._current is None and not self._waiting

    def close(self) -> None:
        if self._current is not None:
            self._current.records.close()
        if self._workspace is not None:
            self._workspace.close()
