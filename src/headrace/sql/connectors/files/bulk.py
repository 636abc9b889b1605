"""Files of formats that have a head or a foot: Parquet, ORC and Avro, as tables."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, BinaryIO

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.serialization import BulkWriterFactory
from headrace.common.types import row_of
from headrace.datastream.connectors.file_system import FileFormat
from headrace.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema
from headrace.datastream.formats.orc import OrcBulkWriters
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.sql.connectors.base import TableContext
from headrace.sql.connectors.files import merging as merging_files
from headrace.sql.connectors.files.columnar_rows import OrcRows, ParquetRows
from headrace.sql.connectors.files.partitions import DataWriters
from headrace.sql.connectors.files.rows import FileLayout
from headrace.sql.connectors.format_options import format_options
from headrace.sql.formats.avro import avro_codec, avro_schema, from_avro, to_avro
from headrace.sql.types import RowType
from headrace.sql.types.values import row_to_external

__all__ = ["BULK", "BulkFiles", "reads_utc"]


class BulkFiles(ABC):
    """A format: how a table of it is read and written."""

    @abstractmethod
    def codec(self, context: TableContext) -> str:
        """How files are compressed; reads the options of the format."""

    @abstractmethod
    def reader(self, row_type: RowType, context: TableContext) -> tuple[FileFormat, Any]:
        """What reads files, and what makes rows of its records if they are not."""

    @abstractmethod
    def writers(self, row_type: RowType, codec: str) -> BulkWriterFactory:
        """What writes files."""

    @abstractmethod
    def merge(self, files: Sequence[str], target: BinaryIO) -> None:
        """Puts files together into one."""

    def convert(self, row_type: RowType) -> Any:
        """Makes what the writers take of an internal row."""
        external, names = row_to_external(row_type.field_types()), row_type.names
        return lambda row: row_of(external(row), names)

    def data_writers(self, layout: FileLayout, codec: str) -> BulkWriterFactory:
        """Writers of rows without their partition columns."""
        records = _Records(self, layout.data, layout.data_type)
        return DataWriters(self.writers(layout.data_type, codec), records)


class _Records:
    """Makes what a format writes of rows, without their partition columns."""

    def __init__(self, files: BulkFiles, columns: tuple[int, ...], row_type: RowType) -> None:
        self._arguments = (files, columns, row_type)
        self._columns = columns
        self._convert = files.convert(row_type)

    def __reduce__(self) -> Any:
        return _Records, self._arguments

    def __call__(self, row: Any) -> Any:
        return self._convert([row[c] for c in self._columns])


def reads_utc(context: TableContext) -> bool:
    """Whether instants of Parquet files that are declared as `TIMESTAMP` have the clock of UTC."""
    return context.boolean("parquet.utc-timezone", False)


class ParquetFiles(BulkFiles):
    """`'format' = 'parquet'`."""

    def codec(self, context: TableContext) -> str:
        reads_utc(context)
        # Flink hands these to the library that it writes with.
        context.with_prefix("parquet.")
        known = ("UNCOMPRESSED", "SNAPPY", "GZIP", "BROTLI", "LZ4", "ZSTD")
        return _one_of(context, "parquet.compression", "SNAPPY", known)

    def reader(self, row_type: RowType, context: TableContext) -> tuple[FileFormat, Any]:
        return ParquetRows.of(row_type, utc=reads_utc(context)), None

    def writers(self, row_type: RowType, codec: str) -> BulkWriterFactory:
        wanted = Configuration.from_dict({"parquet.compression": codec})
        return ParquetBulkWriters.for_row_type(row_type, wanted)

    def merge(self, files: Sequence[str], target: BinaryIO) -> None:
        merging_files.parquet(files, target)


class OrcFiles(BulkFiles):
    """`'format' = 'orc'`."""

    def codec(self, context: TableContext) -> str:
        context.with_prefix("orc.")
        known = ("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD")
        return _one_of(context, "orc.compress", "ZLIB", known)

    def reader(self, row_type: RowType, context: TableContext) -> tuple[FileFormat, Any]:
        return OrcRows.of(row_type), None

    def writers(self, row_type: RowType, codec: str) -> BulkWriterFactory:
        wanted = Configuration.from_dict({"orc.compress": codec})
        return OrcBulkWriters.for_row_type(row_type, wanted)

    def merge(self, files: Sequence[str], target: BinaryIO) -> None:
        merging_files.orc(files, target)


class AvroFiles(BulkFiles):
    """`'format' = 'avro'`."""

    def codec(self, context: TableContext) -> str:
        return avro_codec(format_options(context, "avro"))

    def reader(self, row_type: RowType, context: TableContext) -> tuple[FileFormat, Any]:
        return AvroInputFormat("", self._schema(row_type)), _AvroRows(row_type)

    def writers(self, row_type: RowType, codec: str) -> BulkWriterFactory:
        return AvroBulkWriters.for_generic_record(self._schema(row_type), codec)

    def merge(self, files: Sequence[str], target: BinaryIO) -> None:
        merging_files.avro(files, target)

    def convert(self, row_type: RowType) -> Any:
        return to_avro(row_type)

    def _schema(self, row_type: RowType) -> Any:
        return AvroSchema.parse_string(json.dumps(avro_schema(row_type)))


class _AvroRows:
    """Makes rows of Avro's records."""

    def __init__(self, row_type: RowType) -> None:
        self._row_type = row_type
        self._convert = from_avro(row_type)

    def __reduce__(self) -> Any:
        return _AvroRows, (self._row_type,)

    def decode(self, records: list[Any]) -> list[Any]:
        return [self._convert(r) for r in records]


def _one_of(context: TableContext, key: str, default: str, known: tuple[str, ...]) -> str:
    given = (context.option(key) or default).upper()
    if given not in known:
        raise SqlError(f"'{key}' must be one of {', '.join(known)}, not '{given}'")
    return given


BULK: dict[str, BulkFiles] = {
    "parquet": ParquetFiles(),
    "orc": OrcFiles(),
    "avro": AvroFiles(),
}
