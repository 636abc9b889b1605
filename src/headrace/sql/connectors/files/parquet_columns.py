"""Writes Arrow batches of internal values to Parquet files, without making rows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.serialization import BulkWriter, BulkWriterFactory
from headrace.datastream.formats.parquet import parquet_schema, parquet_writer
from headrace.sql.types import RowType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ParquetColumns"]


@dataclass(frozen=True)
class ParquetColumns(BulkWriterFactory):
    """Files with the columns that `ParquetBulkWriters` writes for rows of the same type."""

    row_type: RowType
    compression: str = "SNAPPY"

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ColumnsWriter(parquet_schema(self.row_type), stream, self.compression)


class _ColumnsWriter(BulkWriter):
    """Each batch becomes a group of rows."""

    def __init__(self, schema: pa.Schema, stream: BinaryIO, compression: str) -> None:
        self._schema = schema
        self._writer = parquet_writer(stream, schema, compression)

    def add_element(self, element: Any) -> None:
        import pyarrow as pa

        columns = [
            _external(column, field.type)
            for column, field in zip(element.columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def finish(self) -> None:
        self._writer.close()


def _external(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Times of microseconds since 1970 as what they are."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_) and not pa.types.is_timestamp(column.type):
        return column.view(pa.timestamp("us", type_.tz)).cast(type_, safe=False)
    if pa.types.is_time(type_) and not pa.types.is_time(column.type):
        return column.view(pa.time64("us")).cast(type_, safe=False)
    if pa.types.is_date(type_) and not pa.types.is_date(column.type):
        return column.view(pa.date32()).cast(type_)
    return column.cast(type_)
