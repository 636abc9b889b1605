"""ORC files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import BulkWriter, BulkWriterFactory
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import BulkFormat, SplitRecords
from headrace.datastream.formats.columnar import (
    ColumnarRecords,
    ColumnarWriter,
    cast_columns,
    group_range,
    skipping,
)
from headrace.formats.arrow import arrow_schema, row_type_of
from headrace.formats.shapes import shape_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat", "OrcRecords"]


@dataclass(frozen=True)
class OrcColumnarRowInputFormat(BulkFormat):
    """Reads ORC files into rows of a declared type; only its columns are read.

    Attributes:
        row_type: `DataTypes.ROW([...])`, or a `RowTypeInfo`. Columns are found by name.
    """

    row_type: Any

    def __post_init__(self) -> None:
        """Check the type where the user wrote it."""
        arrow_schema(self.row_type)

    @property
    def produced_type(self) -> TypeInformation:
        """Rows of the declared type."""
        return row_type_of(arrow_schema(self.row_type))

    def splittable(self, path: str) -> bool:
        """Between stripes."""
        return True

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a split."""
        return _OrcRows(split, self.row_type)


class OrcRecords(ColumnarRecords):
    """Batches of the stripes that begin in a split."""

    _file: Any = None

    def open(self, skip: int) -> Iterator[pa.RecordBatch]:
        import pyarrow.orc as orc

        self._file = orc.ORCFile(self._split.path)
        return skipping(self._stripes(), skip)

    def _stripes(self) -> Iterator[pa.RecordBatch]:
        file = self._file
        count, size = file.nstripes, file.content_length
        # The library does not say where stripes begin. Spread evenly they are in some split, once.
        wanted = group_range([size * i // count for i in range(count)], self._split)
        names = self.columns(file.schema.names)
        for stripe in wanted:
            yield self.prepared(file.read_stripe(stripe, columns=names))

    def columns(self, names: list[str]) -> list[str] | None:
        """Which of the file's columns to read; all without a list."""
        return None

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch as records are made of it."""
        return batch

    def close(self) -> None:
        self._file = None


class _OrcRows(OrcRecords):
    def __init__(self, split: FileSplit, row_type: Any) -> None:
        super().__init__(split)
        self._schema = arrow_schema(row_type)

    def columns(self, names: list[str]) -> list[str]:
        """Those declared; a missing one is reported later."""
        return [n for n in self._schema.names if n in names]

    def prepared(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return cast_columns(batch, self._schema, self._split.path)


class OrcBulkWriters:
    """Writes ORC files."""

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Any = None, hadoop_config: Any = None
    ) -> BulkWriterFactory:
        """Writes rows of a declared type, for `FileSink.for_bulk_format`.

        Args:
            row_type: `DataTypes.ROW([...])`, or a `RowTypeInfo`.
            writer_properties: `orc.compress` is heeded (ZLIB, SNAPPY, LZ4, ZSTD, NONE).
            hadoop_config: Accepted as in PyFlink, not needed.
        """
        if not hasattr(row_type, "field_names") and not hasattr(row_type, "get_field_names"):
            raise FunctionTypeError(
                f"row_type must be an instance of RowType, or a RowTypeInfo, not {row_type!r}"
            )
        _checked(arrow_schema(row_type))
        get = getattr(writer_properties, "get_string", None)
        compression = "ZLIB" if get is None else str(get("orc.compress", "ZLIB")).upper()
        return _OrcWriterFactory(row_type, "UNCOMPRESSED" if compression == "NONE" else compression)


@dataclass(frozen=True)
class _OrcWriterFactory(BulkWriterFactory):
    row_type: Any
    compression: str

    def create(self, stream: BinaryIO) -> BulkWriter:
        lengths = {n: s.length for n, s in shape_of(self.row_type).fields if s.length is not None}
        return _OrcWriter(arrow_schema(self.row_type), stream, self.compression, lengths)


class _OrcWriter(ColumnarWriter):
    """Columns of CHAR get blanks up to their length, as ORC's own writer gives them."""

    def __init__(
        self, schema: pa.Schema, stream: BinaryIO, compression: str, lengths: dict[str, int]
    ) -> None:
        import pyarrow.orc as orc

        super().__init__(schema, stream)
        self._lengths = lengths
        self._stream = _PatientStream(stream)
        self._writer = orc.ORCWriter(self._stream, compression=compression)
        self._written = False

    def write_group(self, table: pa.Table) -> None:
        import pyarrow.compute as pc

        for name, length in self._lengths.items():
            at = table.schema.get_field_index(name)
            text = pc.utf8_slice_codeunits(table[name], 0, length)
            table = table.set_column(at, table.schema.field(at), pc.utf8_rpad(text, length))
        self._writer.write(table)
        self._stream.check()
        self._written = True

    def close_writer(self) -> None:
        if not self._written:
            self._writer.write(self.schema.empty_table())
        self._writer.close()
        self._stream.check()


class _PatientStream:
    """A stream that keeps what goes wrong for later: the library would end the process."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._failure: OSError | None = None

    def write(self, data: Any) -> int:
        if self._failure is None:
            try:
                self._stream.write(data)
            except OSError as error:
                self._failure = error
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def check(self) -> None:
        """Raise what went wrong."""
        if self._failure is not None:
            raise self._failure


def _checked(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    for field in schema:
        if pa.types.is_time(field.type):
            raise GraphError(
                f"column {field.name!r} is a time of day, which ORC does not have: use a timestamp"
            )
    return schema
