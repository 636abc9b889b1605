"""Text of values: in Flink's files, as `print()` shows it, and as CAST(... AS STRING) makes it.

`formatter(type_info)` is for streams: booleans, numbers and times as Java prints them, tuples as
`(a,1)`, rows as `+I[a, 1]`, lists as `[1, 2]`, maps as `{k=v}`; a record without a declared type is
its `str()`. `print_formatter(type_info)` differs where PyFlink's `print()` does: a row that is the
whole record shows its fields with Python's `str()` and no spaces, `+I[a,1]`.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.common.java.text import double_text, float_text
from headrace.common.time import Instant
from headrace.common.typeinfo import LocalTimeTypeInfo, TypeInformation
from headrace.common.types import Row
from headrace.formats.shapes import Kind, Shape, shape_of

__all__ = [
    "TextStyle",
    "formatter",
    "java_scalar",
    "print_formatter",
    "text_of_present",
    "text_writer",
]

Text: TypeAlias = Callable[[Any], str]

_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class TextStyle:
    """How values are written.

    Attributes:
        scalar: Makes, of the shape of a value with nothing inside, what writes it.
        null: What None is.
        row: What is before and after the fields of a row.
        named: Makes, of the shape of a row, whether the fields have their names.
        kind: Writes the kind of a row before it.
    """

    scalar: Callable[[Shape], Text]
    null: str = "null"
    row: tuple[str, str] = ("[", "]")
    named: Callable[[Shape], bool] = lambda shape: False
    kind: Callable[[Any], Any] = lambda row: ""


def text_writer(shape: Shape, style: TextStyle) -> Text:
    """A function from a value of the shape, or None, to its text."""
    text, null = text_of_present(shape, style), style.null
    return lambda value: null if value is None else text(value)


def text_of_present(shape: Shape, style: TextStyle) -> Text:
    """A function from a value of the shape that is not None to its text."""
    if not shape.parts and shape.kind is not Kind.ROW:
        return style.scalar(shape)
    texts = [text_writer(part, style) for part in shape.parts]
    if shape.kind is Kind.ARRAY:
        return lambda value: f"[{', '.join(map(texts[0], value))}]"
    if shape.kind in (Kind.MAP, Kind.MULTISET):
        key, item = texts[0], texts[-1] if shape.kind is Kind.MAP else str
        pair = "{}={}".format
        return lambda v: "{" + ", ".join([pair(key(a), item(b)) for a, b in v.items()]) + "}"
    if shape.kind is Kind.TUPLE:
        return lambda v: f"({','.join([text(x) for text, x in zip(texts, v, strict=False)])})"
    return _row_text(shape, texts, style)


def _row_text(shape: Shape, texts: list[Text], style: TextStyle) -> Text:
    before, after = style.row
    heads = [f"{name}=" if style.named(shape) else "" for name in shape.names]
    kind = style.kind

    def text(row: Any) -> str:
        parts = [h + text(x) for h, text, x in zip(heads, texts, row, strict=False)]
        return f"{kind(row)}{before}{', '.join(parts)}{after}"

    return text


# As Java prints values.


def _boolean_text(value: Any) -> str:
    return "true" if value else "false"


def _bytes_text(value: Any) -> str:
    """Java's bytes are signed."""
    return f"[{', '.join([str(b - 256 if b > 127 else b) for b in value])}]"


_SCALARS: dict[Kind, Text] = {
    Kind.BOOLEAN: _boolean_text,
    Kind.FLOAT: float_text,
    Kind.DOUBLE: double_text,
    Kind.BYTES: _bytes_text,
}


def java_scalar(shape: Shape) -> Text | None:
    """What writes values that are the same in streams and tables; None for others."""
    return _SCALARS.get(shape.kind)


# Streams.


def formatter(type_info: TypeInformation | None) -> Text:
    """Makes the function that turns records of the declared type into the text of a line."""
    if type_info is None:
        return str
    shape = shape_of(type_info)
    return str if shape.kind is Kind.ANY else text_writer(shape, _STREAM_STYLE)


def print_formatter(type_info: TypeInformation | None) -> Text:
    """Makes the function that turns records of the declared type into the text that is printed."""
    if type_info is not None and shape_of(type_info).kind is Kind.ROW:
        return _whole_row_text
    return formatter(type_info)


def _whole_row_text(row: Any) -> str:
    if not isinstance(row, Row):
        return str(row)
    return f"{row.get_row_kind()}[{','.join(map(str, row))}]"


def _timestamp_text(value: datetime.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%H:%M:%S}".join((f"{value.date().isoformat()} ", f".{fraction}"))


def _time_text(value: datetime.time) -> str:
    return f"{value:%H:%M:%S}"


def _local_time_text(value: datetime.time) -> str:
    text = f"{value:%H:%M}"
    if value.second or value.microsecond:
        text += f":{value.second:02d}"
    return text + _fraction_in_threes(value.microsecond * 1000)


def _local_date_time_text(value: datetime.datetime) -> str:
    return f"{value.date().isoformat()}T{_local_time_text(value.time())}"


def _instant_text(value: Instant) -> str:
    try:
        moment = _EPOCH + datetime.timedelta(seconds=value.seconds)
    except OverflowError:
        return repr(value)
    return f"{moment.isoformat()}{_fraction_in_threes(value.nanos)}Z"


def _fraction_in_threes(nanos: int) -> str:
    """A fraction of a second with 0, 3, 6 or 9 digits."""
    if not nanos:
        return ""
    text = f"{nanos:09d}"
    while text.endswith("000"):
        text = text[:-3]
    return f".{text}"


def _date_text(value: datetime.date) -> str:
    return value.isoformat()[:10]


_SQL_TIMES: dict[Kind, Text] = {Kind.TIME: _time_text, Kind.TIMESTAMP: _timestamp_text}
_LOCAL_TIMES: dict[Kind, Text] = {
    Kind.TIME: _local_time_text,
    Kind.TIMESTAMP: _local_date_time_text,
}


def _any_text(value: Any) -> str:
    return _bytes_text(value) if isinstance(value, bytes | bytearray) else str(value)


def _stream_scalar(shape: Shape) -> Text:
    if shape.kind is Kind.ANY:
        return _any_text
    if shape.kind is Kind.DATE:
        return _date_text
    if shape.kind is Kind.INSTANT:
        return _instant_text
    local = isinstance(shape.declared, LocalTimeTypeInfo)
    times = _LOCAL_TIMES if local else _SQL_TIMES
    return times.get(shape.kind) or java_scalar(shape) or str


def _kind_of(row: Any) -> Any:
    return row.get_row_kind() if isinstance(row, Row) else "+I"


_STREAM_STYLE = TextStyle(_stream_scalar, kind=_kind_of)
