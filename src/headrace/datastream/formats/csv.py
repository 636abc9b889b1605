"""CSV: a record in each message, and whole files of it."""

from __future__ import annotations

import csv
import datetime
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, TypeVar

from headrace.common.errors import (
    FunctionTypeError,
    GraphError,
    HeadraceError,
    TypeMismatchError,
    shorten_repr,
)
from headrace.common.instants import instant_of, utc_time_of
from headrace.common.java.text import decimal_text
from headrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    DeserializationSchema,
    SerializationSchema,
)
from headrace.common.time import Instant
from headrace.common.typeinfo import RowTypeInfo, TypeInformation
from headrace.common.types import Row
from headrace.datastream.connectors.file_system.enumeration import FileSplit
from headrace.datastream.connectors.file_system.formats import (
    SplitRecords,
    StreamFormat,
    open_uncompressed,
)
from headrace.datastream.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from headrace.formats.csv import CsvDialect, CsvStyle, RowReader, RowWriter
from headrace.formats.shapes import Kind, Shape, shape_of
from headrace.formats.streams import STREAM_VALUES
from headrace.formats.text_columns import FEW, CsvColumns, joined

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]

B = TypeVar("B", bound="_DialectBuilder")


# Times.


def _timestamp_text(value: datetime.datetime) -> str:
    text = datetime.datetime.isoformat(value, " ", "microseconds").rstrip("0")
    return text + "0" if text.endswith(".") else text


def _instant_text(value: Instant) -> str:
    return _timestamp_text(utc_time_of(value).replace(tzinfo=None)) + "Z"


_READ: dict[Kind, Callable[[str], Any]] = {
    Kind.DATE: lambda text: datetime.date.fromisoformat(text.strip()),
    Kind.TIME: lambda text: datetime.time.fromisoformat(text.strip()),
    Kind.TIMESTAMP: lambda text: datetime.datetime.fromisoformat(text.strip()),
    Kind.INSTANT: lambda text: instant_of(datetime.datetime.fromisoformat(text.strip())),
}
_WRITE: dict[Kind, Callable[[Any], str]] = {
    Kind.DATE: datetime.date.isoformat,
    Kind.TIME: datetime.time.isoformat,
    Kind.TIMESTAMP: _timestamp_text,
    Kind.INSTANT: _instant_text,
}


def _styles(row: Shape, dialects: Sequence[CsvDialect]) -> list[CsvStyle]:
    return [_style(part, dialect) for part, dialect in zip(row.parts, dialects, strict=True)]


def _style(column: Shape, dialect: CsvDialect) -> CsvStyle:
    fit = STREAM_VALUES.decimal(column)

    def fitted_text(value: Decimal) -> str:
        fitted = fit(value)
        return dialect.null_literal or "" if fitted is None else decimal_text(fitted)

    return CsvStyle(
        dialect,
        STREAM_VALUES,
        lambda shape: _READ[shape.kind],
        lambda shape: _WRITE[shape.kind],
        decimal_text if column.precision is None else fitted_text,
    )


def _row_reader(row: Shape, dialects: Sequence[CsvDialect]) -> RowReader:
    return RowReader(row, _styles(row, dialects))


def _columns(row: Shape, dialects: Sequence[CsvDialect]) -> CsvColumns:
    return CsvColumns(row, _styles(row, dialects))


def _line_writer(row: Shape, dialects: Sequence[CsvDialect]) -> Callable[[Any], str]:
    """Makes the line of a row, with its end."""
    writer = RowWriter(row, _styles(row, dialects))
    names, line_end = list(row.names), dialects[0].line_end

    def line(row: Any) -> str:
        try:
            return writer.line(row) + line_end
        except (TypeError, ValueError, AttributeError) as error:
            raise TypeMismatchError(
                f"a record does not fit the columns {names}: {error}; it is {shorten_repr(row)}"
            ) from error

    return line


# Messages.


class _DialectBuilder:
    def __init__(self, type_info: TypeInformation) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise FunctionTypeError(
                f"Type information must not be {type_info!r}, but a row type such as "
                "Types.ROW_NAMED(...)"
            )
        self._type_info = type_info
        self._dialect = CsvDialect()

    def _with(self: B, **changes: Any) -> B:
        self._dialect = replace(self._dialect, **changes)
        return self

    def set_array_element_delimiter(self: B, delimiter: str) -> B:
        """Set what separates the elements of an array; `;` at first."""
        return self._with(array_delimiter=delimiter)

    def set_quote_character(self: B, c: str) -> B:
        """Set the character around fields that have special characters; `"` at first."""
        return self._with(quote=c)

    def set_escape_character(self: B, c: str) -> B:
        """Set the character before special ones; none at first."""
        return self._with(escape=c)


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a row of CSV from each message. Make one with `CsvRowDeserializationSchema.Builder`.

    Example:
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"1,Ada")
        Row(id=1, name='Ada')
    """

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect, ignore_errors: bool) -> None:
        self._type_info = type_info
        self._dialect = dialect
        self._ignore_errors = ignore_errors
        dialects = [dialect] * len(type_info.get_field_types())
        self._reader = _row_reader(shape_of(type_info), dialects)
        self._columns = _columns(shape_of(type_info), dialects)
        self._options = dialect.reader_options()

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self._type_info, self._dialect, self._ignore_errors)
        return CsvRowDeserializationSchema, arguments

    def deserialize(self, message: bytes) -> Row | None:
        """The row in one message; None if it is to be skipped.

        Raises:
            HeadraceError: The message is not a row of the declared type.
        """
        try:
            text = bytes(message).decode()
            if self._dialect.comments and text.startswith("#"):
                return None
            records = list(csv.reader(text.splitlines(keepends=True), **self._options))
            if len(records) != 1:
                raise ValueError(
                    "a message must hold one row" if records else "the message is empty"
                )
            row: Row = self._reader.row(records[0], self._ignore_errors)
            return row
        except (ValueError, csv.Error) as error:
            if self._ignore_errors:
                return None
            raise HeadraceError(
                f"a message is not CSV that matches the declared type: {error}; it is "
                f"{shorten_repr(bytes(message))}; set_ignore_parse_errors(True) skips such "
                "messages"
            ) from error

    @property
    def imports(self) -> tuple[str, ...]:
        """Arrow, which parses many messages in one call."""
        return ("pyarrow.csv",)

    def deserialize_many(self, messages: Sequence[bytes]) -> list[Any]:
        """The rows of many messages; those to be skipped are left out."""
        text = joined(messages)
        if text is not None and self._is_one_line_each(text, len(messages)):
            rows = self._columns.rows(text, len(messages))
            if rows is not None:
                return rows
        return super().deserialize_many(messages)

    def _is_one_line_each(self, text: bytes, count: int) -> bool:
        if self._dialect.comments and (text.startswith(b"#") or b"\n#" in text):
            return False
        # `deserialize` takes more than \n for the end of a line.
        return len(text.decode(errors="replace").splitlines()) == count

    def get_produced_type(self) -> TypeInformation:
        """The declared type."""
        return self._type_info

    class Builder(_DialectBuilder):
        """Builds a `CsvRowDeserializationSchema`; the type is a row type."""

        def __init__(self, type_info: TypeInformation) -> None:
            super().__init__(type_info)
            self._ignore_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what separates fields; `,` at first."""
            return self._with(delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Skip messages that begin with `#`."""
            return self._with(comments=allow_comments)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that means None."""
            return self._with(null_literal=null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Take fields that cannot be read as None, and skip messages that are no CSV."""
            self._ignore_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """The schema."""
            return CsvRowDeserializationSchema(self._type_info, self._dialect, self._ignore_errors)


class CsvRowSerializationSchema(SerializationSchema):
    r"""Writes rows as lines of CSV. Make one with `CsvRowSerializationSchema.Builder`.

    Example:
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
        >>> CsvRowSerializationSchema.Builder(row_type).build().serialize(Row(1, "Lovelace, Ada"))
        b'1,"Lovelace, Ada"\n'
    """

    def __init__(self, type_info: RowTypeInfo, dialect: CsvDialect) -> None:
        self._type_info = type_info
        self._dialect = dialect
        self._line = _line_writer(shape_of(type_info), [dialect] * len(type_info.get_field_types()))

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._type_info, self._dialect)

    def serialize(self, element: Any) -> bytes:
        """The line of one row, with its end."""
        return self._line(element).encode()

    class Builder(_DialectBuilder):
        """Builds a `CsvRowSerializationSchema`; the type is a row type."""

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what separates fields; `,` at first."""
            return self._with(delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            r"""Set what ends a line: `\n` at first, or `\r\n`, `\r` or nothing."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise GraphError(
                    "Unsupported new line delimiter. Only \\n, \\r, \\r\\n, or empty string are "
                    f"supported, not {delimiter!r}."
                )
            return self._with(line_end=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Quote nothing."""
            return self._with(quote=None)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that None is written as; nothing at first."""
            return self._with(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            """The schema."""
            return CsvRowSerializationSchema(self._type_info, self._dialect)


# Files.


@dataclass(frozen=True)
class CsvReaderFormat(StreamFormat):
    """Reads files of CSV. Make one with `for_schema`. One subtask reads a file to its end.

    Example:
        >>> schema = CsvSchema.builder().add_number_column("id").add_string_column("name").build()
        >>> source = FileSource.for_record_stream_format(
        ...     CsvReaderFormat.for_schema(schema), "/data/people.csv"
        ... ).build()
    """

    schema: CsvSchema
    ignore_errors: bool = False

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Reads rows with the columns of a schema."""
        return CsvReaderFormat(_checked_schema(schema, "CsvReaderFormat.for_schema"))

    def ignore_parse_errors(self) -> CsvReaderFormat:
        """The same format, which skips lines that are not rows of the schema."""
        return replace(self, ignore_errors=True)

    @property
    def produced_type(self) -> TypeInformation:
        """Rows with the schema's columns."""
        return self.schema.row_type_info

    @property
    def imports(self) -> tuple[str, ...]:
        """Arrow, which parses many lines in one call."""
        return ("pyarrow.csv",)

    def splittable(self, path: str) -> bool:
        """Never: a line end may be within quotes."""
        return False

    def read(self, split: FileSplit) -> SplitRecords:
        """The rows of a file."""
        return _CsvFile(split, self)


class _CsvFile(SplitRecords):
    """Rows of one file; the position is the byte at which the next one begins."""

    def __init__(self, split: FileSplit, csv_format: CsvReaderFormat) -> None:
        self._split = split
        self._schema = csv_format.schema
        self._ignore_errors = csv_format.ignore_errors
        self._reader = _row_reader(self._schema.shape, self._schema.dialects)
        self._columns = _columns(self._schema.shape, self._schema.dialects)
        self._stream: BinaryIO | None = None
        self._waiting: deque[bytes] = deque()
        self._records: Iterator[list[str]]
        self._line = b""
        self._position = 0
        self._ended = False

    def take(self, max_records: int) -> list[Row]:
        try:
            if self._stream is None:
                self._open()
            rows = self._together(max_records)
            records = [] if rows else [record for record in self._next(max_records) if record]
            self._ended = self._at_end()
        except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
            raise HeadraceError(f"{self._split.path} cannot be read as CSV: {error}") from error
        try:
            return rows or (self._reader.rows(records) if records else [])
        except (ValueError, ArithmeticError):
            return list(self._one_by_one(records))

    def _together(self, count: int) -> list[Row] | None:
        """The rows of the next lines, if there is a row in each; otherwise the lines wait."""
        assert self._stream is not None
        lines = list(islice(self._stream, count))
        text = b"".join(lines).replace(b"\r\n", b"\n").removesuffix(b"\n")
        comments = self._schema.dialect.comments and (text.startswith(b"#") or b"\n#" in text)
        odd = comments or len(lines) < FEW
        rows = None if odd else self._columns.rows(text, len(lines))
        if rows is None:
            self._waiting.extend(lines)
        else:
            self._position += sum(map(len, lines))
        return rows

    def _next(self, count: int) -> list[list[str]]:
        records: list[list[str]] = []
        while True:
            try:
                # What was read before an error stays in the list.
                records.extend(islice(self._records, count - len(records)))
                return records
            except csv.Error as error:
                if not self._ignore_errors and not self.set_aside(self._line, self._named(error)):
                    raise

    def _one_by_one(self, records: list[list[str]]) -> Iterator[Row]:
        for record in records:
            try:
                yield self._reader.row(record)
            except ValueError as error:
                if not self._ignore_errors and not self.set_aside(record, self._named(error)):
                    raise HeadraceError(
                        f"{self._split.path} has a row that does not match the declared columns: "
                        f"{error}; it is {shorten_repr(record)}, before byte {self._position}; "
                        "CsvReaderFormat.ignore_parse_errors() skips such rows, and on_error() "
                        "sets them aside"
                    ) from error

    def _named(self, error: Exception) -> HeadraceError:
        """The error with the place in the file."""
        return HeadraceError(f"{self._split.path}, before byte {self._position}: {error}")

    def _open(self) -> None:
        self._stream = open_uncompressed(self._split.path, buffered=True)
        if self._split.position is not None:
            self._stream.seek(self._split.position)
            self._position = self._split.position
        elif self._stream.peek(len(BOM_UTF8)).startswith(BOM_UTF8):  # type: ignore[attr-defined]
            self._position = len(self._stream.read(len(BOM_UTF8)))
        dialect = self._schema.dialect
        self._records = csv.reader(self._lines(), **dialect.reader_options())
        if self._split.position is None:
            self._skip_header()

    def _skip_header(self) -> None:
        schema = self._schema
        header = next(self._records, None) if schema.use_header or schema.skip_first_row else None
        names = list(schema.row_type_info.get_field_names())
        if header is not None and schema.strict_headers and header != names:
            raise HeadraceError(
                f"the header of {self._split.path} is {header}, but the columns are {names}"
            )

    def _lines(self) -> Iterator[str]:
        assert self._stream is not None
        comments = self._schema.dialect.comments
        while line := self._waiting.popleft() if self._waiting else self._stream.readline():
            self._position += len(line)
            self._line = line
            if comments and line.startswith(b"#"):
                continue
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                if not self._ignore_errors and not self.set_aside(line, self._named(error)):
                    raise
            else:
                yield text

    def _at_end(self) -> bool:
        assert self._stream is not None
        return not self._waiting and not self._stream.peek(1)  # type: ignore[attr-defined]

    def snapshot(self) -> FileSplit:
        return replace(self._split, position=self._position) if self._stream else self._split

    @property
    def at_end(self) -> bool:
        return self._ended

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()


class CsvBulkWriters:
    """Writes files of CSV."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Writes rows with the columns of a schema, for `FileSink.for_bulk_format`."""
        return _CsvWriterFactory(_checked_schema(schema, "CsvBulkWriters.for_schema"))


@dataclass(frozen=True)
class _CsvWriterFactory(BulkWriterFactory):
    schema: CsvSchema

    @property
    def concatenable(self) -> bool:
        return not self.schema.use_header

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _CsvFileWriter(self.schema, stream)


class _CsvFileWriter(BulkWriter):
    def __init__(self, schema: CsvSchema, stream: BinaryIO) -> None:
        self._stream = stream
        self._line = _line_writer(schema.shape, schema.dialects)
        if schema.use_header:
            header = schema.dialect.delimiter.join(schema.row_type_info.get_field_names())
            stream.write((header + schema.dialect.line_end).encode())

    def add_element(self, element: Any) -> None:
        self._stream.write(self._line(element).encode())

    def add_elements(self, elements: Sequence[Any]) -> None:
        self._stream.write("".join(map(self._line, elements)).encode())

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self._stream.flush()


def _checked_schema(schema: Any, where: str) -> CsvSchema:
    if not isinstance(schema, CsvSchema):
        raise FunctionTypeError(f"{where} takes a CsvSchema, not {schema!r}")
    if not len(schema):
        raise GraphError(f"{where} needs a schema with at least one column")
    return schema
