"""Parquet files, of rows or of Avro's records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.errors import FunctionTypeError
from headrace.common.instants import local_zone
from headrace.common.serialization import BulkWriter, BulkWriterFactory
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import (
    BulkFormat,
    SplitRecords,
    StreamFormat,
)
from headrace.datastream.formats.avro import AvroSchema, GenericRecordAvroTypeInfo
from headrace.datastream.formats.avro_arrow import avro_arrow_schema, records_of
from headrace.datastream.formats.avro_unions import from_members, to_members
from headrace.datastream.formats.columnar import (
    ColumnarRecords,
    ColumnarWriter,
    cast_columns,
    group_range,
    skipping,
)
from headrace.datastream.formats.parquet_times import Times
from headrace.formats.arrow import arrow_schema, row_type_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "ParquetRecords",
    "parquet_schema",
    "parquet_writer",
]


@dataclass(frozen=True, init=False)
class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads Parquet files into rows of a declared type; only its columns are read.

    Args:
        row_type: `DataTypes.ROW([...])`, or a `RowTypeInfo`. Columns are found by name.
        hadoop_config: Accepted as in PyFlink, not needed.
        batch_size: Rows that are decoded at a time.
        is_utc_timestamp: Whether an instant in the file that is declared as `TIMESTAMP` becomes
            the time in UTC, or that in the zone of the machine. A time without a zone stays.
        is_case_sensitive: Whether the case of column names counts.

    Example:
        >>> row_type = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT())])
        >>> source = FileSource.for_bulk_file_format(
        ...     ParquetColumnarRowInputFormat(row_type), "/data/events"
        ... ).build()
    """

    row_type: Any
    batch_size: int
    is_utc_timestamp: bool
    is_case_sensitive: bool

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        if type(batch_size) is not int or batch_size <= 0:
            raise FunctionTypeError(f"batch_size must be a positive int, not {batch_size!r}")
        object.__setattr__(self, "row_type", row_type)
        object.__setattr__(self, "batch_size", batch_size)
        object.__setattr__(self, "is_utc_timestamp", is_utc_timestamp)
        object.__setattr__(self, "is_case_sensitive", is_case_sensitive)
        arrow_schema(row_type)

    @property
    def produced_type(self) -> TypeInformation:
        """Rows of the declared type."""
        return row_type_of(arrow_schema(self.row_type))

    def splittable(self, path: str) -> bool:
        """Between groups of rows."""
        return True

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _ParquetRows(split, self)


class ParquetRecords(ColumnarRecords):
    """Batches of the row groups that begin in a split."""

    batch_size = 2048
    _file: Any = None
    _clock: str | None = None

    def open(self, skip: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.parquet as pq

        # Arrow's nanoseconds would end in 2262; Flink and Spark write such times of any year.
        self._file = pq.ParquetFile(
            self._split.path, memory_map=True, coerce_int96_timestamp_unit="us"
        )
        metadata = self._file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        wanted = group_range([_start(g) for g in groups], self._split)
        while wanted and skip >= groups[wanted[0]].num_rows:
            skip -= groups[wanted.pop(0)].num_rows
        batches = self._file.iter_batches(
            max(self.batch_size, 2048),
            row_groups=wanted,
            columns=self.columns(self._file.schema_arrow.names),
        )
        times = Times(self._file, self.declared, self._clock)
        return (self.prepared(times(b)) for b in skipping(batches, skip))

    def on_clock(self, utc: bool) -> None:
        """Instants that are declared as `TIMESTAMP` get the clock of UTC, or of the machine."""
        zone = str(local_zone())
        self._clock = None if utc or zone == "UTC" else zone

    def declared(self, name: str) -> pa.DataType | None:
        """The type with which a column is declared, if it is."""
        return None

    def columns(self, names: list[str]) -> list[str] | None:
        """Which of the file's columns to read; all without a list."""
        return None

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as records are made of it."""
        return batch

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _start(group: Any) -> int:
    """The first byte of a row group."""
    column = group.column(0)
    dictionary, data = column.dictionary_page_offset, column.data_page_offset
    return int(data if dictionary is None or dictionary <= 0 else min(dictionary, data))


class _ParquetRows(ParquetRecords):
    def __init__(self, split: FileSplit, settings: ParquetColumnarRowInputFormat) -> None:
        super().__init__(split)
        self._case_sensitive = settings.is_case_sensitive
        self._schema = arrow_schema(settings.row_type)
        self._types = {self._folded(field.name): field.type for field in self._schema}
        self.on_clock(settings.is_utc_timestamp)
        # `Types.INSTANT()` is an `Instant`; a TIMESTAMP_LTZ is a time, as it is in functions.
        self._zone = None if isinstance(settings.row_type, TypeInformation) else local_zone()
        self.batch_size = settings.batch_size

    def columns(self, names: list[str]) -> list[str]:
        """Those declared, in the spelling of the file; a missing one is reported later."""
        wanted = set(map(self._folded, self._schema.names))
        return [n for n in names if self._folded(n) in wanted]

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return cast_columns(batch, self._schema, self._split.path, self._case_sensitive)

    def declared(self, name: str) -> pa.DataType | None:
        """The type of a column, however the file spells its name."""
        return self._types.get(self._folded(name))

    def _folded(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        return rows_of(batch, self._zone)


class ParquetBulkWriters:
    """Writes Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: Any, hadoop_config: Any = None, utc_timestamp: bool = False
    ) -> BulkWriterFactory:
        """Writes rows of a declared type, for `FileSink.for_bulk_format`.

        Args:
            row_type: `DataTypes.ROW([...])`, or a `RowTypeInfo`.
            hadoop_config: `parquet.compression` is heeded (SNAPPY, GZIP, ZSTD, UNCOMPRESSED).
            utc_timestamp: Accepted: timestamps are written as they are.
        """
        return _ParquetWriterFactory(parquet_schema(row_type), _compression(hadoop_config))

    @staticmethod
    def for_schema(schema: pa.Schema) -> BulkWriterFactory:
        """Writes rows with the columns of an Arrow schema."""
        return _ParquetWriterFactory(schema)


def parquet_schema(row_type: Any) -> pa.Schema:
    """The columns of a file of a declared row type, with the times of day that Flink reads."""
    import pyarrow as pa

    return pa.schema([pa.field(f.name, _in_millis(f.type)) for f in arrow_schema(row_type)])


def _in_millis(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as at

    if at.is_time(kind):
        return pa.time32("ms")
    if at.is_list(kind):
        return pa.list_(_in_millis(kind.value_type))
    if at.is_map(kind):
        return pa.map_(_in_millis(kind.key_type), _in_millis(kind.item_type))
    if at.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([(f.name, _in_millis(f.type)) for f in fields])
    return kind


def parquet_writer(stream: BinaryIO, schema: pa.Schema, compression: str) -> Any:
    """Writes tables of a schema, with decimals as Flink reads them."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(stream, schema, compression=compression, store_decimal_as_integer=True)


def _compression(hadoop_config: Any) -> str:
    get = getattr(hadoop_config, "get_string", None)
    name = "SNAPPY" if get is None else str(get("parquet.compression", "SNAPPY"))
    return "NONE" if name.upper() == "UNCOMPRESSED" else name.upper()


@dataclass(frozen=True)
class _ParquetWriterFactory(BulkWriterFactory):
    schema: pa.Schema
    compression: str = "SNAPPY"

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _ParquetWriter(self.schema, stream, self.compression)


class _ParquetWriter(ColumnarWriter):
    def __init__(self, schema: pa.Schema, stream: BinaryIO, compression: str = "SNAPPY") -> None:
        super().__init__(schema, stream)
        self._writer = parquet_writer(stream, schema, compression)

    def write_group(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close_writer(self) -> None:
        self._writer.close()


# Avro's records in Parquet.


class AvroParquetReaders:
    """Reads Avro's records from Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Reads dicts of a schema, for `FileSource.for_record_stream_format`."""
        if not isinstance(schema, AvroSchema):
            raise FunctionTypeError(f"for_generic_record takes an AvroSchema, not {schema!r}")
        return _AvroParquetFormat(schema)


@dataclass(frozen=True)
class _AvroParquetFormat(StreamFormat):
    schema: AvroSchema

    @property
    def produced_type(self) -> TypeInformation:
        return GenericRecordAvroTypeInfo(self.schema)

    def splittable(self, path: str) -> bool:
        return True

    def read(self, split: FileSplit) -> SplitRecords:
        return _AvroParquetRecords(split, self.schema)


class _AvroParquetRecords(ParquetRecords):
    def __init__(self, split: FileSplit, schema: AvroSchema) -> None:
        super().__init__(split)
        self._schema = avro_arrow_schema(schema)
        self._convert = from_members(schema.parsed)

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return cast_columns(batch, self._schema, self._split.path)

    def rows(self, batch: pa.RecordBatch) -> list[Any]:
        records = records_of(batch)
        return records if self._convert is None else list(map(self._convert, records))


class AvroParquetWriters:
    """Writes Avro's records into Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Writes dicts of a schema, for `FileSink.for_bulk_format`."""
        if not isinstance(schema, AvroSchema):
            raise FunctionTypeError(f"for_generic_record takes an AvroSchema, not {schema!r}")
        return _AvroParquetWriterFactory(schema)


@dataclass(frozen=True)
class _AvroParquetWriterFactory(BulkWriterFactory):
    schema: AvroSchema

    def __post_init__(self) -> None:
        """Check the schema where the user wrote it."""
        avro_arrow_schema(self.schema)

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _AvroParquetWriter(self.schema, stream)


class _AvroParquetWriter(_ParquetWriter):
    def __init__(self, schema: AvroSchema, stream: BinaryIO) -> None:
        super().__init__(avro_arrow_schema(schema), stream)
        self._convert = to_members(schema.parsed)

    def add_element(self, element: Any) -> None:
        super().add_element(element if self._convert is None else self._convert(element))

    def add_elements(self, elements: Sequence[Any]) -> None:
        convert = self._convert
        super().add_elements(elements if convert is None else list(map(convert, elements)))
