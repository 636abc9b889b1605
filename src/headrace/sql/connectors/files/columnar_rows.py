"""Files of Parquet and ORC to internal rows, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import BulkFormat, SplitRecords
from headrace.datastream.formats.columnar import ColumnarRecords
from headrace.datastream.formats.orc import OrcRecords
from headrace.datastream.formats.parquet import ParquetRecords
from headrace.formats.arrow import arrow_type, values_of
from headrace.sql import types as t
from headrace.sql.types import DataType, RowType
from headrace.sql.types.values import to_internal

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnarRows", "OrcRows", "ParquetRows", "row_converter"]


@dataclass(frozen=True)
class ColumnarRows(BulkFormat):
    """Rows as tuples in internal form; columns are found by name, missing ones are NULL."""

    names: tuple[str, ...]
    types: tuple[DataType, ...]

    @classmethod
    def of(cls, row_type: RowType, **settings: Any) -> ColumnarRows:
        """Rows of a type."""
        return cls(tuple(row_type.names), tuple(row_type.field_types()), **settings)

    @property
    def produced_type(self) -> Any:
        """Internal rows have no declared type."""
        return None

    def splittable(self, path: str) -> bool:
        """Between groups of rows."""
        return True


@dataclass(frozen=True)
class ParquetRows(ColumnarRows):
    """Rows of Parquet files.

    Attributes:
        utc: Whether an instant that is declared as `TIMESTAMP` has the clock of UTC, or that of
            the machine.
    """

    utc: bool = False

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _ParquetRecords(split, self)


class OrcRows(ColumnarRows):
    """Rows of ORC files."""

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _OrcRecords(split, self)


class _InternalRecords(ColumnarRecords):
    batch_size = 10_000

    def __init__(self, split: FileSplit, settings: ColumnarRows) -> None:
        super().__init__(split)
        self._settings = settings
        self._convert = row_converter(settings.names, settings.types)

    def columns(self, names: list[str]) -> list[str]:
        """Those that the file has; the others are NULL."""
        return [n for n in self._settings.names if n in names]

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        return self._convert(batch)


class _ParquetRecords(_InternalRecords, ParquetRecords):
    def __init__(self, split: FileSplit, settings: ParquetRows) -> None:
        super().__init__(split, settings)
        self._types = dict(zip(settings.names, settings.types, strict=True))
        self.on_clock(settings.utc)

    def declared(self, name: str) -> pa.DataType | None:
        """As streams have it."""
        return arrow_type(self._types[name]) if name in self._types else None


class _OrcRecords(_InternalRecords, OrcRecords):
    pass


def row_converter(
    names: Sequence[str], types: Sequence[DataType]
) -> Callable[[pa.RecordBatch], list[Any]]:
    """Makes internal rows of a batch; columns that it does not have are NULL."""
    columns = [(name, column_converter(type_)) for name, type_ in zip(names, types, strict=True)]

    def rows(batch: pa.RecordBatch) -> list[Any]:
        there = set(batch.schema.names)
        empty = [None] * batch.num_rows
        found = [convert(batch.column(n)) if n in there else empty for n, convert in columns]
        return list(zip(*found, strict=True))

    return rows


def column_converter(type_: DataType) -> Callable[[Any], list[Any]]:
    """Makes a list of internal values of an Arrow column."""
    if isinstance(type_, t.TimestampType | t.LocalZonedTimestampType):
        return lambda column: values_of(_micros(column).view("int64"))
    if isinstance(type_, t.DateType):
        return lambda column: values_of(column.cast("date32").view("int32"))
    if isinstance(type_, t.TimeType):
        return lambda column: values_of(column.cast("time64[us]").view("int64"))
    simple = t.IntegralType | t.FloatType | t.DoubleType | t.BooleanType
    if isinstance(type_, simple | t.CharType | t.VarCharType):
        return values_of
    convert = to_internal(type_)
    return lambda column: [convert(v) for v in column.to_pylist(maps_as_pydicts="strict")]


def _micros(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        raise HeadraceError(f"a timestamp was declared, but the file has {column.type}")
    # Nanoseconds are cut off.
    return column.cast(pa.timestamp("us", column.type.tz), safe=False)
