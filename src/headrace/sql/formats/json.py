"""JSON, one object for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.common.java.text import decimal_text
from headrace.formats import json
from headrace.formats.shapes import shape_of
from headrace.formats.text_columns import Column, JsonColumns, joined
from headrace.sql.formats.base import Decoder, Encoder, FormatOptions
from headrace.sql.formats.times import ISO, SQL, read_time, read_times, write_time
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
    name = options.choice("timestamp-format.standard", "SQL", ("SQL", "ISO-8601"))
    standard = SQL if name == "SQL" else ISO
    plain = options.flag("encode.decimal-as-plain-number")
    return json.JsonStyle(
        TABLE_VALUES,
        read_time(standard),
        write_time(standard),
        options.flag("fail-on-missing-field"),
        options.flag("ignore-parse-errors"),
        "{:f}".format if plain else decimal_text,
        options.flag("encode.ignore-null-fields"),
        options.choice("map-null-key.mode", "FAIL", ("FAIL", "DROP", "LITERAL")),
        options.text("map-null-key.literal", "null"),
        read_times(standard),
    )


class JsonDecoder(Decoder):
    """Fields by name; those that are missing are NULL."""

    def __init__(self, row_type: RowType, options: FormatOptions) -> None:
        super().__init__(row_type, options)
        # Flink's older parser, which the option asks for, gives numbers a text of its own.
        as_written = options.choice("decode.json-parser.enabled", "true", ("true", "false"))
        style = replace(json_style(options), numbers_as_written=as_written == "true")
        self._ignore = style.ignore_errors
        if self._ignore and style.fail_on_missing_field:
            raise SqlError("fail-on-missing-field and ignore-parse-errors shouldn't both be true.")
        self._shape = shape_of(row_type)
        self._documents = json.Loader(self._shape)
        self._read = json.reader(self._shape, style)
        self._columns = JsonColumns(self._shape, style)

    def columns(self, messages: list[Any]) -> list[Column] | None:
        columns = self._columns.read(joined(messages), len(messages))
        present = [m for m in messages if m and not m.isspace()] if columns is None else messages
        if len(present) < len(messages):
            columns = self._columns.read(joined(present), len(present))
        return columns

    def decode_each(self, messages: list[Any]) -> list[tuple[Any, ...]]:
        present = [m for m in messages if m and not m.isspace()]
        rows = self._rows_of_objects(present)
        if rows is None:
            return [row for message in present for row in self._rows_of(message)]
        return [row for row in rows if row is not None]

    def _rows_of_objects(self, messages: list[Any]) -> list[Any] | None:
        """A row of each message; None if one of them has to be looked at alone."""
        try:
            documents = self._documents.all(messages) if messages else []
            if documents is None or list in set(map(type, documents)):
                return None
            return list(map(self._read, documents))
        except json.UNREADABLE:
            return None
        except json.NumberAsTextError:
            self._keep_numbers()
            return self._rows_of_objects(messages)

    def _rows_of(self, message: Any) -> list[tuple[Any, ...]]:
        """The row of an object, or those of the objects in an array."""
        try:
            document = self._documents.one(message)
            if type(document) is not list:
                document = [document]
            self.several = self.several or len(document) > 1
            return [row for row in map(self._read, document) if row is not None]
        except json.NumberAsTextError:
            self._keep_numbers()
            return self._rows_of(message)
        except json.UNREADABLE as error:
            if self._ignore:
                return []
            text = message if isinstance(message, str) else bytes(message).decode(errors="replace")
            raise HeadraceError(
                f"Failed to deserialize JSON '{text[:200]}': {error}; "
                "'json.ignore-parse-errors' = 'true' skips such rows"
            ) from error

    def _keep_numbers(self) -> None:
        """There is a number in a column of text, and where one is there are more."""
        self._documents = json.Loader(self._shape, as_written=True)


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
        read_time(ISO),
        write_time(ISO),
        decimal_text="{:f}".format,
        null_keys=null_keys,
    )
    return json.writer(shape_of(type_), style)


decoder, encoder = JsonDecoder, JsonEncoder
