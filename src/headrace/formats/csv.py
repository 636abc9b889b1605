"""CSV: the fields of a line to and from values, as Flink's CSV formats convert them."""

from __future__ import annotations

import base64
import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.java.text import decimal_text, double_text, float_text
from headrace.formats.shapes import (
    TEMPORAL,
    Convert,
    Kind,
    Shape,
    Values,
    base64_bytes,
    real_number,
    whole_number,
)

__all__ = ["CsvDialect", "CsvStyle", "RecordCutter", "RowReader", "RowWriter", "field_reader"]

# Flink knows no limit; Python's is one of the process, and 128 KiB unless somebody lifts it.
csv.field_size_limit(sys.maxsize)

# Jackson, which writes Flink's CSV, quotes longer text without looking at it.
_UNQUOTED_AT_MOST = 24


@dataclass(frozen=True)
class CsvDialect:
    """The characters that give CSV its form."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    array_delimiter: str = ";"
    null_literal: str | None = None
    line_end: str = "\n"
    comments: bool = False

    def __post_init__(self) -> None:
        """Check the characters where the user wrote them."""
        characters = {
            "Column separator": self.delimiter,
            "Quote char": self.quote,
            "Escape char": self.escape,
        }
        for name, value in characters.items():
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                kind = GraphError if isinstance(value, str) else FunctionTypeError
                raise kind(f"{name} must be a single char, got {value} in a format of CSV")

    def reader_options(self) -> dict[str, Any]:
        """Those of Python's `csv.reader`."""
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote,
            "escapechar": self.escape,
            "quoting": csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
            "doublequote": True,
        }

    def quoter(self) -> Callable[[str], str]:
        """A function that quotes a field if it has to be, or might have to be, quoted."""
        quote, escape = self.quote, self.escape
        if quote is None:
            return lambda text: text
        # Jackson quotes whatever has a character up to the highest of the special ones, or `\`.
        highest = max(self.delimiter, quote, "\r")
        unsafe = re.compile(rf"[\x00-{re.escape(highest)}\\{re.escape(escape or '')}]")

        def quoted(text: str) -> str:
            if len(text) <= _UNQUOTED_AT_MOST and unsafe.search(text) is None:
                return text
            if escape is not None:
                text = text.replace(escape, escape * 2)
            return quote + text.replace(quote, quote * 2) + quote

        return quoted


@dataclass(frozen=True)
class CsvStyle:
    """How values are read and written.

    Attributes:
        dialect: The characters between values.
        values: How values look in Python.
        read_time: Makes, of the shape of a date, time or timestamp, what reads its text.
        write_time: Makes, of such a shape, what writes its text.
        decimal_text: Writes a decimal.
        read_times: Reads a column of dates, times or timestamps with Arrow, if it can.
        empty_is_null: Whether nothing between two delimiters is None in all columns.
        trailing_comma: Whether a record may end with a delimiter.
        ignore_errors: Whether an element or a nested field whose text does not fit is None.
    """

    dialect: CsvDialect
    values: Values
    read_time: Callable[[Shape], Callable[[str], Any]]
    write_time: Callable[[Shape], Callable[[Any], str]]
    decimal_text: Callable[[Decimal], str] = decimal_text
    read_times: Callable[[Shape, Any], Any] = lambda shape, texts: None
    empty_is_null: bool = False
    trailing_comma: bool = True
    ignore_errors: bool = False


# Reading.


class RecordCutter:
    """Finds records in text: a line is one, unless it ends within quotes."""

    def __init__(self, dialect: CsvDialect) -> None:
        """Finds records of a dialect that has quotes."""
        assert dialect.quote is not None
        self._dialect = dialect
        self._quote = dialect.quote.encode()
        self._escape = None if dialect.escape is None else dialect.escape.encode()
        self._opened: re.Pattern[bytes] | None = None
        if (dialect.delimiter + dialect.quote).isascii():
            d, q = re.escape(dialect.delimiter.encode()), re.escape(self._quote)
            inside = rb"[^%b\r\n]*+" % q
            # The quote comes first: the search jumps from one to the next.
            self._opened = re.compile(
                rb"%b(?<![^%b\r\n]%b)%b(?:%b%b%b)*+(?:[\r\n]|\Z)" % (q, d, q, inside, q, q, inside)
            )

    def cut(self, text: bytes) -> tuple[list[bytes], bool] | None:
        """The records with their ends, and whether the last goes on; None if each is a line."""
        if self._quote not in text:
            return None
        plain = self._escape is None or self._escape not in text
        if plain and self._opened is not None and self._opened.search(text) is None:
            return None
        records: list[bytes] = []
        lines: list[str] = []
        goes_on = False

        def end_record() -> None:
            records.append("".join(lines).encode(errors="surrogateescape"))
            lines.clear()

        def every_line() -> Iterator[str]:
            nonlocal goes_on
            for line in io.StringIO(text.decode(errors="surrogateescape"), newline=""):
                lines.append(line)
                if len(lines) == 1 and self._dialect.comments and line.startswith("#"):
                    end_record()
                else:
                    yield line
            # Within a record, the reader asks for one more line only if quotes are open.
            goes_on = bool(lines)

        reader = csv.reader(every_line(), strict=True, **self._dialect.reader_options())
        while True:
            try:
                next(reader)
            except StopIteration:
                return records, goes_on
            except csv.Error:
                # What reads the fields of the record says what is wrong with it.
                pass
            end_record()


class RowReader:
    """Turns the fields of records into rows."""

    def __init__(self, shape: Shape, styles: Sequence[CsvStyle]) -> None:
        """Reads rows of a shape, each column in a style of its own."""
        self._names = shape.names
        self._readers = [field_reader(p, s) for p, s in zip(shape.parts, styles, strict=True)]
        self._row = styles[0].values.row(shape.names)
        self._rows = styles[0].values.rows(shape.names)
        self._trailing_comma = styles[0].trailing_comma

    def row(self, fields: list[str], lenient: bool = False) -> Any:
        """The row of one record; `lenient` takes what is missing, or cannot be read, as None."""
        names, count = self._names, len(fields)
        if count == len(names) + 1 and self._trailing_comma and not fields[-1]:
            fields, count = fields[:-1], count - 1
        if count != len(names) and not (lenient and count < len(names)):
            raise ValueError(f"Row length mismatch. {len(names)} fields expected but was {count}.")
        values: list[Any] = [None] * len(names)
        for i, (text, read) in enumerate(zip(fields, self._readers, strict=False)):
            try:
                values[i] = text if read is None else read(text)
            except (ValueError, ArithmeticError) as error:
                if not lenient:
                    raise ValueError(f"field {names[i]!r}: {error}") from error
        return self._row(values)

    def rows(self, records: Sequence[list[str]]) -> list[Any]:
        """The rows of many records, column by column, which is faster."""
        columns = list(zip(*records, strict=True))
        if len(columns) == len(self._names) + 1 and self._trailing_comma and not any(columns[-1]):
            del columns[-1]
        if len(columns) != len(self._names):
            raise ValueError(
                f"rows have {len(columns)} fields, but {len(self._names)} are declared"
            )
        read_columns = [
            column if read is None else map(read, column)
            for column, read in zip(columns, self._readers, strict=True)
        ]
        return self._rows(zip(*read_columns, strict=True))


def field_reader(shape: Shape, style: CsvStyle) -> Convert | None:
    """A function from the text of a field to a value; None if the text is the value."""
    read = _reader(shape, style)
    # Nothing between two delimiters is not a number or a date.
    may_be_empty = shape.kind in _OF_NOTHING and not style.empty_is_null
    absent = {style.dialect.null_literal, None if may_be_empty else ""} - {None}
    if shape.kind is Kind.TEXT:
        return (lambda text: None if text in absent else text) if absent else None
    return lambda text: None if text in absent else read(text)


# Flink takes nothing for these values, and not for NULL.
_OF_NOTHING = {Kind.TEXT, Kind.ARRAY, Kind.BYTES, Kind.BOOLEAN}


def _reader(shape: Shape, style: CsvStyle) -> Convert:
    if shape.kind in TEMPORAL:
        return style.read_time(shape)
    if shape.kind in _READERS:
        return _READERS[shape.kind](shape, style)
    raise style.values.refusal(f"CSV has no values of the type {shape}")


def _decimal_reader(shape: Shape, style: CsvStyle) -> Convert:
    fit = style.values.decimal(shape)
    return lambda text: fit(Decimal(text.strip()))


def _float_reader(shape: Shape, style: CsvStyle) -> Convert:
    single = style.values.single
    return lambda text: single(real_number(text))


def _array_reader(shape: Shape, style: CsvStyle) -> Convert:
    item, array = _element_reader(shape.parts[0], style), style.values.array
    delimiter = style.dialect.array_delimiter
    if not delimiter:
        return lambda text: array([item(text)])
    return lambda text: array([item(x) for x in text.split(delimiter)] if text else [])


def _nested_reader(shape: Shape, style: CsvStyle) -> Convert:
    readers = [_element_reader(part, style) for part in shape.parts]
    delimiter, width = style.dialect.array_delimiter, len(shape.parts)
    row = tuple if shape.kind is Kind.TUPLE else style.values.row(shape.names)

    def read(text: str) -> Any:
        fields = text.split(delimiter)
        values = [r(x) for r, x in zip(readers, fields, strict=False)]
        if len(values) < width:
            if not style.ignore_errors:
                raise ValueError(
                    f"Row length mismatch. {width} fields expected but was {len(values)}."
                )
            values += [None] * (width - len(values))
        return row(values)

    return read


def _element_reader(shape: Shape, style: CsvStyle) -> Convert:
    read = field_reader(shape, style) or str
    if not style.ignore_errors:
        return read

    def read_or_none(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, ArithmeticError):
            return None

    return read_or_none


_READERS: dict[Kind, Callable[[Shape, CsvStyle], Convert]] = {
    Kind.BOOLEAN: lambda shape, style: lambda text: text.strip().lower() == "true",
    Kind.INTEGER: lambda shape, style: whole_number(shape.bits),
    Kind.BIG_INTEGER: lambda shape, style: int,
    Kind.FLOAT: _float_reader,
    Kind.DOUBLE: lambda shape, style: real_number,
    Kind.DECIMAL: _decimal_reader,
    Kind.TEXT: lambda shape, style: str,
    Kind.BYTES: lambda shape, style: base64_bytes,
    Kind.ARRAY: _array_reader,
    Kind.ROW: _nested_reader,
    Kind.TUPLE: _nested_reader,
}


# Writing.


class RowWriter:
    """Turns rows into lines."""

    def __init__(self, shape: Shape, styles: Sequence[CsvStyle]) -> None:
        """Writes rows of a shape, each column in a style of its own."""
        self._writers = [_field_writer(p, s) for p, s in zip(shape.parts, styles, strict=True)]
        self._repeated = [p.kind is Kind.TEXT or p.kind in TEMPORAL for p in shape.parts]
        self._fields = styles[0].values.fields(shape.names)
        self._join = styles[0].dialect.delimiter.join
        # A line with nothing in it would not be a row.
        self._nothing = (styles[0].dialect.quote or "") * 2

    def line(self, row: Any) -> str:
        """The fields of a row, without an end of the line."""
        pairs = zip(self._writers, self._fields(row), strict=False)
        return self._join([write(value) for write, value in pairs]) or self._nothing

    def lines(self, rows: Sequence[tuple[Any, ...]]) -> list[str]:
        """The lines of rows that are tuples with all fields, column by column."""
        if not rows or not rows[0]:
            return list(map(self.line, rows))
        columns = zip(self._writers, self._repeated, zip(*rows, strict=True), strict=False)
        texts = [_column_texts(*column) for column in columns]
        return [line or self._nothing for line in map(self._join, zip(*texts, strict=True))]


def _column_texts(
    write: Callable[[Any], str], repeated: bool, values: Sequence[Any]
) -> Iterable[str]:
    """The fields of a column; of values that often come again, each is written once."""
    if not repeated:
        return map(write, values)
    texts = {value: write(value) for value in set(values)}
    return map(texts.__getitem__, values)


def _field_writer(shape: Shape, style: CsvStyle) -> Callable[[Any], str]:
    """A function from a value to its field, quoted where that is needed."""
    quoted, null = style.dialect.quoter(), style.dialect.null_literal or ""
    text = _writer(shape, style)
    if shape.kind in _NEVER_QUOTED:
        return lambda value: null if value is None else text(value)
    return lambda value: null if value is None else quoted(text(value))


_NEVER_QUOTED = {
    Kind.BOOLEAN,
    Kind.INTEGER,
    Kind.BIG_INTEGER,
    Kind.FLOAT,
    Kind.DOUBLE,
    Kind.DECIMAL,
    Kind.DURATION,
    Kind.MONTHS,
}


def _writer(shape: Shape, style: CsvStyle) -> Callable[[Any], str]:
    if shape.kind in TEMPORAL:
        return style.write_time(shape)
    if shape.kind in _WRITERS:
        return _WRITERS[shape.kind](shape, style)
    raise style.values.refusal(f"CSV has no values of the type {shape}")


def _nullable_writer(shape: Shape, style: CsvStyle) -> Callable[[Any], str]:
    text, null = _writer(shape, style), style.dialect.null_literal or ""
    return lambda value: null if value is None else text(value)


def _array_writer(shape: Shape, style: CsvStyle) -> Callable[[Any], str]:
    item, join = _nullable_writer(shape.parts[0], style), style.dialect.array_delimiter.join
    return lambda value: join(map(item, value))


def _nested_writer(shape: Shape, style: CsvStyle) -> Callable[[Any], str]:
    writers = [_nullable_writer(part, style) for part in shape.parts]
    join = style.dialect.array_delimiter.join
    return lambda value: join([w(x) for w, x in zip(writers, value, strict=True)])


_WRITERS: dict[Kind, Callable[[Shape, CsvStyle], Callable[[Any], str]]] = {
    Kind.BOOLEAN: lambda shape, style: lambda value: "true" if value else "false",
    Kind.INTEGER: lambda shape, style: int.__repr__,
    Kind.BIG_INTEGER: lambda shape, style: int.__repr__,
    Kind.FLOAT: lambda shape, style: float_text,
    Kind.DOUBLE: lambda shape, style: double_text,
    Kind.DECIMAL: lambda shape, style: style.decimal_text,
    Kind.TEXT: lambda shape, style: str,
    Kind.BYTES: lambda shape, style: lambda value: base64.b64encode(bytes(value)).decode(),
    Kind.DURATION: lambda shape, style: int.__repr__,
    Kind.MONTHS: lambda shape, style: int.__repr__,
    Kind.ARRAY: _array_writer,
    Kind.ROW: _nested_writer,
    Kind.TUPLE: _nested_writer,
}
