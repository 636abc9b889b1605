"""CSV lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
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

FIRST_FIELDS = "first-fields-only"
"""An option of older CSV tables, without a successor: fields after the declared are dropped."""

OPTIONS = (
    "field-delimiter",
    "disable-quote-character",
    "quote-character",
    "allow-comments",
    FIRST_FIELDS,
    "ignore-parse-errors",
    "array-element-delimiter",
    "escape-character",
    "null-literal",
    "write-bigdecimal-in-scientific-notation",
)


def csv_dialect(options: FormatOptions) -> CsvDialect:
    """The characters that the options of the format name."""
    quote = options.text("quote-character", '"')
    return CsvDialect(
        _delimiter(options),
        None if options.flag("disable-quote-character") else quote,
        options.values.get("escape-character"),
        options.text("array-element-delimiter", ";"),
        options.values.get("null-literal"),
        comments=options.flag("allow-comments"),
    )


def _style(options: FormatOptions) -> CsvStyle:
    scientific = "write-bigdecimal-in-scientific-notation"
    plain = options.choice(scientific, "true", ("true", "false")) == "false"
    text = "{:f}".format if plain else decimal_text
    return CsvStyle(
        csv_dialect(options), TABLE_VALUES, read_time(CSV), write_time(CSV), text, read_times(CSV)
    )


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
        self._width = len(row_type) if options.flag(FIRST_FIELDS) else None
        shape, styles = shape_of(row_type), [style] * len(row_type)
        # As in Flink, a line of nothing is a row only if its one field may be an empty text.
        self._of_nothing = [p.kind for p in shape.parts] == [Kind.TEXT]
        self._rows = RowReader(shape, styles)
        self._columns = CsvColumns(shape, styles)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        if self._of_nothing and not all(messages):
            return None
        lines = [x for x in messages if x]
        if self._dialect.comments:
            sign = "#" if isinstance(lines and lines[0], str) else b"#"
            lines = [x for x in lines if not x.startswith(sign)]
        return self._columns.read(joined(lines), len(lines))

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        lines = [m if isinstance(m, str) else bytes(m).decode() for m in messages]
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

    def _one_by_one(self, lines: list[str]) -> Iterator[tuple[Any, ...]]:
        for line in lines:
            try:
                yield self._rows.row(self._cut(line), self._ignore)
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
