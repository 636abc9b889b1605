"""Rows of Avro records: the type that Flink gives them, and how one becomes the other."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, TypeAlias

from headrace.common.errors import GraphError
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row, row_of

__all__ = ["record_writing", "row_reading"]

_Convert: TypeAlias = Callable[[Any], Any]
_Reading: TypeAlias = tuple[TypeInformation, _Convert | None]
"""The type of values in Python, and what makes them of the library's; None leaves them."""

_PLAIN: dict[str, Callable[[], TypeInformation]] = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "enum": Types.STRING,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}

_LOGICAL: dict[str, Callable[[], TypeInformation]] = {
    "date": Types.SQL_DATE,
    "decimal": Types.BIG_DEC,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
}


def row_reading(schema: Any) -> tuple[TypeInformation, _Convert]:
    """The type of rows of a parsed schema, and what makes them of records."""
    type_info, convert = _reading(schema, {})
    if isinstance(schema, dict) and schema["type"] == "record":
        assert convert is not None
        return type_info, convert
    value = convert or (lambda found: found)
    return Types.ROW([type_info]), lambda found: row_of([value(found)])


def _reading(schema: Any, named: dict[str, _Reading | None]) -> _Reading:
    if isinstance(schema, list):
        return _of_union(schema, named)
    if isinstance(schema, str):
        if schema not in named:
            return _PLAIN.get(schema, Types.PICKLED_BYTE_ARRAY)(), None
        if (known := named[schema]) is None:
            raise GraphError(f"the Avro record {schema!r} has fields of its own type: no row has")
        return known
    kind = schema["type"]
    if kind == "record":
        return _of_record(schema, named)
    if kind == "array":
        item, convert = _reading(schema["items"], named)
        return Types.OBJECT_ARRAY(item), convert and _each(convert)
    if kind == "map":
        value, convert = _reading(schema["values"], named)
        return Types.MAP(Types.STRING(), value), convert and _each_value(convert)
    found = _of_scalar(schema, named)
    if "name" in schema:
        named[schema["name"]] = found
    return found


def _of_scalar(schema: Any, named: dict[str, _Reading | None]) -> _Reading:
    logical = schema.get("logicalType")
    if logical not in _LOGICAL:
        kind = schema["type"]
        return (_PLAIN[kind](), None) if kind in _PLAIN else _reading(kind, named)
    return _LOGICAL[logical](), _without_zone if "time" in logical else None


def _of_union(schemas: list[Any], named: dict[str, _Reading | None]) -> _Reading:
    present = [schema for schema in schemas if schema != "null"]
    readings = [_reading(schema, named) for schema in present]
    if len(readings) != 1:
        return Types.PICKLED_BYTE_ARRAY(), None
    type_info, convert = readings[0]
    return type_info, convert and (lambda found: None if found is None else convert(found))


def _of_record(schema: Any, named: dict[str, _Reading | None]) -> _Reading:
    named[schema["name"]] = None
    names = [field["name"] for field in schema["fields"]]
    readings = [_reading(field["type"], named) for field in schema["fields"]]
    converts = [(name, convert) for name, (_, convert) in zip(names, readings, strict=True)]

    def row(record: Any) -> Any:
        return row_of([c(record[n]) if c else record[n] for n, c in converts], names)

    found = named[schema["name"]] = Types.ROW_NAMED(names, [t for t, _ in readings]), row
    return found


def _each(convert: _Convert) -> _Convert:
    return lambda found: [convert(item) for item in found]


def _each_value(convert: _Convert) -> _Convert:
    return lambda found: {key: convert(value) for key, value in found.items()}


def _without_zone(found: Any) -> Any:
    """The clock of UTC, as Flink shows it."""
    return found.replace(tzinfo=None)


# Writing.


def record_writing(schema: Any) -> _Convert:
    """What makes records of a parsed schema of rows or dicts."""
    return _writing(schema, {}) or (lambda value: value)


def _writing(schema: Any, named: dict[str, _Convert | None]) -> _Convert | None:
    if isinstance(schema, list):
        present = [_writing(s, named) for s in schema if s != "null"]
        if len(present) != 1 or (only := present[0]) is None:
            return None
        return lambda value: None if value is None else only(value)
    if isinstance(schema, str):
        return named.get(schema)
    kind = schema["type"]
    if kind == "record":
        return _record_of(schema, named)
    if kind in ("array", "map"):
        inner = _writing(schema["items" if kind == "array" else "values"], named)
        return inner and (_each if kind == "array" else _each_value)(inner)
    return _in_utc if schema.get("logicalType", "").startswith("timestamp-") else None


def _record_of(schema: Any, named: dict[str, _Convert | None]) -> _Convert:
    names = [field["name"] for field in schema["fields"]]
    converts: list[_Convert | None] = []

    def record(value: Any) -> Any:
        if isinstance(value, Row):
            by_name = set(value.get_field_names() or ()) == set(names)
            # By position, as in Flink: a row of `Types.ROW` has the names f0, f1 and so on.
            value = value.as_dict() if by_name else dict(zip(names, value, strict=True))
        if not isinstance(value, dict):
            return value
        changed = {n: c(value[n]) for n, c in zip(names, converts, strict=True) if c and n in value}
        return {**value, **changed} if changed else value

    named[schema["name"]] = record
    converts += [_writing(field["type"], named) for field in schema["fields"]]
    return record


def _in_utc(value: Any) -> Any:
    """A clock without a zone is that of UTC, as in Flink."""
    clock = isinstance(value, datetime.datetime) and value.tzinfo is None
    return value.replace(tzinfo=datetime.UTC) if clock else value
