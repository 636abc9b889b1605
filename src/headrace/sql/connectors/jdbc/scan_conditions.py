"""Conditions that a database looks at while a table is read, where it finds the same rows.

A row is read if its condition is TRUE, so nothing here is put into a NOT: what is FALSE instead of
NULL makes no difference. Columns have the types in the database that the declared ones stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from headrace.datastream.connectors.jdbc import JdbcConnectionOptions
from headrace.datastream.connectors.jdbc.statements import quoted_name
from headrace.sql import types as t
from headrace.sql.binder.constants import fold
from headrace.sql.connectors.jdbc.conditions import is_plain_pattern, keeps_value
from headrace.sql.plan.expressions import Call, Column, Expression, Literal, Schema
from headrace.sql.types.type_rules import is_character
from headrace.sql.types.values import row_to_external

__all__ = ["ScanCondition", "ScanConditions"]

_COMPARISONS = {
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LISTS = {"IN": "IN", "NOT_IN": "NOT IN"}
_OF_TEXT = ("=", "<>", "IN", "NOT IN", "LIKE")
_DIGITS_OF_MILLIS = 3
_MICROS_OF_MILLI = 1_000
_ANY_NUMBER = (38, 18)
"""A decimal that stands for numbers of any length, which are rounded when they are read."""


@dataclass(frozen=True)
class ScanCondition:
    """A condition with `?` for its values."""

    sql: str
    values: tuple[Any, ...] = ()


class ScanConditions:
    """Writes conditions over the columns of a table."""

    def __init__(self, options: JdbcConnectionOptions, schema: Schema, zone: str) -> None:
        self._names = [quoted_name(options, name) for name in schema.names]
        self._mysql = options.url.product != "postgresql"
        self._zone = zone

    def of(self, e: Expression) -> ScanCondition | None:
        """The condition; None if the database might find other rows."""
        if isinstance(e, Column):
            # MySQL has numbers in place of BOOLEAN.
            return None if self._mysql else ScanCondition(self._names[e.index])
        if not isinstance(e, Call) or hasattr(e.function, "bound"):
            return None
        name, args = e.function.name, [self._operand(a) for a in e.args]
        if name in ("AND", "OR"):
            return self._joined(name, e.args)
        if name == "NOT" and isinstance(args[0], Column) and not self._mysql:
            return ScanCondition(f"(NOT {self._names[args[0].index]})")
        if name in ("IS_NULL", "IS_NOT_NULL") and isinstance(args[0], Column):
            return ScanCondition(f"({self._names[args[0].index]} {name.replace('_', ' ')})")
        if name in _COMPARISONS:
            return self._compared(_COMPARISONS[name], *args)
        if name in _LISTS:
            return self._listed(_LISTS[name], args[0], args[1:])
        if name == "LIKE" and len(args) == 2 and is_plain_pattern(args[1]):
            return self._listed("LIKE", args[0], args[1:])
        return None

    def _joined(self, word: str, parts: Sequence[Expression]) -> ScanCondition | None:
        found = [made for part in parts if (made := self.of(part)) is not None]
        if len(found) < len(parts):
            return None
        values = tuple(value for part in found for value in part.values)
        return ScanCondition(f"({f' {word} '.join(x.sql for x in found)})", values)

    def _operand(self, e: Expression) -> Expression:
        e = fold(e, self._zone)
        is_cast = isinstance(e, Call) and e.function.name == "CAST"
        if is_cast and keeps_value(e.args[0].type, e.type):  # type: ignore[attr-defined]
            return self._operand(e.args[0])  # type: ignore[attr-defined]
        return e

    def _compared(self, sign: str, left: Expression, right: Expression) -> ScanCondition | None:
        if isinstance(left, Literal):
            left, right, sign = right, left, _TURNED.get(sign, sign)
        if isinstance(right, Literal):
            return self._listed(sign, left, [right])
        both = isinstance(left, Column) and isinstance(right, Column)
        if not both or not (self._ordered(left.type, "=") and self._ordered(right.type, "=")):
            return None
        names = [self._names[e.index] for e in (left, right)]  # type: ignore[attr-defined]
        return ScanCondition(f"({names[0]} {sign} {names[1]})")

    def _ordered(self, type_: t.DataType, sign: str) -> bool:
        """Whether a database compares values as they come out of it."""
        if isinstance(type_, t.DecimalType):
            return (type_.precision, type_.scale) != _ANY_NUMBER
        if isinstance(type_, t.TimestampType) and not self._mysql:
            return type_.precision > _DIGITS_OF_MILLIS or sign in (">=", "<")
        return isinstance(type_, t.IntegralType | t.DateType)

    def _bounded(self, type_: t.DataType, sign: str, values: Sequence[Any]) -> bool:
        """Whether a database compares values with constants as they come out of it.

        Of few digits, a timestamp is cut off to milliseconds when it is read: that is no matter
        for a bound of whole ones. A database has NaN above all numbers.
        """
        is_cut = isinstance(type_, t.TimestampType) and type_.precision <= _DIGITS_OF_MILLIS
        if is_cut and any(value % _MICROS_OF_MILLI for value in values):
            return False
        return self._ordered(type_, sign) and all(value == value for value in values)

    def _listed(
        self, sign: str, column: Expression, constants: Sequence[Expression]
    ) -> ScanCondition | None:
        """A column next to one or several constants."""
        values = [e.value for e in constants if isinstance(e, Literal) and e.value is not None]
        if not isinstance(column, Column) or len(values) < len(constants):
            return None
        name, marks = self._names[column.index], ["?"] * len(values)
        if is_character(column.type):
            return self._text(sign, name, values) if sign in _OF_TEXT else None
        if not self._bounded(column.type, sign, values):
            return None
        zone = ZoneInfo(self._zone)
        given = tuple(row_to_external([e.type], zone)((e.value,))[0] for e in constants)  # type: ignore[attr-defined]
        right = f"({', '.join(marks)})" if sign in _LISTS.values() else marks[0]
        return ScanCondition(f"({name} {sign} {right})", given)

    def _text(self, sign: str, name: str, values: Sequence[str]) -> ScanCondition:
        """Text is compared by its bytes, as a query does, and not by a collation."""
        mark, given = "?", tuple(values)
        if self._mysql and sign == "LIKE":
            # Of bytes, `_` would be one.
            column = f"(CONVERT({name} USING utf8mb4) COLLATE utf8mb4_bin)"
        elif self._mysql:
            column = f"CAST(CONVERT({name} USING utf8mb4) AS BINARY)"
            mark = "CAST(CONVERT(? USING utf8mb4) AS BINARY)"
        else:
            # The text as it is read: of a CHAR, a cast would leave out the blanks at its end.
            column = f'(CONCAT({name}) COLLATE "C")'
        right = f"({', '.join([mark] * len(given))})" if sign in _LISTS.values() else mark
        exact = f"({name} IS NOT NULL AND {column} {sign} {right})"
        if self._mysql or sign not in ("=", "IN"):
            return ScanCondition(exact, given)
        # Finds as many or more rows, and may use an index.
        more = tuple(dict.fromkeys(x for v in given for x in (v, v.rstrip(" "))))
        marks = ", ".join(["?"] * len(more))
        return ScanCondition(f"(CAST({name} AS TEXT) IN ({marks}) AND {exact})", (*more, *given))
