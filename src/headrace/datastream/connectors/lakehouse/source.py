"""A table of a lakehouse as a source: the rows that are there, and then those that are added."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError
from headrace.common.time import Duration, to_millis
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.file_reader import FileReader
from headrace.datastream.connectors.file_system.formats import BulkFormat
from headrace.datastream.connectors.lakehouse.table import ColumnBound, LakeFile, LakeTable, gone
from headrace.datastream.formats.columnar import ColumnarRecords, skipping
from headrace.formats.arrow import row_type_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LakeRows", "LakeSplit", "LakehouseSource"]


@dataclass(frozen=True)
class LakeSplit(FileSplit):
    """A file of a table."""

    file: LakeFile = field(kw_only=True)

    @property
    def size(self) -> int | None:
        """As the table says: the path is but a label."""
        return self.file.size


@dataclass(frozen=True)
class LakeRows(BulkFormat):
    """`Row` objects of the files of a table."""

    table: LakeTable
    names: tuple[str, ...]

    def converter(self) -> Callable[[pa.RecordBatch], list[Any]]:
        """Makes the records of a batch."""
        return rows_of

    @property
    def imports(self) -> tuple[str, ...]:
        return ("pyarrow",)

    def read(self, split: FileSplit) -> ColumnarRecords:
        """The rows of a file."""
        assert isinstance(split, LakeSplit)
        return LakeRecords(split, self)


class LakeRecords(ColumnarRecords):
    """Rows of one file."""

    def __init__(self, split: LakeSplit, rows: LakeRows) -> None:
        super().__init__(split)
        self._file = split.file
        self._of = rows
        self._convert = rows.converter()

    def open(self, skip: int) -> Iterator[pa.RecordBatch]:
        return skipping(self._of_file(), skip)

    def _of_file(self) -> Iterator[pa.RecordBatch]:
        table = self._of.table
        try:
            yield from table.read(self._file, self._of.names)
        except FileNotFoundError as error:
            why = "VACUUM or the expiration of snapshots has removed it"
            raise gone(table.name, f"file {self._file.name}", why) from error

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        return self._convert(batch)

    def close(self) -> None:
        """Nothing stays open between batches."""


@dataclass(frozen=True)
class LakehouseSource(Source):
    """Reads the rows of a table of Delta Lake or Iceberg.

    Attributes:
        table: The table, which must be there.
        interval: How often to look for files that were added; the stream then does not end.
            Without it, the rows that are there are read. A number means milliseconds.
        from_latest: Begin with what is added after the start; only with an interval.
        skip_changes: Pass over commits that delete or replace rows. Without it they are an error,
            because a stream of added rows cannot say that a row is gone.
        rows: How files become records; `Row` objects of all columns without it.
        where: Files without a row within these bounds are not read; without an interval.

    Example:
        >>> source = LakehouseSource(DeltaLakeTable("/data/orders"), timedelta(seconds=1))
        >>> env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    """

    table: LakeTable
    interval: timedelta | Duration | int | None = None
    from_latest: bool = False
    skip_changes: bool = False
    rows: LakeRows | None = None
    where: tuple[ColumnBound, ...] = ()

    def __post_init__(self) -> None:
        if self.interval is not None and to_millis(self.interval) <= 0:
            raise GraphError(f"the interval must be positive, not {self.interval!r}")
        if self.interval is not None and self.table.at is not None:
            raise GraphError(
                f"nothing is added to {self.table.at} of table {self.table.name}: leave the "
                "interval out, or read the table as it is today"
            )
        if self.from_latest and self.interval is None:
            raise GraphError("from_latest needs an interval: a bounded table has nothing new")
        if self.rows is None:
            names = tuple(self._columns().names)
            object.__setattr__(self, "rows", LakeRows(self.table, names))

    def _columns(self) -> pa.Schema:
        columns = self.table.columns()
        if columns is None:
            raise GraphError(f"there is no table {self.table.name}; create it first")
        return columns

    @property
    def bounded(self) -> bool:
        return self.interval is None

    @property
    def imports(self) -> tuple[str, ...]:
        return ("pyarrow",)

    @property
    def produced_type(self) -> TypeInformation | None:
        assert self.rows is not None
        return row_type_of(self._columns()) if type(self.rows) is LakeRows else None

    def probe(self) -> str:
        return f"{len(self.table.files().files)} files of table {self.table.name}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return _LakeEnumerator(self, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        assert self.rows is not None
        return FileReader(self.rows, context)


class _LakeEnumerator(SplitEnumerator):
    """Deals out the files of the table, and then those of each later version."""

    def __init__(self, source: LakehouseSource, parallelism: int) -> None:
        self._source = source
        self._parallelism = parallelism
        self._version: int | None = None
        self._next_ms: int | None = None
        self._dealt = 0

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        source = self._source
        if self.finished or (self._next_ms is not None and now_ms < self._next_ms):
            return {}
        if source.interval is not None:
            self._next_ms = now_ms + to_millis(source.interval)
        if self._version is None:
            new = source.table.files(source.where)
            files = [] if source.from_latest else new.files
        else:
            new = source.table.files_since(self._version, source.skip_changes)
            files = new.files
        self._version = new.version
        found: dict[int, list[Any]] = {}
        for file in files:
            # Not a URL: the library of the table reads the file, wherever it is.
            label = file.name.rsplit("://", 1)[-1]
            split = LakeSplit(f"{new.version}:{label}", label, 0, None, file=file)
            found.setdefault(self._dealt % self._parallelism, []).append(split)
            self._dealt += 1
        return found

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._version is not None

    def next_discovery(self, now_ms: int) -> int | None:
        return self._next_ms

    def snapshot(self) -> Any:
        return {"version": self._version, "dealt": self._dealt}

    def restore(self, snapshot: Any) -> None:
        self._version, self._dealt = snapshot["version"], snapshot["dealt"]
