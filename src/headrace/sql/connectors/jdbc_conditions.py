"""Expressions as text for a database, which computes them by its own rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import SqlError
from headrace.sql import types as t
from headrace.sql.plan.expressions import Call, Column, Expression, Literal
from headrace.sql.types.type_rules import is_character
from headrace.sql.types.values import row_to_external

__all__ = ["DatabaseText"]

_BETWEEN_TWO = {
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "AND": "AND",
    "OR": "OR",
    "LIKE": "LIKE",
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
    "BETWEEN": "({0} BETWEEN {1} AND {2})",
    "NOT_BETWEEN": "({0} NOT BETWEEN {1} AND {2})",
    "UPPER": "UPPER({0})",
    "LOWER": "LOWER({0})",
}
_LISTS = {"IN": "({0} IN ({1}))", "NOT_IN": "({0} NOT IN ({1}))"}
_CALLS = ("COALESCE", "ABS")
_NUMBERS = t.IntegralType | t.DecimalType | t.FloatType | t.DoubleType


class DatabaseText:
    """Writes expressions with `?` for constants, whose values are collected in their order."""

    def __init__(self, names: Sequence[str], zone: str) -> None:
        self._names = names
        self._zone = ZoneInfo(zone)
        self.values: list[Any] = []

    def text(self, e: Expression) -> str:
        """The expression.

        Raises:
            SqlError: It has something that databases do not know, or compute otherwise.
        """
        if isinstance(e, Column):
            return self._names[e.index]
        if isinstance(e, Literal):
            return self._constant(e)
        name = getattr(getattr(e, "function", None), "name", type(e).__name__)
        if isinstance(e, Call) and not hasattr(e.function, "bound"):
            if name == "CAST" and _same_value(e.args[0].type, e.type):
                return self.text(e.args[0])
            written = self._call(name, e.args)
            if written is not None:
                return written
        raise SqlError(
            f"{name} cannot be computed by the database: use comparisons, AND, OR, NOT, IS NULL, "
            "IN, BETWEEN, LIKE, +, -, *, COALESCE, UPPER and LOWER of columns and constants, or "
            "INSERT the rows that a query computes"
        )

    def _constant(self, e: Literal) -> str:
        if e.value is None:
            return "NULL"
        [value] = row_to_external([e.type], self._zone)((e.value,))
        self.values.append(value)
        return "?"

    def _call(self, name: str, args: tuple[Expression, ...]) -> str | None:
        if name == "LIKE" and (len(args) != 2 or not _plain_pattern(args[1])):
            return None
        known = (_BETWEEN_TWO, _PATTERNS, _LISTS, _CALLS)
        if not any(name in table for table in known):
            return None
        texts = [self.text(a) for a in args]
        if name in _BETWEEN_TWO:
            return f"({f' {_BETWEEN_TWO[name]} '.join(texts)})"
        if name in _PATTERNS:
            return _PATTERNS[name].format(*texts)
        if name in _LISTS:
            return _LISTS[name].format(texts[0], ", ".join(texts[1:]))
        return f"{name}({', '.join(texts)})"


def _plain_pattern(pattern: Expression) -> bool:
    """Whether a pattern has no backslash, which some databases take for an escape."""
    return isinstance(pattern, Literal) and "\\" not in str(pattern.value)


def _same_value(source: t.DataType, target: t.DataType) -> bool:
    """Whether a cast changes the type alone, so that a database needs none."""
    if isinstance(source, t.NullType) or (is_character(source) and is_character(target)):
        return True
    if isinstance(target, t.IntegralType):
        return isinstance(source, t.IntegralType) and target.bits >= source.bits
    return isinstance(source, _NUMBERS) and isinstance(target, t.DecimalType | t.DoubleType)
