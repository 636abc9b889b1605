"""Conditions by which files need not be read, since none of their rows satisfies them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from headrace.datastream.connectors.lakehouse.table import ColumnBound
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.connectors.jdbc.conditions import keeps_value
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, Schema
from headrace.sql.types.type_rules import is_character, is_timestamp
from headrace.sql.types.values import row_to_external

__all__ = ["bounds_of"]

_SIGNS = {
    "EQUALS": "=",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "IN": "IN",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EPOCH = datetime.datetime(1970, 1, 1)
_MILLI = datetime.timedelta(milliseconds=1)
"""Times are cut off to this when they are read, and so may be what a table knows of its files."""


def bounds_of(e: Expression, schema: Schema, zone: str) -> list[ColumnBound]:
    """What is true of some column wherever the condition is; nothing if that is not known."""
    if not isinstance(e, Call) or hasattr(e.function, "bound"):
        return []
    name, args = e.function.name, [_operand(a, zone) for a in e.args]
    if name in ("IS_NULL", "IS_NOT_NULL") and isinstance(args[0], Column):
        return [ColumnBound(schema[args[0].index].name, name.replace("_", " "))]
    sign = _SIGNS.get(name)
    if sign is None:
        return []
    if isinstance(args[0], Literal):
        args, sign = args[::-1], _TURNED.get(sign, sign)
    column, *constants = args
    values = [c for c in constants if isinstance(c, Literal) and c.value is not None]
    if not isinstance(column, Column) or len(values) < len(constants):
        return []
    return _bounds(schema[column.index].name, column.type, sign, values, zone)


def _operand(e: Expression, zone: str) -> Expression:
    e = fold(e, zone)
    if isinstance(e, Call) and e.function.name == "CAST" and keeps_value(e.args[0].type, e.type):
        return _operand(e.args[0], zone)
    return e


def _bounds(
    name: str, type_: t.DataType, sign: str, constants: Sequence[Literal], zone: str
) -> list[ColumnBound]:
    if is_timestamp(type_):
        times = [_EPOCH + datetime.timedelta(microseconds=c.value) for c in constants]
        bounds = []
        if sign not in ("<", "<="):
            bounds.append(ColumnBound(name, ">=", (min(times) - _MILLI,)))
        if sign not in (">", ">="):
            bounds.append(ColumnBound(name, "<=", (max(times) + _MILLI,)))
        return bounds
    exact = isinstance(type_, t.IntegralType | t.DecimalType | t.DateType)
    if not exact and not is_character(type_):
        return []
    values = tuple(row_to_external([c.type], ZoneInfo(zone))((c.value,))[0] for c in constants)
    return [ColumnBound(name, sign, values)]
