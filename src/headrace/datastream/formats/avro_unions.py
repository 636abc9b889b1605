"""Avro unions of several types as columns.

Parquet has no unions. As Parquet's own writer for Avro does it, such a value is a group with an
optional field for each type but null, `member0` and so on, of which one is there.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.common.errors import TypeMismatchError

__all__ = ["from_members", "member_fields", "to_members"]

Converter = Callable[[Any], Any]
_Union = Callable[[list[Any], list[Converter | None]], Converter]

_INT = 2**31
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "int": (int, datetime.date, datetime.time),
    "long": (int, datetime.datetime, datetime.time),
    "float": float,
    "double": float,
    "string": str,
    "bytes": (bytes, Decimal),
    "record": dict,
    "map": dict,
    "array": (list, tuple),
    "enum": str,
    "fixed": (bytes, Decimal),
}
"""For an Avro type the objects that are of it."""


def member_fields(union: list[Any]) -> dict[str, Any]:
    """The fields of a union of several types, with their types."""
    return {f"member{i}": kind for i, kind in enumerate(k for k in union if k != "null")}


def to_members(schema: dict[str, Any]) -> Converter | None:
    """Makes a record for columns of a record of a schema; None if there is nothing to do."""
    named: dict[str, Any] = {}

    def union(kinds: list[Any], inside: list[Converter | None]) -> Converter:
        members = list(zip(member_fields(kinds).items(), inside, strict=True))

        def convert(value: Any) -> Any:
            for (name, kind), convert in members:
                if _is_of(value, kind, named):
                    return {name: value if convert is None else convert(value)}
            raise TypeMismatchError(f"{value!r} is of no type of the Avro union {kinds}")

        return convert

    return _converter(schema, named, union)


def from_members(schema: dict[str, Any]) -> Converter | None:
    """Makes a record of a schema of one of columns; None if there is nothing to do."""

    def union(kinds: list[Any], inside: list[Converter | None]) -> Converter:
        members = dict(zip(member_fields(kinds), inside, strict=True))

        def convert(group: Any) -> Any:
            for name, convert in members.items():
                if group[name] is not None:
                    return group[name] if convert is None else convert(group[name])
            return None

        return convert

    return _converter(schema, {}, union)


def _is_of(value: Any, kind: Any, named: dict[str, Any]) -> bool:
    kind = named.get(kind, kind) if isinstance(kind, str) else kind
    name = kind if isinstance(kind, str) else kind["type"]
    if not isinstance(name, str):
        return _is_of(value, name, named)
    if isinstance(value, bool) and name != "boolean":
        return False
    if isinstance(value, int) and name == "int" and not -_INT <= value < _INT:
        return False
    if name == "enum" and value not in kind["symbols"]:
        return False
    return isinstance(value, _PYTHON.get(name, ()))


def _converter(kind: Any, named: dict[str, Any], union: _Union) -> Converter | None:
    """What unions inside of a type make of its values."""
    if isinstance(kind, list):
        kinds = [k for k in kind if k != "null"]
        inside = [_converter(k, named, union) for k in kinds]
        return next(iter(inside), None) if len(kinds) <= 1 else union(kinds, inside)
    if isinstance(kind, str):
        return _converter(named[kind], named, union) if kind in named else None
    if "name" in kind:
        named[kind["name"]] = kind
    if kind["type"] == "record":
        return _record(kind, named, union)
    if kind["type"] == "array":
        item = _converter(kind["items"], named, union)
        return None if item is None else lambda values: [_optional(item, v) for v in values]
    if kind["type"] == "map":
        value = _converter(kind["values"], named, union)
        return None if value is None else lambda m: {k: _optional(value, v) for k, v in m.items()}
    return None


def _record(kind: dict[str, Any], named: dict[str, Any], union: _Union) -> Converter | None:
    found = {f["name"]: _converter(f["type"], named, union) for f in kind["fields"]}
    fields = {name: convert for name, convert in found.items() if convert is not None}
    if not fields:
        return None

    def convert(record: Any) -> dict[str, Any]:
        values = dict(record)
        return values | {n: _optional(c, values.get(n)) for n, c in fields.items()}

    return convert


def _optional(convert: Converter, value: Any) -> Any:
    return None if value is None else convert(value)
