"""JSON: one document for a value, as Flink's JSON formats write and read it.

JSON's own values pass as they are. What differs between streams and tables, above all the texts of
times, is in a `JsonStyle`.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring as quoted
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.common.java.text import double_text, float_text
from headrace.formats.shapes import (
    TEMPORAL,
    Convert,
    Kind,
    Shape,
    Values,
    base64_bytes,
    or_none,
    real_number,
    whole_number,
)

__all__ = [
    "UNREADABLE",
    "JsonStyle",
    "Loader",
    "NumberAsTextError",
    "reader",
    "text_of",
    "writer",
]

UNREADABLE = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""What a message or a value that does not fit raises."""


class NumberAsTextError(Exception):
    """A number with a fraction is wanted as the text that it was, which the loader has dropped."""


@dataclass(frozen=True)
class JsonStyle:
    """How values are read and written.

    Attributes:
        values: How values look in Python.
        read_time: Makes, of the shape of a date, time or timestamp, what reads its text.
        write_time: Makes, of such a shape, what writes its text.
        fail_on_missing_field: Whether an object must have all declared fields.
        ignore_errors: Whether a field whose value does not fit is None.
        decimal_text: Writes a decimal.
        skip_null_fields: Whether objects have no fields that are None.
        null_keys: What becomes of None among the keys of a map: `FAIL`, `DROP` or `LITERAL`.
        null_key: The key in place of None.
        read_times: Reads a column of dates, times or timestamps with Arrow, if it can.
        numbers_as_written: Whether a number that is read as text is the one in the document, which
            raises `NumberAsTextError` if the loader does not keep that.
    """

    values: Values
    read_time: Callable[[Shape], Callable[[str], Any]]
    write_time: Callable[[Shape], Callable[[Any], str]]
    fail_on_missing_field: bool = False
    ignore_errors: bool = False
    decimal_text: Callable[[Decimal], str] = str
    skip_null_fields: bool = False
    null_keys: str = "FAIL"
    null_key: str = "null"
    read_times: Callable[[Shape, Any], Any] = lambda shape, texts: None
    numbers_as_written: bool = False


# Documents.


class _Written(float):
    """A number with its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> _Written:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Loader:
    """Parses documents.

    Decimals keep their digits, and with `as_written` numbers keep their text, at a price that
    others need not pay. As in Flink, texts of tables may have tabs and line ends in them, and
    those of streams may not: they are `strict`.
    """

    def __init__(self, shape: Shape, as_written: bool = False, strict: bool = False) -> None:
        """For documents that a `reader` of the shape is given."""
        exact = Decimal if shape.contains(Kind.DECIMAL) else None
        self._decoder = json.JSONDecoder(
            parse_float=_Written if as_written else exact, parse_constant=_not_json, strict=strict
        )

    def one(self, message: str | bytes) -> Any:
        """The document at the beginning of a message, whatever follows it."""
        text = message if isinstance(message, str) else _decoded(message)
        return self._decoder.raw_decode(text.lstrip(" \t\r\n\ufeff"))[0]

    def all(self, messages: Sequence[Any]) -> list[Any] | None:
        """Those of many messages in one call; None if one of them has to be looked at alone."""
        try:
            if isinstance(messages[0], str):
                text = "[" + ",\n".join(messages) + "]"
            else:
                text = _decoded(b"[" + b",\n".join(messages) + b"]")
            documents: list[Any] = self._decoder.decode(text)
        except UNREADABLE:
            return None
        return documents if len(documents) == len(messages) else None


def _decoded(message: bytes) -> str:
    return message.decode(json.detect_encoding(message), "surrogatepass")


# Reading.


def reader(shape: Shape, style: JsonStyle) -> Convert:
    """A function from what a `Loader` gives to a value of the shape; null is None."""
    return or_none(_reader(shape, style))


def _reader(shape: Shape, style: JsonStyle) -> Convert:
    if shape.kind in TEMPORAL:
        read_time = style.read_time(shape)
        return lambda v: read_time(text_of(v))
    if shape.kind in _READERS:
        return _READERS[shape.kind](shape, style)
    raise style.values.refusal(f"JSON has no values of the type {shape}")


def text_of(value: Any) -> str:
    """The text of a value that is not null; that of arrays and objects is JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, Decimal):
        return str(value)
    text = _compact_text(value)
    # Java writes these numbers in another way than Python.
    return _document_text(value) if _LONG_NUMBER.search(text) else text


_compact_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=float).encode
_LONG_NUMBER = re.compile(r"[0-9][eE]|[0-9]{8}[.]|0[.]000")


def _document_text(value: Any) -> str:
    if isinstance(value, dict):
        fields = [f"{quoted(k)}:{_document_text(v)}" for k, v in value.items()]
        return "{" + ",".join(fields) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(_document_text, value))}]"
    if isinstance(value, (float, Decimal)):
        return text_of(value)
    return _compact_text(value)


def _text_reader(shape: Shape, style: JsonStyle) -> Convert:
    if not style.numbers_as_written:
        return text_of

    def read_text(value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, _Written):
            return value.text
        if isinstance(value, (float, Decimal)):
            raise NumberAsTextError
        return text_of(value)

    return read_text


def _whole(value: Any) -> int:
    real_number(value)
    return int(value)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else text_of(value).strip().lower() == "true"


def _decimal_reader(shape: Shape, style: JsonStyle) -> Convert:
    fit = style.values.decimal(shape)
    return lambda v: fit(Decimal(text_of(v).strip()))


def _float_reader(shape: Shape, style: JsonStyle) -> Convert:
    single = style.values.single
    return lambda v: single(real_number(v))


def _element_reader(shape: Shape, style: JsonStyle) -> Convert:
    read = _reader(shape, style)
    return or_none(_lenient(read) if style.ignore_errors else read)


def _array_reader(shape: Shape, style: JsonStyle) -> Convert:
    read, array = _element_reader(shape.parts[0], style), style.values.array

    def read_array(value: Any) -> Any:
        return array([read(item) for item in _of(list, value)])

    return read_array


def _map_reader(shape: Shape, style: JsonStyle) -> Convert:
    key, item = _reader(shape.parts[0], style), _element_reader(shape.parts[1], style)
    return lambda v: {key(k): item(i) for k, i in _of(dict, v).items()}


def _multiset_reader(shape: Shape, style: JsonStyle) -> Convert:
    key, count = _reader(shape.parts[0], style), whole_number(32)
    return lambda v: {key(k): count(n) for k, n in _of(dict, v).items()}


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        what = "object" if kind is dict else "array"
        raise TypeError(f"{value!r} is not a JSON {what}")
    return value


def _field_readers(shape: Shape, style: JsonStyle) -> list[Convert]:
    readers = [_reader(part, style) for part in shape.parts]
    return list(map(_lenient, readers)) if style.ignore_errors else readers


def _lenient(read: Convert) -> Convert:
    def read_or_none(value: Any) -> Any:
        try:
            return read(value)
        except UNREADABLE:
            return None

    return read_or_none


def _row_reader(shape: Shape, style: JsonStyle) -> Convert:
    names = shape.names
    fields = list(zip(names, _field_readers(shape, style), strict=True))
    row = style.values.row(names)

    def read_row(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is not a JSON object")
        get = value.get
        return row([None if (v := get(name)) is None else read(v) for name, read in fields])

    def read_whole_row(value: Any) -> Any:
        for name in names:
            if name not in _of(dict, value):
                raise ValueError(f"Could not find field with name '{name}'")
        return read_row(value)

    return read_whole_row if style.fail_on_missing_field else read_row


def _tuple_reader(shape: Shape, style: JsonStyle) -> Convert:
    readers = list(map(or_none, _field_readers(shape, style)))

    def read_tuple(value: Any) -> tuple[Any, ...]:
        return tuple([read(v) for read, v in zip(readers, _of(list, value), strict=True)])

    return read_tuple


_READERS: dict[Kind, Callable[[Shape, JsonStyle], Convert]] = {
    Kind.BOOLEAN: lambda shape, style: _boolean,
    Kind.INTEGER: lambda shape, style: whole_number(shape.bits),
    Kind.BIG_INTEGER: lambda shape, style: _whole,
    Kind.FLOAT: _float_reader,
    Kind.DOUBLE: lambda shape, style: real_number,
    Kind.DECIMAL: _decimal_reader,
    Kind.TEXT: _text_reader,
    Kind.BYTES: lambda shape, style: lambda v: base64_bytes(text_of(v)),
    Kind.ARRAY: _array_reader,
    Kind.MAP: _map_reader,
    Kind.MULTISET: _multiset_reader,
    Kind.ROW: _row_reader,
    Kind.TUPLE: _tuple_reader,
    Kind.ANY: lambda shape, style: lambda v: v,
}


# Writing.


def writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    """A function from a value of the shape, or None, to its JSON."""
    return _null_or(_writer(shape, style))


def rows_writer(shape: Shape, style: JsonStyle) -> Callable[[list[Any]], list[str]]:
    """A function from rows of the shape, none of which is None, to the JSON of each."""
    if style.skip_null_fields or not shape.parts:
        write = writer(shape, style)
        return lambda rows: list(map(write, rows))
    writers = [_writer(part, style) for part in shape.parts]
    fields, template = style.values.fields(shape.names), _template(shape)

    def write_all(rows: list[Any]) -> list[str]:
        columns = zip(*map(fields, rows), strict=False)
        texts = [
            ["null" if v is None else w(v) for v in column] if None in column else map(w, column)
            for w, column in zip(writers, columns, strict=False)
        ]
        return list(map(template.__mod__, zip(*texts, strict=True)))

    return write_all


def _template(shape: Shape) -> str:
    heads = [f"{quoted(name)}:".replace("%", "%%") for name in shape.names]
    return "{" + ",".join(head + "%s" for head in heads) + "}"


def _null_or(write: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "null" if value is None else write(value)


def _writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    if shape.kind in TEMPORAL:
        write_time = style.write_time(shape)
        return lambda v: f'"{write_time(v)}"'
    if shape.kind in _WRITERS:
        return _WRITERS[shape.kind](shape, style)
    raise style.values.refusal(f"JSON has no values of the type {shape}")


def _number_writer(text: Callable[[float], str]) -> Callable[[Any], str]:
    # JSON has no numbers that are not finite; Flink writes their names.
    return lambda v: text(v) if math.isfinite(v) else quoted(text(v))


def _array_writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    element = writer(shape.parts[0], style)
    return lambda v: f"[{','.join(map(element, v))}]"


def _tuple_writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    writers = [writer(part, style) for part in shape.parts]
    return lambda v: f"[{','.join([w(x) for w, x in zip(writers, v, strict=True)])}]"


def _row_writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    writers = [_writer(part, style) for part in shape.parts]
    fields = style.values.fields(shape.names)
    heads = [f"{quoted(name)}:" for name in shape.names]
    template = _template(shape)

    def write(row: Any) -> str:
        pairs = zip(writers, fields(row), strict=False)
        return template % tuple(["null" if v is None else w(v) for w, v in pairs])

    def write_present(row: Any) -> str:
        found = zip(heads, writers, fields(row), strict=False)
        return "{" + ",".join([head + w(v) for head, w, v in found if v is not None]) + "}"

    return write_present if style.skip_null_fields else write


def _map_writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    item = writer(shape.parts[1], style)

    def write(entries: dict[Any, Any]) -> str:
        if None in entries:
            entries = _without_null_key(entries, style)
        return "{" + ",".join([f"{quoted(str(k))}:{item(x)}" for k, x in entries.items()]) + "}"

    return write


def _without_null_key(entries: dict[Any, Any], style: JsonStyle) -> dict[Any, Any]:
    if style.null_keys == "FAIL":
        raise HeadraceError(
            "JSON format doesn't support to serialize map data with null keys. You can drop null "
            "key entries or encode null in literals by specifying map-null-key.mode option."
        )
    kept = {k: v for k, v in entries.items() if k is not None}
    return kept if style.null_keys == "DROP" else {**kept, style.null_key: entries[None]}


def _multiset_writer(shape: Shape, style: JsonStyle) -> Callable[[Any], str]:
    return lambda v: "{" + ",".join([f"{quoted(str(k))}:{n}" for k, n in v.items()]) + "}"


_any_text = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode

_WRITERS: dict[Kind, Callable[[Shape, JsonStyle], Callable[[Any], str]]] = {
    Kind.BOOLEAN: lambda shape, style: lambda v: "true" if v else "false",
    Kind.INTEGER: lambda shape, style: int.__repr__,
    Kind.BIG_INTEGER: lambda shape, style: int.__repr__,
    Kind.FLOAT: lambda shape, style: _number_writer(float_text),
    Kind.DOUBLE: lambda shape, style: _number_writer(double_text),
    Kind.DECIMAL: lambda shape, style: style.decimal_text,
    Kind.TEXT: lambda shape, style: quoted,
    Kind.BYTES: lambda shape, style: lambda v: f'"{base64.b64encode(bytes(v)).decode()}"',
    Kind.DURATION: lambda shape, style: int.__repr__,
    Kind.MONTHS: lambda shape, style: int.__repr__,
    Kind.VARIANT: lambda shape, style: str,
    Kind.ARRAY: _array_writer,
    Kind.MAP: _map_writer,
    Kind.MULTISET: _multiset_writer,
    Kind.ROW: _row_writer,
    Kind.TUPLE: _tuple_writer,
    Kind.ANY: lambda shape, style: _any_text,
    Kind.OPAQUE: lambda shape, style: lambda v: quoted(str(v)),
}
