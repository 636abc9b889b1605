"""Dataclasses as the JSON of Flink's REST interface, and back.

A field has its Python name with hyphens in JSON, unless its class says `camel_case` or
`snake_case`: Flink has all three. `called` names a field that goes its own way, and what is
`OMITTED` is not there at all while it is None.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union

__all__ = ["OMITTED", "called", "camel_case", "from_json", "snake_case", "to_json"]

T = TypeVar("T")

OMITTED: Mapping[str, Any] = {"omitted": True}
"""Metadata of a field that is left out while it is None."""


def called(name: str) -> Mapping[str, Any]:
    """Metadata of a field with another name in JSON."""
    return {"name": name}


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def camel_case(kind: type[T]) -> type[T]:
    """The fields of a dataclass are `likeThis`."""
    return _joined(kind, _camel)


def snake_case(kind: type[T]) -> type[T]:
    """The fields of a dataclass are `like_this`."""
    return _joined(kind, str)


_JOINED = "__flink_json_names__"


def _joined(kind: type[T], join: Callable[[str], str]) -> type[T]:
    setattr(kind, _JOINED, staticmethod(join))
    return kind


@cache
def _fields(kind: type) -> tuple[tuple[Field[Any], str, Any], ...]:
    """The fields with their names in JSON and their types."""
    join = getattr(kind, _JOINED, _hyphens)
    hints = typing.get_type_hints(kind)
    return tuple((f, f.metadata.get("name") or join(f.name), hints[f.name]) for f in fields(kind))


def to_json(value: Any) -> Any:
    """Dataclasses, in whatever lists and dicts, as plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: to_json(content)
            for field, name, _ in _fields(type(value))
            if (content := getattr(value, field.name)) is not None
            or "omitted" not in field.metadata
        }
    if isinstance(value, dict):
        return {key: to_json(content) for key, content in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(content) for content in value]
    return value


def from_json(kind: type[T], value: Any) -> T:
    """What `to_json` made plain values of; names that are not known are ignored.

    Raises:
        ValueError: Something is missing.
    """
    read: T = _read(kind, value)
    return read


def _read(kind: Any, value: Any) -> Any:
    if hasattr(kind, "__dataclass_fields__"):
        found = {}
        for field, name, inner in _fields(kind):
            if name in value:
                found[field.name] = _read(inner, value[name])
            elif field.default is MISSING and field.default_factory is MISSING:
                raise ValueError(f"{name!r} is missing in what should be a {kind}")
        return kind(**found)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _read(arguments[0], value)
    if origin is dict:
        return {key: _read(arguments[1], content) for key, content in value.items()}
    if origin in (list, tuple):
        return origin(_read(arguments[0], content) for content in value)
    return value
