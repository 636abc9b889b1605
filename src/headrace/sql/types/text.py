"""Values as text: what CAST(... AS STRING) and tables on the screen show, and what Java prints."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.java.text import double_text, float_text
from headrace.formats.shapes import Kind, Shape, shape_of
from headrace.formats.text import TextStyle, java_scalar, text_of_present, text_writer
from headrace.sql import types as t
from headrace.sql.functions.builtin.bitmaps import bitmap_text
from headrace.sql.functions.builtin.times import moment, to_local
from headrace.sql.types import DataType

Text = Callable[[Any], str]


def decimal_text(value: Decimal) -> str:
    """All digits, without an exponent."""
    return f"{value:f}"


def timestamp_text(micros: int, precision: int) -> str:
    """`2020-01-31 10:20:30.123`, with `precision` digits after the point."""
    second, rest = divmod(micros, 1_000_000)
    text = _second_text(second)
    return f"{text}.{f'{rest:06d}000'[:precision]}" if precision else text


@lru_cache(4096)
def _second_text(second: int) -> str:
    at = moment(second * 1_000_000)
    return f"{at.date().isoformat()} {at.strftime('%H:%M:%S')}"


def time_text(micros: int, precision: int) -> str:
    """`10:20:30.12`: at most `precision` digits, and, as in Flink, no zeros at the end but one."""
    text = moment(micros).strftime("%H:%M:%S")
    fraction = f"{micros % 1_000_000:06d}"[:precision].rstrip("0") or "0"
    return f"{text}.{fraction}" if precision else text


def date_text(days: int) -> str:
    """`2020-01-31`."""
    return moment(days * 86_400_000_000).date().isoformat()


def interval_text(millis: int) -> str:
    """`+1 02:03:04.567`."""
    sign = "-" if millis < 0 else "+"
    seconds, rest = divmod(abs(millis), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{sign}{day} {hour:02d}:{minute:02d}:{second:02d}.{rest:03d}"


def months_text(months: int) -> str:
    """`+1-02`."""
    year, month = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{year}-{month:02d}"


def sql_text(type_: DataType, zone: ZoneInfo | None = None, printing: bool = False) -> Text:
    """Makes the text of values that are not NULL, as CAST(... AS STRING) does.

    Args:
        type_: The type of the values.
        zone: The session's time zone; UTC without one.
        printing: As a table on the screen: bytes as hexadecimal digits.
    """
    return text_of_present(shape_of(type_), _sql_style(zone, printing))


def _sql_style(zone: ZoneInfo | None, printing: bool) -> TextStyle:
    return TextStyle(
        lambda shape: _sql_scalar(shape.declared, zone, printing),
        "NULL",
        ("(", ")"),
        named=lambda shape: isinstance(shape.declared, t.StructuredType),
    )


def _sql_scalar(type_: DataType, zone: ZoneInfo | None, printing: bool) -> Text:
    if isinstance(type_, t.BooleanType):
        return lambda v: "TRUE" if v else "FALSE"
    if isinstance(type_, t.IntegralType):
        return str
    if isinstance(type_, t.FloatType):
        return float_text
    if isinstance(type_, t.DoubleType):
        return double_text
    if isinstance(type_, t.DecimalType):
        return decimal_text
    if isinstance(type_, t.DateType):
        return date_text
    if isinstance(type_, t.TimeType):
        return lambda v: time_text(v, type_.precision)
    if isinstance(type_, t.TimestampType):
        return lambda v: timestamp_text(v, type_.precision)
    if isinstance(type_, t.LocalZonedTimestampType):
        at = zone or ZoneInfo("UTC")
        return lambda v: timestamp_text(to_local(at, v), type_.precision)
    if isinstance(type_, t.DayTimeIntervalType):
        return interval_text
    if isinstance(type_, t.YearMonthIntervalType):
        return months_text
    if isinstance(type_, t.BitmapType):
        return bitmap_text
    if isinstance(type_, t.BinaryType | t.VarBinaryType):
        return (lambda v: f"x'{v.hex()}'") if printing else (lambda v: v.decode(errors="replace"))
    return str


def java_text(type_: DataType) -> Text:
    """Makes the text that Java prints for a value: what the print connector shows."""
    return text_writer(shape_of(type_), _JAVA_STYLE)


def _java_scalar(shape: Shape) -> Text:
    if shape.kind is Kind.TIMESTAMP:
        return local_date_time_text
    if shape.kind is Kind.INSTANT:
        return lambda v: local_date_time_text(v, seconds=True) + "Z"
    if shape.kind is Kind.TIME:
        return lambda v: local_date_time_text(v).partition("T")[2]
    if shape.kind is Kind.DURATION:
        return duration_text
    if shape.kind is Kind.DECIMAL:
        # With an exponent where there are more than six zeros behind the point, as `BigDecimal` is.
        return str
    return java_scalar(shape) or _sql_scalar(shape.declared, None, False)


_JAVA_STYLE = TextStyle(_java_scalar, kind=lambda row: "+I")


def local_date_time_text(micros: int, seconds: bool = False) -> str:
    """As Java's `LocalDateTime.toString`: seconds and fraction only where they are not zero."""
    at = moment(micros)
    text = f"{at.date().isoformat()}T{at:%H:%M}"
    if seconds or at.second or at.microsecond:
        text += f":{at.second:02d}"
    if at.microsecond:
        text += (
            f".{at.microsecond:06d}" if at.microsecond % 1000 else f".{at.microsecond // 1000:03d}"
        )
    return text


def duration_text(millis: int) -> str:
    """As Java's `Duration.toString`: `PT1H2M3.5S`."""
    if not millis:
        return "PT0S"
    sign, rest = ("-", -millis) if millis < 0 else ("", millis)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    text = "PT"
    text += f"{sign}{hours}H" if hours else ""
    text += f"{sign}{minutes}M" if minutes else ""
    if rest:
        whole, fraction = divmod(rest, 1000)
        text += f"{sign}{whole}" + (f".{fraction:03d}".rstrip("0") if fraction else "") + "S"
    return text
