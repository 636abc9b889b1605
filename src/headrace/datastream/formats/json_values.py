"""Between JSON's values and the values of declared types, as Flink's JSON formats convert them."""

from __future__ import annotations

import base64
import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.common.errors import GraphError, TypeMismatchError
from headrace.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
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

__all__ = [
    "FieldRules",
    "has_decimals",
    "reader_of",
    "type_of_json_schema",
    "unmark_decimals",
    "writer_of",
]

Convert = Callable[[Any], Any]

INT_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}

_ARRAYS = (BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo, PrimitiveArrayTypeInfo)


class FieldRules:
    """What happens to a field that is missing, or whose value does not fit."""

    def __init__(self, fail_on_missing_field: bool = False, ignore_errors: bool = False) -> None:
        if fail_on_missing_field and ignore_errors:
            raise GraphError(
                "fail_on_missing_field() and ignore_parse_errors() exclude each other: choose one"
            )
        self.fail_on_missing_field = fail_on_missing_field
        self.ignore_errors = ignore_errors


# Reading.


def reader_of(type_info: TypeInformation, rules: FieldRules) -> Convert:
    """A function from what `json.loads` gives to a value of the type."""
    convert = _reader(type_info, rules)

    def read(value: Any) -> Any:
        return None if value is None else convert(value)

    return read


def _reader(type_info: TypeInformation, rules: FieldRules) -> Convert:
    if isinstance(type_info, ExternalTypeInfo):
        return _reader(type_info.type_info, rules)
    if isinstance(type_info, InstantTypeInfo):
        return lambda v: instant_of(_timestamp(v))
    if isinstance(type_info, BasicTypeInfo):
        return _basic_reader(type_info.basic_type)
    if isinstance(type_info, RowTypeInfo):
        return _row_reader(type_info, rules)
    if isinstance(type_info, TupleTypeInfo):
        return _tuple_reader(type_info, rules)
    if isinstance(type_info, MapTypeInfo):
        read_value = reader_of(type_info.value_type, rules)
        return lambda v: {key: read_value(item) for key, item in _of(dict, v).items()}
    if _is_bytes(type_info):
        return lambda v: base64.b64decode(_text(v))
    if isinstance(type_info, _ARRAYS):
        read_item = reader_of(type_info.element_type, rules)
        return lambda v: [read_item(item) for item in _of(list, v)]
    return _time_reader(type_info)


def _is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE()


def _time_reader(type_info: TypeInformation) -> Convert:
    if isinstance(type_info, DateTypeInfo):
        return lambda v: datetime.date.fromisoformat(_text(v))
    if isinstance(type_info, TimeTypeInfo):
        return lambda v: datetime.time.fromisoformat(_utc(_text(v)))
    if isinstance(type_info, TimestampTypeInfo):
        return _timestamp
    if isinstance(type_info, LocalTimeTypeInfo):
        kind = type_info.time_type
        if kind is LocalTimeTypeInfo.TimeType.LOCAL_DATE:
            return lambda v: datetime.date.fromisoformat(_text(v))
        if kind is LocalTimeTypeInfo.TimeType.LOCAL_TIME:
            return lambda v: datetime.time.fromisoformat(_utc(_text(v)))
        return _timestamp
    if isinstance(type_info, PickledBytesTypeInfo):
        return lambda v: v
    raise GraphError(f"JSON cannot represent the type {type_info}")


def _basic_reader(basic: BasicType) -> Convert:
    if basic in INT_BITS:
        return _int_reader(INT_BITS[basic])
    if basic in (BasicType.FLOAT, BasicType.DOUBLE):
        return lambda v: float(v.strip()) if isinstance(v, str) else float(_number(v))
    if basic is BasicType.BOOLEAN:
        return lambda v: v if isinstance(v, bool) else _text(v).strip().lower() == "true"
    if basic is BasicType.BIG_DEC:
        return lambda v: Decimal(_text(v))
    if basic is BasicType.BIG_INT:
        return lambda v: int(_text(v)) if isinstance(v, str) else int(_number(v))
    return _text


def _int_reader(bits: int) -> Convert:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any) -> int:
        number = int(value.strip()) if isinstance(value, str) else int(_number(value))
        if not low <= number <= high:
            raise ValueError(f"{number} does not fit into {bits} bits")
        return number

    return read


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"{value!r} is not a number")
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _of(kind: type, value: Any) -> Any:
    if not isinstance(value, kind):
        what = "object" if kind is dict else "array"
        raise TypeError(f"{value!r} is not a JSON {what}")
    return value


def _utc(text: str) -> str:
    if not text.endswith("Z"):
        raise ValueError(f"{text!r} is not in UTC: it must end with Z")
    return text[:-1]


def _timestamp(value: Any) -> datetime.datetime:
    text = _utc(_text(value))
    if "T" not in text:
        raise ValueError(f"{text!r} is not a timestamp such as 2024-02-29T13:05:09.123Z")
    return datetime.datetime.fromisoformat(text)


def _row_reader(type_info: RowTypeInfo, rules: FieldRules) -> Convert:
    names = list(type_info.get_field_names())
    readers = [_field_reader(t, rules) for t in type_info.get_field_types()]
    fields = list(zip(names, readers, strict=True))

    def read(value: Any) -> Row:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is not a JSON object")
        if rules.fail_on_missing_field:
            for name in names:
                if name not in value:
                    raise KeyError(f"there is no field {name!r}")
        get = value.get
        return row_of([convert(get(name)) for name, convert in fields], names)

    return read


def _field_reader(type_info: TypeInformation, rules: FieldRules) -> Convert:
    convert = reader_of(type_info, rules)
    if not rules.ignore_errors:
        return convert

    def lenient(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, TypeError, ArithmeticError, KeyError):
            return None

    return lenient


def _tuple_reader(type_info: TupleTypeInfo, rules: FieldRules) -> Convert:
    readers = [_field_reader(t, rules) for t in type_info.get_field_types()]

    def read(value: Any) -> tuple[Any, ...]:
        items = _of(list, value)
        return tuple(convert(item) for convert, item in zip(readers, items, strict=True))

    return read


# Writing.


def writer_of(type_info: TypeInformation) -> Convert:
    """A function from a value of the type to what `json.dumps` takes."""
    convert = _writer(type_info)

    def write(value: Any) -> Any:
        return None if value is None else convert(value)

    return write


def _same(value: Any) -> Any:
    return value


def _writer(type_info: TypeInformation) -> Convert:
    if isinstance(type_info, ExternalTypeInfo):
        return _writer(type_info.type_info)
    if isinstance(type_info, InstantTypeInfo):
        return lambda v: _time_text(utc_time_of(v).replace(tzinfo=None))
    if isinstance(type_info, BasicTypeInfo):
        return _mark_decimal if type_info.basic_type is BasicType.BIG_DEC else _same
    if isinstance(type_info, RowTypeInfo):
        return _row_writer(type_info)
    if isinstance(type_info, TupleTypeInfo):
        writers = [writer_of(t) for t in type_info.get_field_types()]
        return lambda v: [write(item) for write, item in zip(writers, v, strict=True)]
    if isinstance(type_info, MapTypeInfo):
        write_value = writer_of(type_info.value_type)
        return lambda v: {key: write_value(item) for key, item in v.items()}
    if _is_bytes(type_info):
        return lambda v: base64.b64encode(bytes(v)).decode()
    if isinstance(type_info, _ARRAYS):
        write_item = writer_of(type_info.element_type)
        return lambda v: [write_item(item) for item in v]
    if isinstance(type_info, DateTypeInfo | TimeTypeInfo | TimestampTypeInfo | LocalTimeTypeInfo):
        return _time_text
    if isinstance(type_info, PickledBytesTypeInfo):
        return _same
    raise GraphError(f"JSON cannot represent the type {type_info}")


# Python's encoder writes no decimals. They travel through it as text between two marks that no
# other text has unescaped, and the quotes are taken away afterwards.
_MARKED = re.compile(r'"\\u0000([^"\\]*)\\u0000"')


def _mark_decimal(value: Any) -> str:
    return f"\0{Decimal(value)}\0"


def unmark_decimals(text: str) -> str:
    """JSON in which decimals are numbers, with all their digits."""
    return _MARKED.sub(r"\1", text)


def has_decimals(type_info: TypeInformation) -> bool:
    """Whether a decimal may be in a value of the type."""
    if isinstance(type_info, ExternalTypeInfo):
        return has_decimals(type_info.type_info)
    if isinstance(type_info, RowTypeInfo | TupleTypeInfo):
        return any(map(has_decimals, type_info.get_field_types()))
    if isinstance(type_info, MapTypeInfo):
        return has_decimals(type_info.value_type)
    if isinstance(type_info, _ARRAYS):
        return has_decimals(type_info.element_type)
    return isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.BIG_DEC


def _time_text(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        text = value.isoformat(timespec="microseconds")
        return text.rstrip("0").rstrip(".") + "Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):
        return value.isoformat(timespec="seconds") + "Z"
    raise TypeError(f"{value!r} is not a date or time")


def _row_writer(type_info: RowTypeInfo) -> Convert:
    names = list(type_info.get_field_names())
    writers = [writer_of(t) for t in type_info.get_field_types()]

    def write(row: Any) -> dict[str, Any]:
        values = row.get_fields_by_names(names) if isinstance(row, Row) else row
        if len(values) != len(names):
            raise TypeMismatchError(
                f"a row of {len(names)} fields {names} is needed, but {row!r} has {len(values)}"
            )
        return {
            name: convert(value)
            for name, convert, value in zip(names, writers, values, strict=True)
        }

    return write


# JSON Schema.


def type_of_json_schema(text: str) -> TypeInformation:
    """The type that a JSON Schema describes; numbers are decimals, as in Flink."""
    try:
        schema = json.loads(text)
    except (TypeError, ValueError) as error:
        raise GraphError(f"the JSON schema is not JSON: {error}") from error
    return _schema_type(schema, "<root>")


_SCALARS: dict[str, Callable[[], TypeInformation]] = {
    "boolean": Types.BOOLEAN,
    "integer": Types.BIG_DEC,
    "number": Types.BIG_DEC,
    "string": Types.STRING,
}
_FORMATS: dict[str, Callable[[], TypeInformation]] = {
    "date-time": Types.SQL_TIMESTAMP,
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
}


def _schema_type(schema: Any, where: str) -> TypeInformation:
    kinds = schema.get("type") if isinstance(schema, dict) else None
    kinds = [kinds] if isinstance(kinds, str) else list(kinds or ())
    kinds = [k for k in kinds if k != "null"]
    if len(kinds) != 1:
        raise GraphError(f"the JSON schema has no single type at {where}: {schema!r}")
    (kind,) = kinds
    if kind == "object":
        properties = schema.get("properties")
        if not properties:
            raise GraphError(f"the JSON schema has an object without properties at {where}")
        types = [_schema_type(s, f"{where}/{name}") for name, s in properties.items()]
        return Types.ROW_NAMED(list(properties), types)
    if kind == "array":
        return _array_type(schema.get("items"), where)
    if kind == "string":
        if schema.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(str(schema.get("format")), Types.STRING)()
    if kind not in _SCALARS:
        raise GraphError(f"the JSON schema has an unknown type {kind!r} at {where}")
    return _SCALARS[kind]()


def _array_type(items: Any, where: str) -> TypeInformation:
    if isinstance(items, list):
        types = [_schema_type(s, f"{where}/{i}") for i, s in enumerate(items)]
        return Types.ROW(types)
    if items is None:
        raise GraphError(f"the JSON schema has an array without items at {where}")
    element = _schema_type(items, f"{where}/items")
    if isinstance(element, BasicTypeInfo) and element.basic_type is BasicType.STRING:
        return Types.BASIC_ARRAY(element)
    return Types.OBJECT_ARRAY(element)
