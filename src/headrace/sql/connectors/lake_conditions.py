"""Conditions by which files need not be read, since none of their rows satisfies them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from headrace.datastream.connectors.lakehouse.table import ColumnBound
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.connectors.jdbc.conditions import keeps_value
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, Schema
from headrace.sql.types.type_rules import is_timestamp
from headrace.sql.types.values import row_to_external

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bounds_of", "keeps_values"]

_SIGNS = {
    "EQUALS": "=",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "IN": "IN",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = (t.IntegralType, t.DecimalType)
_CHARACTERS = (t.CharType, t.VarCharType)
_TAKEN: dict[type[t.DataType], tuple[type[t.DataType], ...]] = {
    t.IntegralType: (t.IntegralType,),
    t.DecimalType: _EXACT,
    t.DateType: (t.DateType,),
    t.VarCharType: _CHARACTERS,
}
"""Of columns of a type, constants of these: what others are depends on the library of a table."""
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
        return _times(name, sign, [c.value for c in constants])
    taken = next((kinds for kind, kinds in _TAKEN.items() if isinstance(type_, kind)), ())
    if not all(isinstance(c.type, taken) for c in constants):
        return []
    values = tuple(row_to_external([c.type], ZoneInfo(zone))((c.value,))[0] for c in constants)
    return [ColumnBound(name, sign, values)]


def _times(name: str, sign: str, micros: Sequence[int]) -> list[ColumnBound]:
    bounds = []
    try:
        times = [_EPOCH + datetime.timedelta(microseconds=value) for value in micros]
        if sign not in ("<", "<="):
            bounds.append(ColumnBound(name, ">=", (min(times) - _MILLI,)))
        if sign not in (">", ">="):
            bounds.append(ColumnBound(name, "<=", (max(times) + _MILLI,)))
    except OverflowError:
        # At the first or the last of all times.
        return []
    return bounds


def keeps_values(there: pa.DataType, declared: t.DataType) -> bool:
    """Whether a column of a file has the values that a query sees, whatever they are.

    Others may be rounded or cut when they are read, so that a row satisfies a condition which the
    value in its file does not.
    """
    import pyarrow as pa

    same: bool = False
    if isinstance(declared, t.IntegralType):
        same = pa.types.is_signed_integer(there) and there.bit_width <= declared.bits
    elif isinstance(declared, t.DecimalType) and pa.types.is_decimal(there):
        room = declared.precision - declared.scale
        same = there.scale <= declared.scale and there.precision - there.scale <= room
    elif isinstance(declared, t.DateType):
        same = pa.types.is_date32(there)
    elif isinstance(declared, t.VarCharType):
        same = pa.types.is_string(there) or pa.types.is_large_string(there)
    elif isinstance(declared, t.TimestampType | t.LocalZonedTimestampType):
        # Bounds are a millisecond wider than the condition.
        same = pa.types.is_timestamp(there) and declared.precision >= 3
    elif isinstance(declared, t.FloatType | t.DoubleType):
        width = 32 if isinstance(declared, t.FloatType) else 64
        same = pa.types.is_floating(there) and there.bit_width <= width
    return same
