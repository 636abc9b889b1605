"""CSV lines."""

from __future__ import annotations

import base64
import csv
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.sql import types as t
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions, decimal_text
from headrace.sql.functions.builtin.arithmetic import float32
from headrace.sql.functions.builtin.casts import text_to_decimal, text_to_whole
from headrace.sql.functions.builtin.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types import DataType, RowType
from headrace.sql.types.text import sql_text

OPTIONS = (
    "field-delimiter",
    "disable-quote-character",
    "quote-character",
    "allow-comments",
    "ignore-parse-errors",
    "array-element-delimiter",
    "escape-character",
    "null-literal",
    "write-bigdecimal-in-scientific-notation",
)


def decoder(row_type: RowType, options: FormatOptions) -> Decoder:
    """Reads lines."""
    return CsvDecoder(row_type, options)


def encoder(row_type: RowType, options: FormatOptions) -> Encoder:
    """Writes lines."""
    return CsvEncoder(row_type, options)


class CsvDecoder(Decoder):
    """Fields by position."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._arguments = (row_type, options)
        self._delimiter = _delimiter(options)
        self._quote = None
        if not options.flag("disable-quote-character"):
            self._quote = options.text("quote-character", '"')
        self._escape = options.values.get("escape-character")
        self._comments = options.flag("allow-comments")
        self._ignore = options.flag("ignore-parse-errors")
        self._null = options.values.get("null-literal")
        inner = options.text("array-element-delimiter", ";")
        self._readers = [cell_reader(f.data_type, inner) for f in row_type.fields]

    def __reduce__(self) -> Any:
        return CsvDecoder, self._arguments

    def decode(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        lines = [m if isinstance(m, str) else bytes(m).decode() for m in messages]
        if self._comments:
            lines = [x for x in lines if not x.startswith("#")]
        lines = [x for x in lines if x]
        special = [c for c in (self._quote, self._escape) if c]
        if any(c in x for x in lines for c in special):
            # Each by itself: a quote that is not closed must not take the next message in.
            cut: Iterator[list[str]] = map(self._cut, lines)
        else:
            cut = self._reader(lines)
        out = []
        for line in lines:
            try:
                out.append(self._row(next(cut)))
            except Exception as error:
                if not self._ignore:
                    raise HeadraceError(
                        f"Failed to deserialize CSV row {line!r}: {error}; "
                        "'csv.ignore-parse-errors' = 'true' skips such rows"
                    ) from error
        return out

    def _cut(self, line: str) -> list[str]:
        return next(self._reader([line]))

    def _reader(self, lines: list[str]) -> Iterator[list[str]]:
        return csv.reader(
            lines,
            delimiter=self._delimiter,
            quotechar=self._quote,
            quoting=csv.QUOTE_MINIMAL if self._quote else csv.QUOTE_NONE,
            escapechar=self._escape,
            strict=True,
        )

    def _row(self, fields: list[str]) -> tuple[Any, ...]:
        if len(fields) != len(self._readers):
            if not self._ignore:
                raise ValueError(
                    f"Row length mismatch. {len(self._readers)} fields expected but was "
                    f"{len(fields)}."
                )
            del fields[len(self._readers) :]
        null, ignore = self._null, self._ignore
        cells: list[Any] = []
        for read, text in zip_longest(self._readers, fields):
            if text is None or text == null:
                cells.append(None)
                continue
            try:
                cells.append(read(text))
            except Exception:
                if not ignore:
                    raise
                cells.append(None)
        return tuple(cells)


def _delimiter(options: FormatOptions) -> str:
    """A character, or the way one is written in Java's text: a backslash and a letter."""
    given = options.text("field-delimiter", ",")
    text = given.encode().decode("unicode_escape") if "\\" in given else given
    if len(text) != 1:
        raise SqlError(
            f"Option 'csv.field-delimiter' must be a string with single character, but was: {given}"
        )
    return text


def cell_reader(type_: DataType, inner: str = ";") -> Callable[[str], Any]:
    """Makes values of a type of text."""
    if isinstance(type_, t.CharType | t.VarCharType):
        return str
    if isinstance(type_, t.ArrayType):
        element = cell_reader(type_.element_type, inner)
        return lambda v: tuple(element(x) for x in v.split(inner)) if v else None
    if isinstance(type_, RowType):
        fields = [cell_reader(f.data_type, inner) for f in type_.fields]
        return lambda v: tuple(r(x) for r, x in zip(fields, v.split(inner), strict=True))
    parse = _parser(type_)

    def read(text: str) -> Any:
        if not text.strip():
            return None
        found = parse(text)
        if found is None:
            raise ValueError(f"{text!r} is not of type {type_.sql_text()}")
        return found

    return read


def _parser(type_: DataType) -> Callable[[str], Any]:
    if isinstance(type_, t.IntegralType):
        return lambda v: text_to_whole(v, type_.bits)
    if isinstance(type_, t.FloatType):
        return lambda v: float32(float(v))
    if isinstance(type_, t.DoubleType):
        return float
    if isinstance(type_, t.DecimalType):
        return lambda v: text_to_decimal(v, type_.precision, type_.scale)
    if isinstance(type_, t.BooleanType):
        return lambda v: v.strip().lower() == "true"
    if isinstance(type_, t.DateType):
        return parse_date
    if isinstance(type_, t.TimeType):
        return parse_time
    if isinstance(type_, t.TimestampType):
        return _timestamp
    if isinstance(type_, t.LocalZonedTimestampType):
        return lambda v: _timestamp(v.strip().rstrip("Z"))
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return base64.b64decode
    raise SqlError(f"CSV has no {type_.sql_text()}")


def _timestamp(text: str) -> int | None:
    """A timestamp of SQL, with a blank before the time."""
    return None if "T" in text else parse_timestamp(text)


class CsvEncoder(Encoder):
    """Fields in order; those that need it are quoted."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        self._arguments = (row_type, options)
        self._delimiter = _delimiter(options)
        self._quote = None
        if not options.flag("disable-quote-character"):
            self._quote = options.text("quote-character", '"')
        self._null = options.text("null-literal", "")
        inner = options.text("array-element-delimiter", ";")
        self._writers = [_writer(f.data_type, inner) for f in row_type.fields]
        self._special = (self._delimiter, " ", "\n", "\r", self._quote or self._delimiter)

    def __reduce__(self) -> Any:
        return CsvEncoder, self._arguments

    def encode(self, rows: list[tuple[Any, ...]]) -> list[str]:
        return [self._line(row) for row in rows]

    def _line(self, row: tuple[Any, ...]) -> str:
        cells = []
        for write, value in zip(self._writers, row, strict=False):
            if value is None:
                cells.append(self._null)
                continue
            text = write(value)
            if self._quote and any(c in text for c in self._special):
                text = self._quote + text.replace(self._quote, self._quote * 2) + self._quote
            cells.append(text)
        return self._delimiter.join(cells)


def _writer(type_: DataType, inner: str) -> Callable[[Any], str]:
    if isinstance(type_, t.BooleanType):
        return lambda v: "true" if v else "false"
    if isinstance(type_, t.DecimalType):
        return decimal_text
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return lambda v: base64.b64encode(v).decode()
    if isinstance(type_, t.LocalZonedTimestampType):
        text = sql_text(type_)
        return lambda v: text(v) + "Z"
    if isinstance(type_, t.ArrayType):
        element = _nullable(_writer(type_.element_type, inner))
        return lambda v: inner.join(map(element, v))
    if isinstance(type_, RowType):
        fields = [_nullable(_writer(f.data_type, inner)) for f in type_.fields]
        return lambda v: inner.join([w(x) for w, x in zip(fields, v, strict=True)])
    return sql_text(type_)


def _nullable(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Inside a field, NULL is not text at all."""
    return lambda v: "" if v is None else write(v)
