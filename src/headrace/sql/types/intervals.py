"""INTERVAL literals: `'5' SECOND`, `'1 02:03' DAY TO MINUTE`, `'1-2' YEAR TO MONTH`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from headrace.sql import types as t
from headrace.sql.parser.excerpts import SpannedError
from headrace.sql.parser.syntax import Constant, Span
from headrace.sql.types.data_types import DataTypes

_MILLIS = {
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
    "WEEK": 7 * 86_400_000,
}
_MONTHS = {"MONTH": 1, "YEAR": 12, "QUARTER": 3}
_ORDER = ("DAY", "HOUR", "MINUTE", "SECOND")


def interval_constant(text: str, units: str, span: Span | None = None) -> Constant:
    """A literal, in milliseconds or months."""
    units = re.sub(r"\(\d+(\s*,\s*\d+)?\)", "", units.upper())
    first, _, last = (u.strip() for u in units.partition(" TO "))
    first, last = first.rstrip("S"), (last or first).rstrip("S")
    try:
        if first in _MONTHS:
            return Constant(_months(text, first, last), _type(first, last), span=span)
        if first in _MILLIS:
            return Constant(_millis(text, first, last), _type(first, last), span=span)
    except (ValueError, InvalidOperation):
        pass
    raise SpannedError(f"INTERVAL '{text}' {units} is not an interval", span)


def _type(first: str, last: str) -> t.DataType:
    """As Flink's planner has it: months or seconds; whole days are known as such for dates."""
    if first in _MONTHS:
        return DataTypes.INTERVAL(DataTypes.MONTH()).not_null()  # type: ignore[no-any-return]
    if first == last and first in ("DAY", "WEEK"):
        return DataTypes.INTERVAL(DataTypes.DAY()).not_null()  # type: ignore[no-any-return]
    return DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null()  # type: ignore[no-any-return]


def _months(text: str, first: str, last: str) -> int:
    if first == last:
        return int(text) * _MONTHS[first]
    sign = -1 if text.startswith("-") else 1
    years, _, months = text.lstrip("+-").partition("-")
    return sign * (int(years) * 12 + int(months or 0))


def _millis(text: str, first: str, last: str) -> int:
    if first == last:
        return int(Decimal(text.strip()) * _MILLIS[first])
    sign = -1 if text.strip().startswith("-") else 1
    parts = re.split(r"[ :]", text.strip().lstrip("+-"))
    units = _ORDER[_ORDER.index(first) : _ORDER.index(last) + 1]
    if len(parts) != len(units):
        raise ValueError(text)
    total = sum(Decimal(p) * _MILLIS[u] for p, u in zip(parts, units, strict=True))
    return sign * int(total)
