"""JSON, one object for each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.common.java.text import decimal_text
from headrace.formats import json
from headrace.formats.shapes import shape_of
from headrace.formats.text_columns import Column, JsonColumns, joined
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.formats.times import read_time, read_times, write_time
from headrace.sql.formats.values import TABLE_VALUES
from headrace.sql.types import DataType, RowType

OPTIONS = (
    "fail-on-missing-field",
    "ignore-parse-errors",
    "timestamp-format.standard",
    "map-null-key.mode",
    "map-null-key.literal",
    "encode.decimal-as-plain-number",
    "encode.ignore-null-fields",
    "decode.json-parser.enabled",
)


def json_style(options: FormatOptions) -> json.JsonStyle:
    """How values are read and written, as the options say."""
    standards = ("SQL", "ISO-8601")
    iso = options.choice("timestamp-format.standard", "SQL", standards) == "ISO-8601"
    plain = options.flag("encode.decimal-as-plain-number")
    return json.JsonStyle(
        TABLE_VALUES,
        read_time(iso),
        write_time(iso),
        options.flag("fail-on-missing-field"),
        options.flag("ignore-parse-errors"),
        "{:f}".format if plain else decimal_text,
        options.flag("encode.ignore-null-fields"),
        options.choice("map-null-key.mode", "FAIL", ("FAIL", "DROP", "LITERAL")),
        options.text("map-null-key.literal", "null"),
        read_times(iso),
    )


class JsonDecoder(Decoder):
    """Fields by name; those that are missing are NULL."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        style = json_style(options)
        self._ignore = style.ignore_errors
        if self._ignore and style.fail_on_missing_field:
            raise SqlError("fail-on-missing-field and ignore-parse-errors shouldn't both be true.")
        shape = shape_of(row_type)
        self._load = json.loader(shape)
        self._read = json.reader(shape, style)
        self._columns = JsonColumns(shape, style)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        columns = self._columns.read(joined(messages), len(messages))
        present = [m for m in messages if m and not m.isspace()] if columns is None else messages
        if len(present) < len(messages):
            columns = self._columns.read(joined(present), len(present))
        return columns

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        present = [m for m in messages if m and not m.isspace()]
        try:
            documents = json.load_all(self._load, present)
            if documents is not None:
                return [row for row in map(self._read, documents) if row is not None]
        except json.UNREADABLE:
            pass  # whose message it was is found by looking at each
        return [row for row in map(self._row, present) if row is not None]

    def _row(self, message: Any) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._read(self._load(message))
            return row
        except json.UNREADABLE as error:
            if self._ignore:
                return None
            raise HeadraceError(
                f"Failed to deserialize JSON {str(message)[:200]!r}: {error}; "
                "'json.ignore-parse-errors' = 'true' skips such rows"
            ) from error


class JsonEncoder(Encoder):
    """Objects with all fields in order."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        self._write = json.rows_writer(shape_of(row_type), json_style(options))

    def encode(self, rows: list[tuple[Any, ...]]) -> list[str]:
        return self._write(rows)


def value_writer(type_: DataType, null_keys: str = "FAIL") -> Callable[[Any], str]:
    """Makes JSON of values, as JSON_OBJECT and JSON_STRING do."""
    style = json.JsonStyle(
        TABLE_VALUES,
        read_time(iso=True),
        write_time(iso=True),
        decimal_text="{:f}".format,
        null_keys=null_keys,
    )
    return json.writer(shape_of(type_), style)


decoder, encoder = JsonDecoder, JsonEncoder
