"""Files as a source: a set of them, or a directory in which new ones appear."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.file_system.enumeration import (
    SPLIT_SIZE,
    FileEnumerator,
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
    file_path,
    is_remote,
)
from headrace.datastream.connectors.file_system.file_reader import FileReader
from headrace.datastream.connectors.file_system.formats import (
    BulkFormat,
    FileFormat,
    StreamFormat,
)

__all__ = ["FileSource", "FileSourceBuilder"]


@dataclass(frozen=True)
class FileSource(Source):
    """Reads files: given ones, or all in and below a directory but for hidden ones (`.x`, `_x`).

    Make one with `for_record_stream_format` or `for_bulk_file_format`. Large files are read by
    several subtasks where the format allows it: text and JSON lines from a line on, Avro from a
    block on, Parquet and ORC from a group of rows on. Text compressed as .gz, .bz2 or .xz is read
    by one, and so are CSV and files of an object store. Reading resumes exactly where it was.

    Example:
        >>> lines = StreamFormat.text_line_format()
        >>> FileSource.for_record_stream_format(lines, "/data/logs").build()
    """

    file_format: FileFormat
    paths: tuple[str, ...]
    interval_ms: int | None = None
    split_size: int | None = SPLIT_SIZE
    storages: Any = None
    pattern: str = ""

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """A builder of a source that reads records one after the other."""
        if not isinstance(stream_format, StreamFormat):
            raise FunctionTypeError(
                "for_record_stream_format takes a StreamFormat, such as "
                f"StreamFormat.text_line_format(), not {stream_format!r}"
            )
        return _builder(stream_format, paths, "for_record_stream_format")

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """A builder of a source that reads many records at a time, such as Parquet."""
        if not isinstance(bulk_format, BulkFormat):
            raise FunctionTypeError(
                "for_bulk_file_format takes a BulkFormat, such as "
                f"ParquetColumnarRowInputFormat(row_type), not {bulk_format!r}"
            )
        return _builder(bulk_format, paths, "for_bulk_file_format")

    @property
    def bounded(self) -> bool:
        return self.interval_ms is None

    @property
    def imports(self) -> tuple[str, ...]:
        return self.file_format.imports

    @property
    def produced_type(self) -> TypeInformation | None:
        return self.file_format.produced_type

    def for_configuration(self, configuration: Configuration) -> Source:
        """With what the job says about file systems other than the machine's own."""
        if not any(map(is_remote, self.paths)):
            return self
        from headrace.runtime.storage import Storages

        return replace(self, storages=Storages.from_configuration(configuration))

    def probe(self) -> str:
        found = self.create_enumerator(1).discover(0)
        return f"{sum(map(len, found.values()))} files or parts at {', '.join(self.paths)}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return FileEnumerator(
            self.paths,
            parallelism,
            self.split_size,
            self.interval_ms,
            self.file_format.splittable,
            self.storages,
            self.pattern,
        )

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return FileReader(self.file_format, context, self.storages)


def _builder(file_format: FileFormat, paths: tuple[str, ...], where: str) -> FileSourceBuilder:
    if not paths:
        raise GraphError(f"paths must not be empty: {where} needs at least one")
    return FileSourceBuilder(FileSource(file_format, tuple(file_path(p) for p in paths)))


class FileSourceBuilder:
    """Builds a `FileSource`."""

    def __init__(self, source: FileSource) -> None:
        self._source = source

    def monitor_continuously(
        self, discovery_interval: timedelta | Duration | int
    ) -> FileSourceBuilder:
        """Look for new files again and again; the stream does not end. A file is read once.

        Args:
            discovery_interval: How long to wait in between; a number means milliseconds.
        """
        interval_ms = to_millis(discovery_interval)
        if interval_ms <= 0:
            raise GraphError(f"discoveryInterval must be > 0, not {discovery_interval!r}")
        self._source = replace(self._source, interval_ms=interval_ms)
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, and end. This is the default."""
        self._source = replace(self._source, interval_ms=None)
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Say whether large files are cut into pieces."""
        if not isinstance(file_enumerator, FileEnumeratorProvider):
            raise FunctionTypeError(
                "set_file_enumerator takes an enumerator from FileEnumeratorProvider, not "
                f"{file_enumerator!r}"
            )
        self._source = replace(self._source, split_size=file_enumerator.split_size)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accepted as in Flink; see `FileSplitAssignerProvider`."""
        if not isinstance(split_assigner, FileSplitAssignerProvider):
            raise FunctionTypeError(
                "set_split_assigner takes an assigner from FileSplitAssignerProvider, not "
                f"{split_assigner!r}"
            )
        return self

    def build(self) -> FileSource:
        """The source."""
        if self._source.bounded:
            for path in self._source.paths:
                if not is_remote(path) and not os.path.exists(path):
                    raise GraphError(
                        f"there is no file or directory {path!r} to read; check the path, or wait "
                        "for files with monitor_continuously(), in SQL 'source.monitor-interval'"
                    )
        return self._source
