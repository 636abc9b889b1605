"""Between the fields of CSV and values of declared types, as Flink's CSV formats convert them."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.common.errors import GraphError
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.common.types import Row, row_of
from headrace.datastream.formats.instants import instant_of, utc_time_of

__all__ = ["CsvDialect", "field_reader", "field_writer", "is_text"]

Convert = Callable[[Any], Any]

INT_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}

_ARRAYS = (BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo, PrimitiveArrayTypeInfo)

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
        for name in ("delimiter", "quote", "escape"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                raise GraphError(f"the {name} of CSV must be a single character, not {value!r}")

    def reader_options(self) -> dict[str, Any]:
        """Those of Python's `csv.reader`."""
        import csv

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
        # Jackson quotes whatever has a character up to the highest of the special ones.
        highest = max(self.delimiter, quote, "\r")
        unsafe = re.compile(f"[\x00-{re.escape(highest)}{re.escape(escape or '')}]")

        def quoted(text: str) -> str:
            if len(text) <= _UNQUOTED_AT_MOST and unsafe.search(text) is None:
                return text
            if escape is not None:
                text = text.replace(escape, escape * 2)
            return quote + text.replace(quote, quote * 2) + quote

        return quoted


def is_text(type_info: TypeInformation) -> bool:
    """Whether an empty field is a value of the type."""
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type in (
        BasicType.STRING,
        BasicType.CHAR,
    )


# Reading.


def field_reader(type_info: TypeInformation, dialect: CsvDialect) -> Convert | None:
    """A function from the text of a field to a value; None if the text is the value."""
    null = dialect.null_literal
    convert = _reader(type_info, dialect)
    if is_text(type_info):
        return None if null is None else lambda text: None if text == null else text
    if isinstance(type_info, _ARRAYS):
        return lambda text: None if text == null else convert(text)
    # Nothing between two delimiters is not a number, date or truth value.
    return lambda text: None if text in ("", null) else convert(text)


def _reader(type_info: TypeInformation, dialect: CsvDialect) -> Convert:
    if isinstance(type_info, ExternalTypeInfo):
        return _reader(type_info.type_info, dialect)
    if isinstance(type_info, InstantTypeInfo):
        return lambda text: instant_of(datetime.datetime.fromisoformat(text.strip()))
    if isinstance(type_info, BasicTypeInfo):
        return _basic_reader(type_info.basic_type)
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE():
        return base64.b64decode
    if isinstance(type_info, _ARRAYS):
        return _array_reader(field_reader(type_info.element_type, dialect) or str, dialect)
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return _nested_reader(type_info, dialect)
    kind = type_info.time_type if isinstance(type_info, LocalTimeTypeInfo) else None
    local = LocalTimeTypeInfo.TimeType
    if isinstance(type_info, DateTypeInfo) or kind is local.LOCAL_DATE:
        return lambda text: datetime.date.fromisoformat(text.strip())
    if isinstance(type_info, TimeTypeInfo) or kind is local.LOCAL_TIME:
        return lambda text: datetime.time.fromisoformat(text.strip())
    if isinstance(type_info, TimestampTypeInfo) or kind is local.LOCAL_DATE_TIME:
        return lambda text: datetime.datetime.fromisoformat(text.strip())
    raise GraphError(f"CSV cannot represent the type {type_info}")


def _basic_reader(basic: BasicType) -> Convert:
    if basic in INT_BITS:
        bits = INT_BITS[basic]
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

        def read(text: str) -> int:
            number = int(text)
            if low <= number <= high:
                return number
            raise ValueError(f"{number} does not fit into {bits} bits")

        return read
    if basic in (BasicType.FLOAT, BasicType.DOUBLE):
        return float
    if basic is BasicType.BOOLEAN:
        return lambda text: text.strip().lower() == "true"
    if basic is BasicType.BIG_DEC:
        return lambda text: Decimal(text.strip())
    return int if basic is BasicType.BIG_INT else str


def _array_reader(of_item: Convert, dialect: CsvDialect) -> Convert:
    delimiter = dialect.array_delimiter
    if not delimiter:
        return lambda text: [of_item(text)]
    return lambda text: [of_item(item) for item in text.split(delimiter)] if text else []


def _nested_reader(type_info: RowTypeInfo | TupleTypeInfo, dialect: CsvDialect) -> Convert:
    readers = [field_reader(t, dialect) or str for t in type_info.get_field_types()]
    names = list(type_info.get_field_names()) if isinstance(type_info, RowTypeInfo) else None

    def read(text: str) -> Any:
        items = text.split(dialect.array_delimiter)
        values = [convert(item) for convert, item in zip(readers, items, strict=True)]
        return tuple(values) if names is None else row_of(values, names)

    return read


# Writing.


def field_writer(type_info: TypeInformation, dialect: CsvDialect) -> Callable[[Any], str]:
    """A function from a value to its field, quoted where that is needed."""
    quoted, null = dialect.quoter(), dialect.null_literal or ""
    text = _writer(type_info, dialect)
    if _never_quoted(type_info):
        return lambda value: null if value is None else text(value)
    return lambda value: null if value is None else quoted(text(value))


def _never_quoted(type_info: TypeInformation) -> bool:
    return isinstance(type_info, BasicTypeInfo) and not (
        is_text(type_info) or isinstance(type_info, InstantTypeInfo)
    )


def _writer(type_info: TypeInformation, dialect: CsvDialect) -> Callable[[Any], str]:
    if isinstance(type_info, ExternalTypeInfo):
        return _writer(type_info.type_info, dialect)
    if isinstance(type_info, InstantTypeInfo):
        return lambda value: _time_text(utc_time_of(value).replace(tzinfo=None)) + "Z"
    if isinstance(type_info, BasicTypeInfo):
        if type_info.basic_type is BasicType.BOOLEAN:
            return lambda value: "true" if value else "false"
        if type_info.basic_type in (BasicType.FLOAT, BasicType.DOUBLE):
            return lambda value: repr(float(value))
        return str
    if isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE():
        return lambda value: base64.b64encode(bytes(value)).decode()
    if isinstance(type_info, _ARRAYS):
        of_item = _nullable_writer(type_info.element_type, dialect)
        return lambda value: dialect.array_delimiter.join(map(of_item, value))
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        writers = [_nullable_writer(t, dialect) for t in type_info.get_field_types()]
        return lambda value: dialect.array_delimiter.join(
            write(item) for write, item in zip(writers, _fields(value), strict=True)
        )
    return _time_text


def _nullable_writer(type_info: TypeInformation, dialect: CsvDialect) -> Callable[[Any], str]:
    text, null = _writer(type_info, dialect), dialect.null_literal or ""
    return lambda value: null if value is None else text(value)


def _fields(value: Any) -> Any:
    return value if isinstance(value, Row | list | tuple) else (value,)


def _time_text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        text = value.isoformat(" ", "microseconds").rstrip("0")
        return text + "0" if text.endswith(".") else text
    return str(value)
