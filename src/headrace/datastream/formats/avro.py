"""Avro: records as dicts in files and messages. Needs `pip install 'headrace[avro]'`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from headrace.common.errors import (
    FunctionTypeError,
    GraphError,
    HeadraceError,
    TypeMismatchError,
    shorten_repr,
)
from headrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    DeserializationSchema,
    SerializationSchema,
)
from headrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from headrace.common.types import Row
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import BulkFormat, SetAside, SplitRecords
from headrace.datastream.formats.avro_blocks import AvroBlocks
from headrace.datastream.formats.avro_rows import record_writing, row_reading
from headrace.formats.avro import fastavro, record_reader, record_writer

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]


@dataclass(frozen=True)
class AvroSchema:
    """An Avro schema. Make one with `parse_string` or `parse_file`."""

    text: str
    parsed: Any = field(compare=False, repr=False, default=None)

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema of a JSON text."""
        try:
            parsed = fastavro().parse_schema(json.loads(json_schema))
        except HeadraceError:
            raise
        except Exception as error:
            raise GraphError(f"Could not parse Avro schema string. {error}") from error
        return AvroSchema(json.dumps(json.loads(json_schema), separators=(",", ":")), parsed)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema in a file."""
        try:
            with open(file_path, encoding="utf-8") as stream:
                return AvroSchema.parse_string(stream.read())
        except OSError as error:
            raise GraphError(f"the Avro schema {file_path} cannot be read: {error}") from error

    @property
    def field_names(self) -> list[str]:
        """The names of the fields of a record."""
        return [f["name"] for f in self.parsed.get("fields", ())]

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        # What the library makes of a schema need not fit another version of the library.
        return AvroSchema.parse_string, (self.text,)


def _checked(schema: Any, where: str) -> AvroSchema:
    if not isinstance(schema, AvroSchema):
        raise FunctionTypeError(f"{where} takes an AvroSchema, not {schema!r}")
    return schema


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of records of an Avro schema; in Python they are dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = _checked(schema, "GenericRecordAvroTypeInfo")

    def __repr__(self) -> str:
        return f'GenericRecord("{self.schema}")'


# Files.


@dataclass(frozen=True)
class AvroInputFormat(BulkFormat):
    """Reads Avro files into dicts, for `env.create_input` or `FileSource.for_bulk_file_format`.

    Example:
        >>> schema = AvroSchema.parse_string(SCHEMA)
        >>> records = env.create_input(AvroInputFormat("/data/users.avro", schema))
    """

    path: str
    schema: AvroSchema

    def __post_init__(self) -> None:
        """Check the schema where the user wrote it."""
        _checked(self.schema, "AvroInputFormat")

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Records of the schema."""
        return GenericRecordAvroTypeInfo(self.schema)

    @property
    def produced_type(self) -> TypeInformation:
        """The same."""
        return self.get_produced_type()

    def splittable(self, path: str) -> bool:
        """Always, between blocks."""
        return True

    def read(self, split: FileSplit) -> SplitRecords:
        """The records of a split."""
        return _AvroRecords(split, self.schema)


class _AvroRecords(SplitRecords):
    """Records of the blocks of a split; the position counts them."""

    def __init__(self, split: FileSplit, schema: AvroSchema) -> None:
        self._split = split
        self._schema = schema
        self._blocks: AvroBlocks | None = None
        self._records: list[Any] = []
        self._taken = 0
        self._read = 0
        self._ended = False

    def take(self, max_records: int) -> list[Any]:
        try:
            if self._blocks is None:
                self._open()
            while self._taken >= len(self._records) and not self._ended:
                self._fill(self.set_aside)
        except HeadraceError:
            raise
        except Exception as error:
            raise HeadraceError(
                f"{self._split.path} cannot be read as Avro of the given schema: {error}"
            ) from error
        start = self._taken
        self._taken = min(start + max_records, len(self._records))
        self._read += self._taken - start
        return self._records[start : self._taken]

    def _open(self) -> None:
        split = self._split
        self._blocks = AvroBlocks(split.path, split.start, split.end, self._schema.parsed)
        left = split.position or 0
        while left > 0 and not self._ended:
            # What could not be read on the way here was set aside before.
            self._fill(lambda block, error: True)
            skipped = min(left, len(self._records))
            self._taken, left = skipped, left - skipped
        self._read = split.position or 0

    def _fill(self, set_aside: SetAside) -> None:
        assert self._blocks is not None
        block = self._blocks.next(set_aside)
        self._ended = block is None
        self._records, self._taken = block or [], 0

    def snapshot(self) -> FileSplit:
        return replace(self._split, position=self._read) if self._read else self._split

    @property
    def at_end(self) -> bool:
        return self._ended and self._taken >= len(self._records)

    def close(self) -> None:
        if self._blocks is not None:
            self._blocks.close()


class AvroBulkWriters:
    """Writes Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema, codec: str = "deflate") -> BulkWriterFactory:
        """Writes dicts, or rows with the names of the fields, for `FileSink.for_bulk_format`.

        Args:
            schema: Of the records.
            codec: How blocks are compressed: `null`, `deflate`, `snappy`, `bzip2`, `xz` or
                `zstandard`.
        """
        return _AvroWriterFactory(_checked(schema, "for_generic_record"), codec)


@dataclass(frozen=True)
class _AvroWriterFactory(BulkWriterFactory):
    schema: AvroSchema
    codec: str = "deflate"

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _AvroFileWriter(self.schema, stream, self.codec)


class _AvroFileWriter(BulkWriter):
    def __init__(self, schema: AvroSchema, stream: BinaryIO, codec: str) -> None:
        self._record = record_writing(schema.parsed)
        self._writer = fastavro().write.Writer(stream, schema.parsed, codec=codec)

    def add_element(self, element: Any) -> None:
        try:
            self._writer.write(self._record(element))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise _misfit(element, error) from error

    def add_elements(self, elements: Sequence[Any]) -> None:
        for element in elements:
            self.add_element(element)

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.flush()


def _misfit(element: Any, error: Exception) -> TypeMismatchError:
    return TypeMismatchError(
        f"a record does not fit the Avro schema: {type(error).__name__}: {error}; it is "
        f"{shorten_repr(element)}"
    )


# Messages.


def _schema_of(record_class: Any, avro_schema_string: str | None) -> AvroSchema:
    if avro_schema_string is None:
        if record_class is None:
            raise FunctionTypeError("record_class or avro_schema_string should be specified")
        raise GraphError(
            f"record classes belong to Java ({record_class!r}); pass avro_schema_string instead"
        )
    return AvroSchema.parse_string(avro_schema_string)


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads a row from each message of Avro's binary form, without a header."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        """Reads rows of a schema; `record_class` is Java's, and refused."""
        self._schema = _schema_of(record_class, avro_schema_string)
        self._read = record_reader(self._schema.parsed, whole=True)
        self._type, self._row = row_reading(self._schema.parsed)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowDeserializationSchema, (None, self._schema.text)

    def get_produced_type(self) -> TypeInformation:
        """The type of the rows, which is that of Flink for the schema."""
        return self._type

    def deserialize(self, message: bytes) -> Row:
        """The row in one message.

        Raises:
            HeadraceError: The message is not a record of the schema.
        """
        try:
            record = self._read(message)
        except Exception as error:
            raise HeadraceError(
                f"a message is not Avro of the declared schema: {type(error).__name__}: {error}; "
                f"it is {shorten_repr(bytes(message))}"
            ) from error
        row: Row = self._row(record)
        return row


class AvroRowSerializationSchema(SerializationSchema):
    """Writes rows or dicts as messages in Avro's binary form, without a header."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        """Writes rows of a schema; `record_class` is Java's, and refused."""
        self._schema = _schema_of(record_class, avro_schema_string)
        self._record = record_writing(self._schema.parsed)
        self._write = record_writer(self._schema.parsed)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowSerializationSchema, (None, self._schema.text)

    def serialize(self, element: Any) -> bytes:
        """The bytes of one record."""
        try:
            return self._write(self._record(element))
        except Exception as error:
            raise _misfit(element, error) from error
