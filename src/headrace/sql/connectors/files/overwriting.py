"""INSERT OVERWRITE of files: what was there goes when the new files are there, not before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.file_system.enumeration import (
    files_under,
    is_remote,
    remote_files_under,
)
from headrace.datastream.connectors.file_system.file_writer import FileWriterSettings

__all__ = ["OverwritingSink"]


@dataclass(frozen=True)
class OverwritingSink(Sink):
    """A file sink whose files replace others.

    Attributes:
        files: Writes the new files.
        partitioned: Whether only those partitions are replaced that get rows.
        old: The files that were there when the job was made.
    """

    files: FileSink
    partitioned: bool
    old: tuple[str, ...] = ()

    def for_configuration(self, configuration: Configuration) -> Sink:
        files = _file_sink(self.files.for_configuration(configuration))
        return replace(self, files=files, old=tuple(_visible(files.settings)))

    def for_type(self, type_info: TypeInformation | None) -> Sink:
        return replace(self, files=_file_sink(self.files.for_type(type_info)))

    def probe(self) -> str:
        return self.files.probe()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self.files.create_writer(context))

    def create_committer(self, context: WriterContext) -> Committer:
        return _Committer(self.files.create_committer(context))

    def create_global_committer(self, job_id: str) -> GlobalCommitter:
        return _OldFiles(self.files.settings, self.partitioned, self.old)


_ENDED = "ended"
"""Committed at the end, so that there is a commit even if there is no new file."""


class _Writer(SinkWriter):
    """Writes files, and says when it has ended."""

    def __init__(self, files: SinkWriter) -> None:
        self._files = files

    def open(self) -> None:
        self._files.open()

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._files.write(values, timestamps)

    def record_of_failure(self) -> tuple[Any, ...]:
        return self._files.record_of_failure()

    def flush(self, end_of_input: bool) -> None:
        self._files.flush(end_of_input)

    def flush_at(self, now_ms: int) -> int | None:
        return self._files.flush_at(now_ms)

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        files = self._files.prepare_commit(checkpoint, end_of_input)
        return [*files, _ENDED] if end_of_input else files

    def snapshot(self) -> list[Any]:
        return self._files.snapshot()

    def close(self) -> None:
        self._files.close()


class _Committer(Committer):
    def __init__(self, files: Committer) -> None:
        self._files = files

    def commit(self, committables: list[Any]) -> None:
        self._files.commit([c for c in committables if c != _ENDED])

    def close(self) -> None:
        self._files.close()


class _OldFiles(GlobalCommitter):
    """Deletes old files once the new ones are to be seen."""

    def __init__(self, settings: FileWriterSettings, partitioned: bool, old: Iterable[str]) -> None:
        self._settings = settings
        self._partitioned = partitioned
        self._old = set(old)

    def commit(self, checkpoint: int, restored: str | None = None) -> None:
        gone = self._old
        if gone and self._partitioned:
            new = set(_visible(self._settings)) - self._old
            written = {os.path.dirname(file) for file in new}
            gone = {file for file in self._old if os.path.dirname(file) in written}
        for file in gone:
            self._delete(file)
        self._old = self._old - gone

    def _delete(self, file: str) -> None:
        if not is_remote(file):
            if os.path.exists(file):
                os.unlink(file)
        elif self._settings.storages.of(file).exists(file):
            self._settings.storages.of(file).delete(file)


def _file_sink(sink: Sink) -> FileSink:
    assert isinstance(sink, FileSink)
    return sink


def _visible(settings: FileWriterSettings) -> Iterable[str]:
    base = settings.base_path
    if is_remote(base):
        return remote_files_under(base, settings.storages)
    return files_under(base) if os.path.exists(base) else ()
