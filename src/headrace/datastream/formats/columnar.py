"""What Parquet and ORC have in common: rows of a declared type, read and written as columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.errors import HeadraceError
from headrace.common.serialization import BulkWriter
from headrace.common.types import Row
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import SplitRecords
from headrace.formats.arrow import record_batch, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnarRecords", "ColumnarWriter", "cast_columns", "group_range"]

ROWS_IN_GROUP = 128 * 1024
_ROWS_IN_BATCH = 8 * 1024


def group_range(starts: Sequence[int], split: FileSplit) -> list[int]:
    """The groups of rows that begin in a split, by the bytes at which all groups begin."""
    end = split.end
    return [i for i, at in enumerate(starts) if at >= split.start and (end is None or at < end)]


def cast_columns(
    batch: pa.RecordBatch, schema: pa.Schema, path: str, case_sensitive: bool = True
) -> pa.RecordBatch:
    """The declared columns of a batch, with their declared types."""
    import pyarrow as pa

    found = {(n if case_sensitive else n.lower()): i for i, n in enumerate(batch.schema.names)}
    columns = []
    for field in schema:
        place = found.get(field.name if case_sensitive else field.name.lower())
        if place is None:
            raise HeadraceError(
                f"{path} has no column {field.name!r}; its columns are {batch.schema.names}"
            )
        column = batch.column(place)
        if column.type != field.type:
            try:
                column = column.cast(field.type, safe=not pa.types.is_timestamp(field.type))
            except (pa.ArrowException, NotImplementedError) as error:
                raise HeadraceError(
                    f"column {field.name!r} of {path} is {column.type} and cannot be read as "
                    f"{field.type}: {error}"
                ) from error
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class ColumnarRecords(SplitRecords, ABC):
    """Rows of one split; the position counts them."""

    def __init__(self, split: FileSplit) -> None:
        self._split = split
        self._batches: Iterator[Any] | None = None
        self._rows: list[Any] = []
        self._taken = 0
        self._read = 0
        self._ended = False

    @abstractmethod
    def open(self, skip: int) -> Iterator[pa.RecordBatch]:
        """Batches of the split, after so many rows."""

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        """The records of a batch."""
        return rows_of(batch)

    def take(self, max_records: int) -> list[Any]:
        import pyarrow as pa

        try:
            if self._batches is None:
                self._read = self._split.position or 0
                self._batches = self.open(self._read)
            while self._taken >= len(self._rows) and not self._ended:
                self._fill(self._batches)
        except (OSError, pa.ArrowException) as error:
            raise HeadraceError(f"{self._split.path} cannot be read: {error}") from error
        start = self._taken
        self._taken = min(start + max_records, len(self._rows))
        self._read += self._taken - start
        return self._rows[start : self._taken]

    def _fill(self, batches: Iterator[Any]) -> None:
        batch = next(batches, None)
        self._ended = batch is None
        self._rows, self._taken = [] if batch is None else self.rows(batch), 0

    def snapshot(self) -> FileSplit:
        return replace(self._split, position=self._read) if self._read else self._split

    @property
    def at_end(self) -> bool:
        return self._ended and self._taken >= len(self._rows)


def skipping(batches: Iterator[pa.RecordBatch], skip: int) -> Iterator[pa.RecordBatch]:
    """Batches without their first rows."""
    for batch in batches:
        if skip >= batch.num_rows:
            skip -= batch.num_rows
        else:
            yield batch.slice(skip)
            skip = 0


class ColumnarWriter(BulkWriter, ABC):
    """Collects rows, and writes groups of them as columns."""

    def __init__(self, schema: pa.Schema, stream: BinaryIO) -> None:
        self.schema = schema
        self.stream = stream
        self._elements: list[Row] = []
        self._batches: list[Any] = []
        self._rows = 0

    @abstractmethod
    def write_group(self, table: pa.Table) -> None:
        """Write a group of rows."""

    @abstractmethod
    def close_writer(self) -> None:
        """Write what is still missing, such as a footer."""

    def add_element(self, element: Any) -> None:
        self._elements.append(element)
        if len(self._elements) >= _ROWS_IN_BATCH:
            self._to_columns()

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._elements.extend(elements)
        if len(self._elements) >= _ROWS_IN_BATCH:
            self._to_columns()

    def _to_columns(self) -> None:
        if not self._elements:
            return
        elements, self._elements = self._elements, []
        self._batches.append(record_batch(elements, self.schema))
        self._rows += len(elements)
        if self._rows >= ROWS_IN_GROUP:
            self._write()

    def _write(self) -> None:
        import pyarrow as pa

        if self._batches:
            self.write_group(pa.Table.from_batches(self._batches, self.schema))
            self._batches, self._rows = [], 0

    def flush(self) -> None:
        """A value that does not fit is found now; groups stay as large as they should be."""
        self._to_columns()

    def finish(self) -> None:
        self._to_columns()
        self._write()
        self.close_writer()
