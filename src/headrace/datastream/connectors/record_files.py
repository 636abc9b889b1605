"""Records in files of their own form, for what one job leaves to the next: the cache of a stream.

A file is a series of pickled pairs: a list of records, and their timestamps or None.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from headrace.datastream.connectors.base import (
    Committer,
    ReadBatch,
    ReaderContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
    WriterContext,
)

__all__ = ["RecordFileSink", "RecordFileSource"]

_OPEN = ".open"
_SUFFIX = ".records"


@dataclass(frozen=True)
class RecordFileSink(Sink):
    """Writes records, with their timestamps, to files in a directory that is there."""

    directory: str

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self.directory)

    def create_committer(self, context: WriterContext) -> Committer:
        return _Committer()


class _Writer(SinkWriter):
    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = ""
        self._file: BinaryIO | None = None

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if self._file is None:
            self._path = os.path.join(self._directory, uuid.uuid4().hex + _OPEN)
            self._file = open(self._path, "wb")  # noqa: SIM115 - it stays open until the commit
        self._file.write(_dumps((values, None if timestamps is None else list(timestamps))))

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[str]:
        if self._file is None:
            return []
        self._file.close()
        self._file = None
        return [self._path]

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Committer(Committer):
    def commit(self, committables: list[str]) -> None:
        for path in committables:
            if os.path.exists(path):
                os.replace(path, path.removesuffix(_OPEN) + _SUFFIX)


def _dumps(content: Any) -> bytes:
    try:
        return pickle.dumps(content, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        # Classes of the user's main program are known to a slot by value only.
        import cloudpickle

        data: bytes = cloudpickle.dumps(content, protocol=5)
        return data


@dataclass(frozen=True)
class RecordFileSource(Source):
    """Reads the records in all files of a directory."""

    directory: str

    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        files = sorted(str(path) for path in Path(self.directory).glob(f"*{_SUFFIX}"))
        return StaticEnumerator([_File(path) for path in files], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _Reader()


@dataclass(frozen=True)
class _File:
    """A file from a position on: the offset of a pair, and the number of records in it to skip."""

    path: str
    offset: int = 0
    skip: int = 0

    @property
    def split_id(self) -> str:
        return self.path


class _Reader(SourceReader):
    def __init__(self) -> None:
        self._files: list[_File] = []
        self._finished: list[str] = []

    def add_splits(self, splits: Sequence[_File]) -> None:
        self._files.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        while self._files:
            current = self._files[0]
            with open(current.path, "rb") as file:
                file.seek(current.offset)
                try:
                    values, timestamps = pickle.load(file)
                except EOFError:
                    self._finished.append(self._files.pop(0).path)
                    continue
                end = current.skip + max_records
                self._files[0] = (
                    replace(current, skip=end)
                    if end < len(values)
                    else replace(current, offset=file.tell(), skip=0)
                )
            part = slice(current.skip, end)
            stamps = None if timestamps is None else timestamps[part]
            return ReadBatch(current.path, values[part], stamps)
        return None

    def snapshot(self) -> list[_File]:
        return list(self._files)

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    @property
    def exhausted(self) -> bool:
        return not self._files
