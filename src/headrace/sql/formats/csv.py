"""CSV lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.common.java.text import decimal_text
from headrace.formats.csv import CsvDialect, CsvStyle, RowReader, RowWriter, field_reader
from headrace.formats.shapes import Kind, shape_of
from headrace.formats.text_columns import Column, CsvColumns, joined
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.formats.times import CSV, read_time, read_times, write_time
from headrace.sql.formats.values import TABLE_VALUES
from headrace.sql.types import DataType, RowType

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
    "trim-spaces",
    "ignore-trailing-unmappable",
    "allow-trailing-comma",
    "fail-on-missing-columns",
    "empty-string-as-null",
)


def csv_dialect(options: FormatOptions) -> CsvDialect:
    """The characters that the options of the format name."""
    quote: str | None = options.text("quote-character", '"')
    if options.flag("disable-quote-character"):
        if "quote-character" in options.values:
            raise SqlError(
                "Format cannot define a quote character and disabled quote character at the same "
                "time."
            )
        quote = None
    return CsvDialect(
        _delimiter(options),
        quote,
        options.values.get("escape-character"),
        options.text("array-element-delimiter", ";"),
        options.values.get("null-literal"),
        comments=options.flag("allow-comments"),
    )


def _style(options: FormatOptions) -> CsvStyle:
    # Flink's default says otherwise, and is used in files alone.
    scientific = options.flag("write-bigdecimal-in-scientific-notation")
    return CsvStyle(
        csv_dialect(options),
        TABLE_VALUES,
        read_time(CSV),
        write_time(CSV),
        decimal_text if scientific else "{:f}".format,
        read_times(CSV),
        options.flag("empty-string-as-null"),
        options.flag("allow-trailing-comma", default="true"),
        options.flag("ignore-parse-errors"),
    )


def in_files(options: FormatOptions) -> FormatOptions:
    """The options of lines that are written into files, where decimals have exponents."""
    scientific = {"write-bigdecimal-in-scientific-notation": "true"}
    return replace(options, values={**options.values, **scientific})


def _delimiter(options: FormatOptions) -> str:
    """A character, or the way one is written in Java's text: a backslash and a letter."""
    given = options.text("field-delimiter", ",")
    text = given.encode().decode("unicode_escape") if "\\" in given else given
    if len(text) != 1:
        raise SqlError(
            f"Option 'csv.field-delimiter' must be a string with single character, but was: {given}"
        )
    return text


class CsvDecoder(Decoder):
    """Fields by position."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        style = _style(options)
        self._dialect = style.dialect
        self._ignore = options.flag("ignore-parse-errors")
        self._whole = options.flag("fail-on-missing-columns")
        self._count = len(row_type)
        self._width = self._count if options.flag("ignore-trailing-unmappable") else None
        self._trim = _trimmer(self._dialect) if options.flag("trim-spaces") else None
        shape, styles = shape_of(row_type), [style] * len(row_type)
        # As in Flink, a line of nothing is a row only if its one field may be an empty text.
        self._of_nothing = [p.kind for p in shape.parts] == [Kind.TEXT]
        self._rows = RowReader(shape, styles)
        self._columns = CsvColumns(shape, styles)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        if self._trim is not None or (self._of_nothing and not all(messages)):
            return None
        lines = [x for x in messages if x]
        if self._dialect.comments:
            sign = "#" if isinstance(lines and lines[0], str) else b"#"
            lines = [x for x in lines if not x.startswith(sign)]
        return self._columns.read(joined(lines), len(lines))

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        lines = [text for text in map(self._text, messages) if text is not None]
        if self._dialect.comments:
            lines = [x for x in lines if not x.startswith("#")]
        lines = [x for x in lines if x or self._of_nothing]
        special = [c for c in (self._dialect.quote, self._dialect.escape) if c]
        if not all(lines) or any(c in x for x in lines for c in special):
            # Each by itself: a quote that is not closed must not take the next message in.
            cut: Iterator[list[str]] = map(self._cut, lines)
        else:
            cut = self._reader(lines)
        try:
            return self._rows.rows(list(cut)) if lines else []
        except (ValueError, ArithmeticError, csv.Error):
            return list(self._one_by_one(lines))

    def _text(self, message: Any) -> str | None:
        """The text of a message; None if it has none, and that is ignored."""
        try:
            text = message if isinstance(message, str) else bytes(message).decode()
        except UnicodeDecodeError as error:
            if self._ignore:
                return None
            raise HeadraceError(
                f"Failed to deserialize CSV row {bytes(message)!r}: {error}; "
                "'csv.ignore-parse-errors' = 'true' skips such rows"
            ) from error
        text = text.removeprefix("\ufeff")
        return text if self._trim is None else self._trim(text)

    def _one_by_one(self, lines: list[str]) -> Iterator[tuple[Any, ...]]:
        for line in lines:
            try:
                fields = self._cut(line)
                if self._whole and len(fields) < self._count:
                    raise ValueError(f"{self._count} fields expected but was {len(fields)}.")
                yield self._rows.row(fields, self._ignore)
            except (ValueError, csv.Error) as error:
                if not self._ignore:
                    raise HeadraceError(
                        f"Failed to deserialize CSV row {line!r}: {error}; "
                        "'csv.ignore-parse-errors' = 'true' skips such rows"
                    ) from error

    def _cut(self, line: str) -> list[str]:
        return next(self._reader([line])) or [""]

    def _reader(self, lines: list[str]) -> Iterator[list[str]]:
        records = csv.reader(lines, strict=True, **self._dialect.reader_options())
        return records if self._width is None else (r[: self._width] for r in records)


def _trimmer(dialect: CsvDialect) -> Callable[[str], str]:
    """What removes blanks around fields that are not quoted."""
    d, q = re.escape(dialect.delimiter), dialect.quote and re.escape(dialect.quote)
    quoted = rf"{q}(?:[^{q}]|{q}{q})*{q}|" if q else ""
    field = re.compile(rf"\s*({quoted}[^{d}]*?)\s*(?={d}|\Z)")
    return lambda line: field.sub(r"\1", line)


def cell_reader(type_: DataType) -> Callable[[str], Any]:
    """Makes values of a type of text, such as the name of a partition."""
    return field_reader(shape_of(type_), _style(FormatOptions({}))) or str


class CsvEncoder(Encoder):
    """Fields in order; those that need it are quoted."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        self._writer = RowWriter(shape_of(row_type), [_style(options)] * len(row_type))

    def encode(self, rows: list[tuple[Any, ...]]) -> list[str]:
        return self._writer.lines(rows)


decoder, encoder = CsvDecoder, CsvEncoder
