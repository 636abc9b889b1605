"""What expressions of the Table API are made of: a syntax node, and the text that Flink shows."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.sql import types as t
from headrace.sql.parser import syntax as x
from headrace.sql.plan import nodes as n
from headrace.sql.types.type_rules import literal_type
from headrace.sql.types.values import literal_text, to_internal

__all__ = [
    "ExpressionBase",
    "RelationBase",
    "called",
    "literal",
    "node_of",
    "plan_of",
    "text_of",
    "unary",
    "with_optional",
]


class RelationBase:
    """What a table is derived from, so that it can be told from a value."""

    _plan: n.Node


def plan_of(table: RelationBase) -> n.Node:
    """What computes a table; for whoever builds upon it here, not for programs."""
    return table._plan


class ExpressionBase:
    """A node and its text."""

    def __init__(self, node: x.Node, text: str) -> None:
        self._node = node
        self._text = text

    def _made(self, node: x.Node, text: str) -> Any:
        """An expression that a method of this one gives."""
        return type(self)(node, text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text


def literal(value: Any, data_type: t.DataType | None = None) -> tuple[x.Node, str]:
    """The node and text of a Python value."""
    if isinstance(value, bytearray):
        value = bytes(value)
    type_ = data_type or _type_of(value)
    if not isinstance(type_, t.DataType):
        raise FunctionTypeError(f"Unsupported data type: {type_}")
    if isinstance(value, float) and isinstance(type_, t.IntegralType):
        raise FunctionTypeError(f"{type_.sql_text()} does not support a literal of {value!r}")
    if value is None:
        return x.Constant(None, type_.nullable()), "null"
    constant = x.Constant(to_internal(type_)(value), type_.not_null())
    return constant, literal_text(constant.value, constant.type)


def _type_of(value: Any) -> t.DataType:
    if isinstance(value, datetime.datetime):
        return t.TimestampType(6 if value.microsecond % 1000 else 3, False)
    if isinstance(value, datetime.date):
        return t.DateType(False)
    if isinstance(value, datetime.time):
        return t.TimeType(0, False)
    if isinstance(value, datetime.timedelta):
        return t.DayTimeIntervalType(nullable=False)
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal):
        return literal_type(value)
    if isinstance(value, list | tuple) and value:
        return t.ArrayType(_type_of(value[0]).nullable(), False)
    raise FunctionTypeError(f"lit() has no type for {value!r}; give it a data type")


def node_of(value: Any) -> x.Node:
    """The node of an expression or a Python value; a node is its own."""
    if isinstance(value, x.Node):
        return value
    return value._node if isinstance(value, ExpressionBase) else literal(value)[0]


def text_of(value: Any) -> str:
    """The text of an expression or a Python value."""
    return value._text if isinstance(value, ExpressionBase) else literal(value)[1]


def called(name: str, function: Any, *args: Any) -> tuple[x.Node, str]:
    """The node and text of a function's call; `name` is the one that Flink shows."""
    node = x.Apply(function, tuple(node_of(a) for a in args), method=name)
    return node, f"{name}({', '.join(text_of(a) for a in args)})"


def unary(name: str, function: str, doc: str) -> Any:
    """A property: a function of the expression alone."""

    def get(self: Any) -> Any:
        return self._made(*called(name, function, self))

    get.__doc__ = doc
    return property(get)


def with_optional(*args: Any) -> list[Any]:
    """Arguments up to the first one that was left out."""
    given = list(args)
    while given and given[-1] is None:
        given.pop()
    return given
