"""Filters and projections that are done on columns: simple tests, and a choice of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.sql import types as t
from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.types.type_rules import is_character, is_temporal

__all__ = ["ColumnCalc", "ColumnTest", "column_calc"]

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
_PRESENCE = {"IS_NULL": "is_null", "IS_NOT_NULL": "is_valid"}
# Whole numbers up to here are numbers of 64 bits with a floating point, too.
_EXACT = 1 << 53


@dataclass(frozen=True)
class ColumnTest:
    """A function of Arrow that says which values of a column pass, perhaps with a constant."""

    function: str
    column: int
    constants: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ColumnCalc:
    """Rows that pass all tests, with some of their columns; None: with all."""

    tests: tuple[ColumnTest, ...]
    picks: tuple[int, ...] | None


def column_calc(
    conditions: Sequence[Expression], projections: Sequence[Expression] | None
) -> ColumnCalc | None:
    """What to do with columns; None if rows have to be looked at."""
    tests = [_test(c) for c in conditions]
    picks = None if projections is None else [p.index for p in projections if type(p) is Column]
    if projections is not None and not 0 < len(picks or ()) == len(projections):
        return None
    known = tuple(x for x in tests if x is not None)
    if len(known) < len(tests):
        return None
    return ColumnCalc(known, None if picks is None else tuple(picks))


def _test(e: Expression) -> ColumnTest | None:
    if not isinstance(e, Call):
        return None
    name = getattr(e.function, "name", "")
    if name in _PRESENCE and isinstance(e.args[0], Column):
        return ColumnTest(_PRESENCE[name], e.args[0].index)
    if name not in _COMPARISONS:
        return None
    function = _COMPARISONS[name]
    column, other = e.args
    if isinstance(other, Column):
        column, other, function = other, column, _TURNED.get(function, function)
    constant = _constant(column, other) if isinstance(column, Column) else None
    if constant is None:
        return None
    return ColumnTest(function, column.index, (constant,))  # type: ignore[attr-defined]


def _constant(column: Column, other: Expression) -> Any:
    """What the values of a column are compared with; None if Arrow might do it otherwise."""
    value: Any = other.value if isinstance(other, Literal) else _double(other)
    if is_character(column.type):
        return value if isinstance(value, str) else None
    whole = type(value) is int
    if isinstance(column.type, t.IntegralType) or is_temporal(column.type):
        return value if whole and -(1 << 63) <= value < 1 << 63 else None
    if isinstance(column.type, t.DoubleType) and (whole or isinstance(value, float)):
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
