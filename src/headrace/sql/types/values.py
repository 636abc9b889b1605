"""Internal values and the Python objects that users see.

| type | internal | for users |
|---|---|---|
| whole numbers, BOOLEAN, text, bytes, DECIMAL, FLOAT, DOUBLE | the same | the same |
| DATE | days since 1970 | `datetime.date` |
| TIME | microseconds of the day | `datetime.time` |
| TIMESTAMP | microseconds since 1970 | `datetime.datetime` |
| TIMESTAMP_LTZ | microseconds since 1970 in UTC | `datetime.datetime` in the session's zone |
| INTERVAL of days to seconds / of months | milliseconds / months | `datetime.timedelta` / int |
| ARRAY / ROW / MAP | tuple / tuple / dict | list / `Row` / dict |

A row of a table is a tuple. A row of a changelog that is more than inserts ends with its kind, the
number of a `RowKind`; an odd one takes a row back.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import TypeMismatchError
from headrace.common.instants import local_zone
from headrace.common.java.text import shortest_float32
from headrace.common.time import Instant
from headrace.common.types import Row, row_of
from headrace.sql import types as t
from headrace.sql.functions.builtin.arithmetic import decimal_of, fit_decimal, float32
from headrace.sql.functions.builtin.bitmaps import build
from headrace.sql.types import DataType
from headrace.sql.types.text import sql_text

__all__ = ["Converter", "literal_text", "row_to_external", "to_external", "to_internal"]

Converter = Callable[[Any], Any]

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICRO = datetime.timedelta(microseconds=1)
_MILLI = datetime.timedelta(milliseconds=1)
_MICROS_OF_MILLI = 1000
_DIGITS_OF_MILLIS = 3


def to_external(
    type_: DataType,
    zone: ZoneInfo | None = None,
    aware: bool = False,
    collected: bool = False,
    streamed: bool = False,
) -> Converter | None:
    """Makes users' objects of internal values; None where they are the same.

    Args:
        type_: The type of the values.
        zone: The session's time zone; without it that of this machine.
        aware: Whether instants know their zone, as functions get them in PyFlink.
        collected: Whether the objects are for `collect()`, where rows have no names in PyFlink and
            a FLOAT is the shortest number that stands for it.
        streamed: Whether the objects are for a stream, where instants are of PyFlink's own class.
    """
    if isinstance(type_, t.LocalZonedTimestampType):
        return _stream_instant if streamed else _instants(zone or local_zone(), aware)

    def inner(inside: DataType) -> Converter | None:
        return to_external(inside, zone, aware, collected, streamed)

    if isinstance(type_, t.RowType):
        names = None if collected else type_.names
        fields = [inner(f.data_type) for f in type_.fields]
        return lambda v: None if v is None else row_of(_converted(v, fields), names)
    if isinstance(type_, t.MultisetType):
        element = inner(type_.element_type) or _same
        return lambda v: None if v is None else {element(k): n for k, n in v.items()}
    if isinstance(type_, t.ArrayType):
        each = inner(type_.element_type)
        if each is None:
            return lambda v: None if v is None else list(v)
        return lambda v: None if v is None else list(map(each, v))
    if isinstance(type_, t.MapType):
        key, value = inner(type_.key_type), inner(type_.value_type)
        if key is None and value is None:
            return None
        k, w = key or _same, value or _same
        return lambda v: None if v is None else {k(a): w(b) for a, b in v.items()}
    if collected and isinstance(type_, t.FloatType):
        return lambda v: None if v is None else shortest_float32(v)
    if isinstance(type_, t.DayTimeIntervalType):
        return lambda v: None if v is None else v * _MILLI
    return type_.from_sql_type if type_.need_conversion() else None


def _stream_instant(value: Any) -> Any:
    if value is None:
        return None
    seconds, micros = divmod(value, 1_000_000)
    return Instant(seconds, micros * 1000)


def _instants(zone: ZoneInfo, aware: bool) -> Converter:
    def instant(value: Any) -> Any:
        if value is None:
            return None
        found = (_EPOCH + value * _MICRO).replace(tzinfo=datetime.UTC).astimezone(zone)
        return found if aware else found.replace(tzinfo=None)

    return instant


def row_to_external(
    types: Sequence[DataType],
    zone: ZoneInfo | None = None,
    aware: bool = False,
    collected: bool = False,
    streamed: bool = False,
) -> Callable[[Sequence[Any]], list[Any]]:
    """Makes a list of users' objects of an internal row, see `to_external`."""
    converters = [to_external(x, zone, aware, collected, streamed) for x in types]
    if not any(converters):
        return list
    return lambda row: _converted(row, converters)


def _converted(row: Sequence[Any], converters: Sequence[Converter | None]) -> list[Any]:
    return [v if c is None else c(v) for v, c in zip(row, converters, strict=True)]


def _same(value: Any) -> Any:
    return value


def to_internal(type_: DataType, zone: ZoneInfo | None = None) -> Converter:
    """Makes internal values of users' objects, checking that they fit."""
    convert = _to_internal(type_, zone)

    def checked(value: Any) -> Any:
        if value is None:
            if not type_.is_nullable:
                raise TypeMismatchError(f"NULL where {type_.sql_text()} was declared")
            return None
        try:
            return convert(value)
        except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise TypeMismatchError(
                f"{value!r} ({type(value).__name__}) is not of type {type_.sql_text()}"
            ) from error

    return checked


def rows_to_internal(
    type_: t.RowType, zone: ZoneInfo | None = None
) -> Callable[[list[Any]], list[tuple[Any, ...]]]:
    """Makes internal rows of tuples, column by column."""
    row = to_internal(type_, zone)
    columns = [_column_to_internal(f.data_type, zone) for f in type_.fields]

    def rows(values: list[Any]) -> list[tuple[Any, ...]]:
        try:
            found = zip(*values, strict=True)
            return list(zip(*[c(v) for c, v in zip(columns, found, strict=True)], strict=True))
        except (TypeError, ValueError, TypeMismatchError):
            return list(map(row, values))  # says which of them is wrong

    return rows


def _column_to_internal(type_: DataType, zone: ZoneInfo | None) -> Callable[[Sequence[Any]], Any]:
    """Values that are internal ones already are not looked at one by one."""
    each = to_internal(type_, zone)
    if isinstance(type_, t.CharType | t.VarCharType):
        allowed = {str, type(None)} if type_.is_nullable else {str}
        return lambda column: column if set(map(type, column)) <= allowed else map(each, column)
    if not isinstance(type_, t.IntegralType):
        return lambda column: map(each, column)
    low, high = _range(type_)

    def whole(column: Sequence[Any]) -> Any:
        fits = set(map(type, column)) == {int} and low <= min(column) and max(column) <= high
        return column if fits else map(each, column)

    return whole


def _to_internal(type_: DataType, zone: ZoneInfo | None) -> Converter:
    if isinstance(type_, t.IntegralType):
        return _whole(type_)
    if isinstance(type_, t.FloatType):
        return lambda v: float32(float(v))
    if isinstance(type_, t.DoubleType):
        return float
    if isinstance(type_, t.DecimalType):
        return _decimal(type_)
    if isinstance(type_, t.LocalZonedTimestampType):
        return _compact(type_, lambda v: _instant(v, zone or local_zone()))
    if isinstance(type_, t.TimestampType):
        return _compact(type_, _timestamp)
    if isinstance(type_, t.UserDefinedType):
        plain = to_internal(type_.sql_type(), zone)
        return lambda v: plain(type_.serialize(v))
    if isinstance(type_, t.RowType):
        return _row(type_, zone)
    if isinstance(type_, t.MultisetType):
        element = to_internal(type_.element_type, zone)
        return lambda v: {element(k): n for k, n in v.items()}
    if isinstance(type_, t.ArrayType):
        inner = to_internal(type_.element_type, zone)
        return lambda v: tuple(map(inner, v))
    if isinstance(type_, t.MapType):
        key, value = to_internal(type_.key_type, zone), to_internal(type_.value_type, zone)
        return lambda v: {key(a): value(b) for a, b in v.items()}
    return _simple(type_)


def _simple(type_: DataType) -> Converter:
    if isinstance(type_, t.BooleanType):
        return lambda v: v if isinstance(v, bool) else _truth(v)
    if isinstance(type_, t.CharType | t.VarCharType):
        return lambda v: v if type(v) is str else _text(v)
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return lambda v: bytes(v) if isinstance(v, bytes | bytearray | memoryview) else _refuse(v)
    if isinstance(type_, t.BitmapType):
        return build
    if isinstance(type_, t.DateType):
        return lambda v: v if isinstance(v, int) else v.toordinal() - _EPOCH_DAY
    if isinstance(type_, t.TimeType):
        return _time_of_day
    if isinstance(type_, t.DayTimeIntervalType):
        return lambda v: v if isinstance(v, int) else v // _MILLI
    return type_.to_sql_type


def _refuse(value: Any) -> Any:
    raise TypeError(f"unexpected {type(value).__name__}")


def _truth(value: Any) -> bool:
    """Of a whole number or of numpy's own BOOLEAN, which comparing its numbers gives."""
    is_number = isinstance(value, int) or getattr(value, "dtype", None) == "bool"
    return bool(value) if is_number else _refuse(value)


def _text(value: Any) -> str:
    """Of a kind of text such as numpy's, or a member of an enumeration."""
    return str.__str__(value) if isinstance(value, str) else _refuse(value)


def _range(type_: t.IntegralType) -> tuple[int, int]:
    return -(1 << type_.bits - 1), (1 << type_.bits - 1) - 1


def _whole(type_: t.IntegralType) -> Converter:
    low, high = _range(type_)

    def whole(value: Any) -> int:
        number = int(value) if not isinstance(value, str) else _refuse(value)
        if not low <= number <= high:
            raise ValueError(f"{number} is beyond {low} to {high}")
        return int(number)

    return whole


def _decimal(type_: t.DecimalType) -> Converter:
    def decimal(value: Any) -> Decimal:
        fitted = fit_decimal(decimal_of(value), type_.precision, type_.scale)
        if fitted is None:
            raise ValueError("too many digits")
        return fitted

    return decimal


def _compact(type_: t.TimestampType | t.LocalZonedTimestampType, micros: Converter) -> Converter:
    """Flink keeps whole milliseconds for a precision of three digits and less."""
    if type_.precision > _DIGITS_OF_MILLIS:
        return micros

    def compact(value: Any) -> int:
        found: int = micros(value)
        return found - found % _MICROS_OF_MILLI

    return compact


def _time_of_day(value: Any) -> int:
    """Flink's times of day have whole milliseconds, whatever their precision."""
    micros = value if isinstance(value, int) else t.TimeType().to_sql_type(value) or 0
    return micros - micros % _MICROS_OF_MILLI


def _timestamp(value: Any) -> int:
    if isinstance(value, int):
        return value
    return int((value.replace(tzinfo=None) - _EPOCH) // _MICRO)


def _instant(value: Any, zone: ZoneInfo) -> int:
    if isinstance(value, int):
        return value
    if hasattr(value, "seconds") and hasattr(value, "nanos"):
        return int(value.seconds * 1_000_000 + value.nanos // 1000)
    aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
    return int((aware.astimezone(datetime.UTC).replace(tzinfo=None) - _EPOCH) // _MICRO)


def _row(type_: t.RowType, zone: ZoneInfo | None) -> Converter:
    names = type_.names
    fields = [to_internal(f.data_type, zone) for f in type_.fields]

    def row(value: Any) -> tuple[Any, ...]:
        if isinstance(value, dict):
            value = [value.get(n) for n in names]
        elif isinstance(value, Row):
            value = [value[n] for n in names] if value.get_field_names() else list(value)
        elif not isinstance(value, tuple | list) and hasattr(value, "__dict__"):
            value = [vars(value).get(n) for n in names]
        if len(value) != len(fields):
            raise ValueError(f"{len(value)} fields instead of {len(fields)}")
        return tuple([f(v) for f, v in zip(fields, value, strict=True)])

    return row


def literal_text(value: Any, type_: DataType) -> str:
    """A literal as plans show it."""
    if value is None:
        return "null"
    if isinstance(type_, t.CharType | t.VarCharType):
        return "'" + str(value).replace("'", "''") + "'"
    if isinstance(type_, t.BooleanType):
        return "true" if value else "false"
    if isinstance(type_, t.DayTimeIntervalType | t.YearMonthIntervalType):
        return str(value)
    return sql_text(type_)(value)
