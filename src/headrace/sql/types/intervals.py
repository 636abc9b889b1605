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
    first, last = _first_and_last(units)
    try:
        if first in _MONTHS:
            return Constant(_months(text, first, last), interval_type(units), span=span)
        if first in _MILLIS:
            return Constant(_millis(text, first, last), interval_type(units), span=span)
    except (ValueError, InvalidOperation):
        pass
    raise SpannedError(f"INTERVAL '{text}' {units} is not an interval", span)


def interval_type(units: str) -> t.DataType:
    """The type of `DAY`, `YEAR TO MONTH` and so on; its last unit counts as a whole number."""
    upper, lower = map(_resolution, _first_and_last(units))
    return DataTypes.INTERVAL(upper, lower).not_null()  # type: ignore[no-any-return]


def _first_and_last(units: str) -> tuple[str, str]:
    units = re.sub(r"\(\d+(\s*,\s*\d+)?\)", "", units.upper())
    first, _, last = (u.strip() for u in units.partition(" TO "))
    return first.rstrip("S"), (last or first).rstrip("S")


def _resolution(unit: str) -> t.Resolution:
    unit = {"WEEK": "DAY", "QUARTER": "MONTH", "MILLISECOND": "SECOND"}.get(unit, unit)
    made: t.Resolution = DataTypes.SECOND(3) if unit == "SECOND" else getattr(DataTypes, unit)()
    return made


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
