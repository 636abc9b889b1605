"""Rows of files: columns of the data, of the directories' names, and of what a file is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.connectors.file_system import BulkFormat, FileFormat, SplitRecords
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext
from headrace.sql.formats.csv import cell_reader
from headrace.sql.types import DataType, RowField, RowType
from headrace.sql.types.data_types import DataTypes

__all__ = ["METADATA_TYPES", "FileLayout", "RowFiles", "WithoutFirstLine", "file_layout"]

_METADATA: dict[str, Callable[[str], Any]] = {
    "file.path": lambda path: path,
    "file.name": os.path.basename,
    "file.size": os.path.getsize,
    "file.modification-time": lambda path: int(os.path.getmtime(path) * 1000) * 1000,
}
METADATA_TYPES: dict[str, DataType] = {
    "file.path": DataTypes.STRING(),
    "file.name": DataTypes.STRING(),
    "file.size": DataTypes.BIGINT(),
    "file.modification-time": DataTypes.TIMESTAMP_LTZ(3),
}


@dataclass(frozen=True)
class FileLayout:
    """Where each column of a table comes from."""

    width: int
    data: tuple[int, ...]
    data_type: RowType
    partitions: tuple[tuple[int, str, DataType], ...] = ()
    metadata: tuple[tuple[int, str], ...] = ()
    default_name: str = "__DEFAULT_PARTITION__"

    @property
    def data_alone(self) -> bool:
        """Whether the data has all columns."""
        return not self.partitions and not self.metadata


def file_layout(context: TableContext) -> FileLayout:
    """The layout of a table."""
    default = context.option("partition.default-name") or "__DEFAULT_PARTITION__"
    names = context.schema.names
    for name in context.partition_keys:
        if name not in names:
            raise SqlError(f"Partition column '{name}' is not a column of {context.name}")
    for key in context.metadata.values():
        if key not in _METADATA:
            raise SqlError(
                f"Invalid metadata key '{key}' in table {context.name}{suggestion(key, _METADATA)} "
                f"Readable metadata: {', '.join(_METADATA)}"
            )
    keys = set(context.partition_keys)
    data = [i for i, n in enumerate(names) if n not in keys and i not in context.metadata]
    fields = [RowField(names[i], context.schema[i].type) for i in data]
    partitions = [(names.index(n), n, context.schema[names.index(n)].type) for n in keys]
    return FileLayout(
        len(names),
        tuple(data),
        RowType(fields, False),
        tuple(sorted(partitions)),
        tuple(context.metadata.items()),
        default,
    )


@dataclass(frozen=True)
class RowFiles(BulkFormat):
    """Full rows of a format's records.

    Attributes:
        inner: Reads the files.
        decoder: Makes rows of the records; None if they are rows.
        layout: Where the columns go.
        changes: Whether rows are changes and end with their kind.
    """

    inner: FileFormat
    decoder: Any
    layout: FileLayout
    changes: bool = False

    def splittable(self, path: str) -> bool:
        """As the format says; changes of one file have an order, which one reader keeps."""
        return not self.changes and self.inner.splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _Rows(self, split)


@dataclass(frozen=True)
class WithoutFirstLine(BulkFormat):
    """Lines of files, but for the first of each file, which has the names of the columns.

    Attributes:
        inner: Reads the lines.
    """

    inner: FileFormat

    def splittable(self, path: str) -> bool:
        """As the format says."""
        return self.inner.splittable(path)

    def read(self, split: FileSplit) -> SplitRecords:
        """The lines of a split."""
        records = self.inner.read(split)
        if split.start == 0 and split.position is None:
            records.take(1)
        return records


class _Rows(SplitRecords):
    def __init__(self, settings: RowFiles, split: FileSplit) -> None:
        self._records = settings.inner.read(split)
        self._settings = settings
        self._path = split.path
        self._columns = settings.layout.data
        self._template: list[Any] = [None] * settings.layout.width
        _fill(self._template, settings.layout, split.path)
        if settings.changes:
            self._template.append(None)
            self._columns = (*self._columns, -1)

    def take(self, max_records: int) -> list[Any]:
        self._records.set_aside = self.set_aside
        rows: Sequence[Any] = self._records.take(max_records)
        if self._settings.decoder is not None:
            try:
                rows = self._settings.decoder.decode(rows)
            except HeadraceError as error:
                raise HeadraceError(f"{self._path}: {error}") from error
        columns, out = self._columns, []
        for row in rows:
            full = self._template.copy()
            for column, cell in zip(columns, row, strict=True):
                full[column] = cell
            out.append(tuple(full))
        return out

    def snapshot(self) -> FileSplit:
        return self._records.snapshot()

    @property
    def at_end(self) -> bool:
        return self._records.at_end

    def close(self) -> None:
        self._records.close()


def _fill(row: list[Any], layout: FileLayout, path: str) -> None:
    """Puts what the file's path and the file itself say into a row."""
    directories = [d.partition("=") for d in path.split("/")[:-1] if "=" in d]
    values = {unquote(key): unquote(value) for key, _, value in directories}
    for column, name, type_ in layout.partitions:
        if name not in values:
            raise HeadraceError(
                f"{path} is in no directory '{name}=...', but {name!r} is a partition column"
            )
        if values[name] != layout.default_name:
            row[column] = cell_reader(type_)(values[name])
    for column, key in layout.metadata:
        row[column] = _METADATA[key](path)
