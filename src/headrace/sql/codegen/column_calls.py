"""Expressions that Arrow computes of whole columns of internal values, as rows would have them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any, TypeGuard

from headrace.formats.arrow import constant_of, numbers_of
from headrace.sql import types as t
from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.segments.columns import arrow_type, column_of_numbers
from headrace.sql.types import DataType
from headrace.sql.types.type_rules import is_character, is_temporal, is_timestamp

__all__ = [
    "FLOOR_DIVIDE",
    "ColumnAt",
    "ColumnCall",
    "ColumnCast",
    "ColumnValue",
    "column_value",
    "columns_in",
    "computed",
    "replaced",
]

_COMPARISONS = {
    "EQUALS": "equal",
    "NOT_EQUALS": "not_equal",
    "LESS_THAN": "less",
    "LESS_THAN_OR_EQUAL": "less_equal",
    "GREATER_THAN": "greater",
    "GREATER_THAN_OR_EQUAL": "greater_equal",
}
_TURNED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
_PLAIN = {"IS_NULL": "is_null", "IS_NOT_NULL": "is_valid", "NOT": "invert"}
_JOINED = {"AND": "and_kleene", "OR": "or_kleene"}
FLOOR_DIVIDE = "floor_divide"
"""The quotient of a column without NULLs and a constant, rounded down; Arrow has none."""
# Whole numbers up to here are numbers of 64 bits with a floating point, too.
_EXACT = 1 << 53
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_MOST_DIGITS = 38


@dataclass(frozen=True)
class ColumnAt:
    """A column."""

    index: int


@dataclass(frozen=True)
class ColumnCall:
    """A function of Arrow, of columns, of other calls and of constants."""

    function: str
    args: tuple[Any, ...]


@dataclass(frozen=True)
class ColumnCast:
    """A column, or a constant, as internal values of a type."""

    value: Any
    type: DataType


ColumnValue = ColumnAt | ColumnCall | ColumnCast


def computed(value: Any, columns: Sequence[Any]) -> Any:
    """The values of all rows; those of a constant are itself."""
    from pyarrow import compute

    if isinstance(value, ColumnAt):
        return columns[value.index]
    if isinstance(value, ColumnCall):
        if value.function == FLOOR_DIVIDE:
            dividend, divisor = value.args
            return column_of_numbers(numbers_of(computed(dividend, columns)) // divisor)
        args = (computed(x, columns) for x in value.args)
        if value.function in _JOINED.values():
            return reduce(lambda a, b: compute.call_function(value.function, [a, b]), args)
        return compute.call_function(value.function, [*args])
    if isinstance(value, ColumnCast):
        kind, found = arrow_type(value.type), computed(value.value, columns)
        return found if found.type == kind else found.cast(kind)
    # A decimal becomes one by its text.
    return constant_of(str(value) if isinstance(value, Decimal) else value)


def columns_in(value: Any) -> frozenset[int]:
    """The columns that a value is computed of."""
    if isinstance(value, ColumnAt):
        return frozenset([value.index])
    parts = value.args if isinstance(value, ColumnCall) else ()
    parts = (value.value,) if isinstance(value, ColumnCast) else parts
    return frozenset[int]().union(*map(columns_in, parts))


def replaced(value: Any, by: Callable[[int], ColumnValue | None]) -> Any:
    """A value over other columns: each one is replaced; None if one has no other."""
    if isinstance(value, ColumnAt):
        return by(value.index)
    if isinstance(value, ColumnCast):
        inner = replaced(value.value, by)
        return None if inner is None else ColumnCast(inner, value.type)
    if isinstance(value, ColumnCall):
        args = tuple(replaced(x, by) for x in value.args)
        return None if None in args else ColumnCall(value.function, args)
    return value


def column_value(e: Expression) -> ColumnValue | None:
    """What Arrow computes for an expression; None if rows have to be looked at."""
    if isinstance(e, Column):
        return ColumnAt(e.index)
    if not isinstance(e, Call) or hasattr(e.function, "bound"):
        return None
    name = getattr(e.function, "name", "")
    if name in _COMPARISONS:
        return _compared(_COMPARISONS[name], *e.args)
    if name == "IN":
        return _joined("or_kleene", [_compared("equal", e.args[0], x) for x in e.args[1:]])
    if name == "BETWEEN":
        value, low, high = e.args
        bounds = [_compared("greater_equal", value, low), _compared("less_equal", value, high)]
        return _joined("and_kleene", bounds)
    if name in _JOINED:
        return _joined(_JOINED[name], [column_value(x) for x in e.args])
    if name in _PLAIN:
        return _joined(_PLAIN[name], [column_value(e.args[0])])
    if name == "MOD":
        return _remainder(e, *e.args)
    if name in ("PLUS", "MINUS"):
        return _moved(e, *e.args)
    if name == "TIMES":
        return _product(e, *e.args)
    return _fitted(e, *e.args) if name == "CAST" else None


def _joined(function: str, parts: Sequence[ColumnValue | None]) -> ColumnValue | None:
    known = [x for x in parts if x is not None]
    if len(known) < len(parts):
        return None
    if len(known) == 1:
        return ColumnCall(function, (known[0],)) if function in _PLAIN.values() else known[0]
    # Flat, however many there are: what is nested too deeply cannot be sent to slots.
    inner = ([*x.args] if _is_call(x, function) else [x] for x in known)
    return ColumnCall(function, tuple(itertools.chain.from_iterable(inner)))


def _is_call(value: ColumnValue, function: str) -> TypeGuard[ColumnCall]:
    return isinstance(value, ColumnCall) and value.function == function


def _compared(function: str, left: Expression, right: Expression) -> ColumnValue | None:
    if isinstance(left, Literal):
        left, right, function = right, left, _TURNED.get(function, function)
    value, constant = column_value(left), _constant(left, right)
    if value is None or constant is None:
        return None
    return ColumnCall(function, (value, constant))


def _constant(e: Expression, other: Expression) -> Any:
    """What values are compared with; None if Arrow might do it otherwise."""
    value: Any = other.value if isinstance(other, Literal) else _double(other)
    if is_character(e.type):
        return value if isinstance(value, str) else None
    whole = type(value) is int
    if isinstance(e.type, t.IntegralType) or is_temporal(e.type):
        return value if whole and -(1 << 63) <= value < 1 << 63 else None
    if isinstance(e.type, t.DoubleType) and (whole or isinstance(value, float)):
        return float(value) if not whole or abs(value) <= _EXACT else None
    return None


def _double(e: Expression) -> float | None:
    """The value of a number that was cast to DOUBLE."""
    cast = isinstance(e, Call) and getattr(e.function, "name", "") == "CAST"
    if not cast or not isinstance(e.type, t.DoubleType):
        return None
    inner = e.children[0]
    number = isinstance(inner, Literal) and isinstance(inner.value, int | float | Decimal)
    return float(inner.value) if number else None  # type: ignore[attr-defined]


def _remainder(e: Call, left: Expression, right: Expression) -> ColumnValue | None:
    """With the sign of the dividend; by a positive constant, so that nothing can go wrong."""
    value = column_value(left)
    whole = isinstance(left.type, t.IntegralType) and isinstance(e.type, t.IntegralType)
    divisor = right.value if isinstance(right, Literal) else None
    if value is None or not whole or type(divisor) is not int or divisor <= 0:
        return None
    quotient = ColumnCall("divide", (value, divisor))
    whole_part = ColumnCall("multiply", (quotient, divisor))
    return ColumnCast(ColumnCall("subtract", (value, whole_part)), e.type)


def _moved(e: Call, left: Expression, right: Expression) -> ColumnValue | None:
    """A time and a constant interval."""
    value = column_value(left)
    times = is_timestamp(left.type) and is_timestamp(e.type)
    interval = isinstance(right, Literal) and isinstance(right.type, t.DayTimeIntervalType)
    if value is None or not times or not interval or right.value is None:  # type: ignore[attr-defined]
        return None
    function = "add" if e.function.name == "PLUS" else "subtract"
    return ColumnCall(function, (value, right.value * 1000))  # type: ignore[attr-defined]


def _product(e: Call, left: Expression, right: Expression) -> ColumnValue | None:
    """A product of decimals that has all of their digits."""
    sides = [_decimal(x) for x in (left, right)]
    if not isinstance(e.type, t.DecimalType) or None in sides:
        return None
    # Arrow leaves room for one digit more than there can be.
    precision = sum(x.type.precision for x in sides)
    scale = sum(x.type.scale for x in sides)
    if precision >= _MOST_DIGITS or e.type.precision < precision or e.type.scale != scale:
        return None
    return ColumnCast(ColumnCall("multiply", tuple(sides)), e.type)


def _fitted(e: Call, value: Expression) -> ColumnValue | None:
    """A decimal as one of another length that has room for all of its digits."""
    found, kinds = column_value(value), (value.type, e.type)
    if found is None or not all(isinstance(x, t.DecimalType) for x in kinds):
        return None
    room = e.type.precision - e.type.scale  # type: ignore[attr-defined]
    fits = e.type.scale >= value.type.scale and room >= _whole_digits(value)  # type: ignore[attr-defined]
    return ColumnCast(found, e.type) if fits else None


def _whole_digits(e: Expression) -> int:
    """How many digits a number has at most before the point."""
    if isinstance(e, Literal):
        return len(str(abs(int(e.value)))) if abs(e.value) >= 1 else 0
    if isinstance(e, Call) and e.function.name == "TIMES":
        return sum(map(_whole_digits, e.args))
    if isinstance(e.type, t.IntegralType):
        return _DIGITS[e.type.bits]
    return int(e.type.precision - e.type.scale)  # type: ignore[attr-defined]


def _decimal(e: Expression) -> Any:
    """A number as a decimal."""
    value: Any = e.value if isinstance(e, Literal) else column_value(e)
    if value is None or not isinstance(e.type, t.IntegralType | t.DecimalType):
        return None
    if isinstance(e.type, t.DecimalType):
        return ColumnCast(value, e.type)
    return ColumnCast(value, t.DecimalType(_DIGITS[e.type.bits], 0))
