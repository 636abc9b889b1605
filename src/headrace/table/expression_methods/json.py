"""Functions of JSON, as methods of expressions."""

from __future__ import annotations

from enum import Enum
from typing import Any

from headrace.sql import types as t
from headrace.sql.parser import syntax as x
from headrace.sql.table_api.expression_nodes import literal, node_of, text_of
from headrace.sql.types.data_types import DataTypes
from headrace.table.expression_methods.times import ContainerFunctions

__all__ = [
    "JsonExistsOnError",
    "JsonFunctions",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
]


class JsonType(Enum):
    """What JSON may be."""

    VALUE = 0
    SCALAR = 1
    ARRAY = 2
    OBJECT = 3


class JsonExistsOnError(Enum):
    """What JSON_EXISTS gives for text that is no JSON."""

    TRUE = 0
    FALSE = 1
    UNKNOWN = 2
    ERROR = 3


class JsonValueOnEmptyOrError(Enum):
    """What JSON_VALUE gives where there is no value."""

    NULL = 0
    ERROR = 1
    DEFAULT = 2


class JsonQueryWrapper(Enum):
    """Whether JSON_QUERY puts its result into an array."""

    WITHOUT_ARRAY = 0
    CONDITIONAL_ARRAY = 1
    UNCONDITIONAL_ARRAY = 2


class JsonQueryOnEmptyOrError(Enum):
    """What JSON_QUERY gives where there is nothing."""

    NULL = 0
    EMPTY_ARRAY = 1
    EMPTY_OBJECT = 2
    ERROR = 3


class JsonOnNull(Enum):
    """What becomes of NULL in JSON that is made."""

    NULL = 0
    ABSENT = 1


def _word(behavior: Enum) -> x.Node:
    """An option as the function takes it: a text."""
    return literal(behavior.name.replace("_", " "))[0]


class JsonFunctions(ContainerFunctions):
    """JSON in texts."""

    def is_json(self, json_type: JsonType | None = None) -> Any:
        """Whether a text is JSON, perhaps of one kind only."""
        if json_type is None:
            return self._own("IS_JSON", "IS_JSON")
        node = x.Apply("IS_JSON", (self._node, _word(json_type)))
        return self._made(node, f"IS_JSON({self}, {json_type.name})")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Any:
        """Whether JSON has something at a path."""
        if on_error is None:
            return self._own("JSON_EXISTS", "JSON_EXISTS", path)
        node = x.Apply("JSON_EXISTS", (self._node, node_of(path), _word(on_error)))
        return self._made(node, f"JSON_EXISTS({self}, {text_of(path)}, {on_error.name})")

    def json_value(
        self,
        path: str,
        returning_type: t.DataType = DataTypes.STRING(),  # noqa: B008 - as in PyFlink
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Any:
        """A scalar of JSON at a path."""
        options = (
            *(_word(on_empty), _as_text(default_on_empty)),
            *(_word(on_error), _as_text(default_on_error)),
        )
        node: x.Node = x.Apply("JSON_VALUE", (self._node, node_of(path), *options))
        if returning_type != DataTypes.STRING():
            node = x.CastTo(node, returning_type, lenient=True)
        shown = ", ".join(
            [
                *(str(self), text_of(path), returning_type.sql_text()),
                *(on_empty.name, text_of(default_on_empty)),
                *(on_error.name, text_of(default_on_error)),
            ]
        )
        return self._made(node, f"JSON_VALUE({shown})")

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Any:
        """A part of JSON at a path, as text."""
        wrapper = literal(wrapping_behavior.name.removesuffix("_ARRAY"))[0]
        options = (wrapper, _word(on_empty), _word(on_error))
        node = x.Apply("JSON_QUERY", (self._node, node_of(path), *options))
        names = f"{wrapping_behavior.name}, {on_empty.name}, {on_error.name}"
        return self._made(node, f"JSON_QUERY({self}, {text_of(path)}, STRING, {names})")

    def json_quote(self) -> Any:
        """A text as JSON."""
        return self._own("JSON_QUOTE", "JSON_QUOTE")

    def json_unquote(self) -> Any:
        """The text that a JSON text stands for."""
        return self._own("JSON_UNQUOTE", "JSON_UNQUOTE")


def _as_text(default: Any) -> x.Node:
    """A default as the function takes it."""
    return x.CastTo(node_of(default), DataTypes.STRING())
