"""Parquet files to internal rows, column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import BulkFormat, SplitRecords
from headrace.datastream.formats.columnar import ColumnarRecords, group_range, skipping
from headrace.sql import types as t
from headrace.sql.types import DataType
from headrace.sql.types.values import to_internal

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetRows"]

_BATCH = 10_000


@dataclass(frozen=True)
class ParquetRows(BulkFormat):
    """Rows as tuples in internal form; columns are found by name, missing ones are NULL."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]

    @property
    def produced_type(self) -> Any:
        """Internal rows have no declared type."""
        return None

    def splittable(self, path: str) -> bool:
        """Between groups of rows."""
        return True

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _Records(split, self)


class _Records(ColumnarRecords):
    def __init__(self, split: FileSplit, settings: ParquetRows) -> None:
        super().__init__(split)
        self._settings = settings
        self._file: Any = None
        self._converters = [column_converter(x) for x in settings.types]

    def open(self, skip: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(self._split.path, memory_map=True)
        metadata = self._file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        wanted = group_range([_start(g) for g in groups], self._split)
        while wanted and skip >= groups[wanted[0]].num_rows:
            skip -= groups[wanted.pop(0)].num_rows
        there = set(self._file.schema_arrow.names)
        columns = [n for n in self._settings.names if n in there]
        batches = self._file.iter_batches(_BATCH, row_groups=wanted, columns=columns)
        return skipping(batches, skip)

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        there = set(batch.schema.names)
        columns: list[Any] = []
        for name, convert in zip(self._settings.names, self._converters, strict=True):
            if name in there:
                columns.append(convert(batch.column(name)))
            else:
                columns.append([None] * batch.num_rows)
        return list(zip(*columns, strict=True))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _start(group: Any) -> int:
    """The first byte of a row group."""
    column = group.column(0)
    dictionary, data = column.dictionary_page_offset, column.data_page_offset
    return int(data if dictionary is None or dictionary <= 0 else min(dictionary, data))


def column_converter(type_: DataType) -> Callable[[Any], list[Any]]:
    """Makes a list of internal values of an Arrow column."""
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return lambda column: plain(column.cast(_micros(column)).view("int64"))
    if isinstance(type_, t.DateType):
        return lambda column: plain(column.cast("date32").view("int32"))
    if isinstance(type_, t.TimeType):
        return lambda column: plain(column.cast("time64[us]").view("int64"))
    simple = t.IntegralType | t.FloatType | t.DoubleType | t.BooleanType
    if isinstance(type_, simple | t.CharType | t.VarCharType):
        return plain
    convert = to_internal(type_)
    return lambda column: [convert(v) for v in column.to_pylist(maps_as_pydicts="strict")]


def _micros(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        raise HeadraceError(f"a timestamp was declared, but the file has {column.type}")
    return pa.timestamp("us", column.type.tz)


def plain(column: Any) -> list[Any]:
    """A list of a column: through numpy where there is no NULL, which is several times faster."""
    import pyarrow as pa

    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if numeric and column.null_count == 0:
        return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return column.to_pylist()  # type: ignore[no-any-return]
