"""Expressions as text for a database, which computes them by its own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.types.type_rules import as_decimal, is_approximate, is_character, is_interval
from headrace.sql.types.values import row_to_external

__all__ = ["DatabaseText", "is_plain_pattern", "keeps_value"]

_ARITHMETIC = {"PLUS": "+", "MINUS": "-", "TIMES": "*"}
_ORDER = {
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}
_COMPARISONS = {"EQUALS": "=", "NOT_EQUALS": "<>", **_ORDER, "LIKE": "LIKE"}
_BETWEEN_TWO = {**_COMPARISONS, **_ARITHMETIC, "AND": "AND", "OR": "OR"}
# Which side makes a comparison true for PostgreSQL if it is NaN: that is equal to itself, and
# greater than all other numbers.
_TRUE_OF_NAN = {
    "EQUALS": 1,
    "LESS_THAN": 1,
    "LESS_THAN_OR_EQUAL": 1,
    "GREATER_THAN": 0,
    "GREATER_THAN_OR_EQUAL": 0,
}
_PATTERNS = {
    "NOT": "(NOT {0})",
    "IS_NULL": "({0} IS NULL)",
    "IS_NOT_NULL": "({0} IS NOT NULL)",
    "IS_TRUE": "({0} IS TRUE)",
    "IS_FALSE": "({0} IS FALSE)",
    "IS_NOT_TRUE": "({0} IS NOT TRUE)",
    "IS_NOT_FALSE": "({0} IS NOT FALSE)",
    "MINUS_PREFIX": "(- {0})",
    "UPPER": "UPPER({0})",
    "LOWER": "LOWER({0})",
}
_LISTS = {"IN": "({0} IN ({1}))", "NOT_IN": "({0} NOT IN ({1}))"}
_CALLS = ("COALESCE", "ABS")
_EXACT = t.IntegralType | t.DecimalType


class DatabaseText:
    """Writes expressions with `?` for constants, whose values are collected in their order.

    Text is compared by its bytes, as a query does, and not by the collation of the database.
    """

    def __init__(self, names: Sequence[str], zone: str, mysql: bool) -> None:
        self._names = names
        self._mysql = mysql
        self._zone = ZoneInfo(zone)
        self.values: list[Any] = []

    def text(self, e: Expression) -> str:
        """The expression.

        Raises:
            SqlError: It has something that databases do not know, or compute otherwise.
        """
        e = fold(e, self._zone.key)
        if isinstance(e, Column):
            return self._names[e.index]
        if isinstance(e, Literal):
            return self._constant(e)
        name = getattr(getattr(e, "function", None), "name", type(e).__name__)
        if isinstance(e, Call) and not hasattr(e.function, "bound"):
            if name == "CAST" and keeps_value(e.args[0].type, e.type):
                return self.text(e.args[0])
            written = self._call(name, e.args)
            if written is not None:
                return written
        raise _refused(name)

    def assigned(self, e: Expression, column: t.DataType) -> str:
        """The value for a column, whose type the database gives it.

        Raises:
            SqlError: As of `text`, or the database would make another value of it.
        """
        if not _fits(e.type, column):
            raise _refused(f"CAST({e} AS {column.sql_text()})")
        return self.text(e)

    def _constant(self, e: Literal) -> str:
        if e.value is None:
            return "NULL"
        if is_interval(e.type):
            raise _refused("INTERVAL")
        if e.value != e.value:
            # Neither less nor greater than anything, but to a database greater than all.
            raise _refused("NaN")
        [value] = row_to_external([e.type], self._zone)((e.value,))
        self.values.append(value)
        return "?"

    def _call(self, name: str, args: tuple[Expression, ...]) -> str | None:
        if name == "LIKE" and (len(args) != 2 or not is_plain_pattern(args[1])):
            return None
        if name in _ARITHMETIC and not all(isinstance(a.type, t.NumericType) for a in args):
            return None
        known = (_BETWEEN_TWO, _PATTERNS, _LISTS, _CALLS)
        if not any(name in table for table in known):
            return None
        texts = [self._operand(name, a) for a in args]
        if name in _BETWEEN_TWO:
            return f"({f' {_BETWEEN_TWO[name]} '.join(texts)}{self._and_not_nan(name, args)})"
        if name in _PATTERNS:
            return _PATTERNS[name].format(*texts)
        if name in _LISTS:
            return _LISTS[name].format(texts[0], ", ".join(texts[1:]))
        return f"{name}({', '.join(texts)})"

    def _operand(self, name: str, e: Expression) -> str:
        text = self.text(e)
        if not is_character(e.type) or not (name in _COMPARISONS or name in _LISTS):
            return text
        if not self._mysql:
            return f'({text} COLLATE "C")' if name in _ORDER else text
        if name == "LIKE":
            # Of bytes, `_` would be one.
            return f"(CONVERT({text} USING utf8mb4) COLLATE utf8mb4_bin)"
        return f"CAST(CONVERT({text} USING utf8mb4) AS BINARY)"

    def _and_not_nan(self, name: str, args: tuple[Expression, ...]) -> str:
        if self._mysql or name not in _TRUE_OF_NAN:
            return ""
        e = fold(args[_TRUE_OF_NAN[name]], self._zone.key)
        if isinstance(e, Literal) or not is_approximate(e.type):
            return ""
        return f" AND CAST({self.text(e)} AS DOUBLE PRECISION) <> 'NaN'"


def is_plain_pattern(pattern: Expression) -> bool:
    """Whether a pattern has no backslash, which some databases take for an escape."""
    return isinstance(pattern, Literal) and "\\" not in str(pattern.value)


def keeps_value(source: t.DataType, target: t.DataType) -> bool:
    """Whether a cast leaves every value as it is, so that a database needs none."""
    if isinstance(source, t.NullType) or source.same_but_null(target):
        return True
    if isinstance(source, t.CharType | t.VarCharType):
        return isinstance(target, t.VarCharType) and target.length >= source.length
    if isinstance(target, t.DecimalType) and isinstance(source, _EXACT):
        given = as_decimal(source)
        room = target.precision - target.scale
        return target.scale >= given.scale and room >= given.precision - given.scale
    if isinstance(target, t.DoubleType) and isinstance(source, t.FloatType):
        return True
    if not isinstance(source, t.IntegralType):
        return False
    if isinstance(target, t.IntegralType):
        return target.bits >= source.bits
    if isinstance(target, t.DoubleType):
        return source.bits <= 32
    return isinstance(target, t.FloatType) and source.bits <= 16


def _fits(source: t.DataType, column: t.DataType) -> bool:
    """Whether a database stores what a cast gives, or refuses a value that has no room.

    Of a fraction, a database stores the nearest whole number, where a cast cuts it off.
    """
    if type(source) is type(column) or keeps_value(source, column):
        return True
    if isinstance(source, t.NumericType):
        if isinstance(column, t.IntegralType):
            return isinstance(source, t.IntegralType)
        if isinstance(column, t.DecimalType):
            return isinstance(source, _EXACT)
        return isinstance(column, t.NumericType)
    return is_character(source) and is_character(column)


def _refused(what: str) -> SqlError:
    return SqlError(
        f"{what} cannot be computed by the database: use comparisons, AND, OR, NOT, IS NULL, "
        "IN, BETWEEN, LIKE, +, -, *, COALESCE, UPPER and LOWER of columns and constants, or "
        "INSERT the rows that a query computes"
    )
