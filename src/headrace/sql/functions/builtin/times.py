"""Functions of time. Timestamps are microseconds since 1970, dates days, times microseconds."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.errors import HeadraceError
from headrace.common.java.time_patterns import (
    resolved,
    time_formatter,
    time_parser,
    unchanging_micros,
)

_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1)
_MICRO = datetime.timedelta(microseconds=1)
DAY = 86_400_000_000
DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"


def moment(micros: int) -> datetime.datetime:
    """Date and time of microseconds since 1970."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        raise HeadraceError(
            f"{micros} microseconds since 1970 are outside the years 1 to 9999"
        ) from None


def micros_of(value: datetime.datetime) -> int:
    """Microseconds since 1970."""
    return (value - _EPOCH) // _MICRO


def to_local(zone: datetime.tzinfo, instant: int) -> int:
    """What clocks in a zone show at an instant."""
    aware = moment(instant).replace(tzinfo=datetime.UTC).astimezone(zone)
    return micros_of(aware.replace(tzinfo=None))


def to_instant(zone: datetime.tzinfo, local: int) -> int:
    """The instant at which clocks in a zone show a time."""
    aware = moment(local).replace(tzinfo=zone).astimezone(datetime.UTC)
    return micros_of(aware.replace(tzinfo=None))


def now() -> int:
    return time.time_ns() // 1_000_000 * 1000


def now_local(zone: ZoneInfo) -> int:
    return to_local(zone, now())


def today(zone: ZoneInfo) -> int:
    return now_local(zone) // DAY


def time_now(zone: ZoneInfo) -> int:
    return now_local(zone) % DAY // 1_000_000 * 1_000_000


def unix_now() -> int:
    return time.time_ns() // 1_000_000_000


# Patterns of Java's DateTimeFormatter.


@lru_cache(1024)
def _formatted(micros: int, pattern: str) -> str:
    return time_formatter(pattern)(moment(micros))


def format_moment(micros: int, pattern: str) -> str:
    """A timestamp as a pattern wants it."""
    return _formatted(micros - micros % unchanging_micros(pattern), pattern)


def parse_moment(text: str, pattern: str, lenient: bool = False) -> int | None:
    """The timestamp of a text; None if it is none."""
    found = time_parser(pattern, lenient)(text)
    return None if found is None else micros_of(found)


_TIMESTAMP = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
)
_FULL, _SIGNS = (19, 23, 26), {"-- ::", "--T::", "-- ::.", "--T::."}
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?")


def parse_timestamp(
    text: str, resolve: Callable[..., datetime.datetime | None] = datetime.datetime
) -> int | None:
    """`2020-01-31 10:20:30.123`, the time may be missing; None if the text is not a timestamp.

    `resolve` makes a time of year, month, day, hour, minute and second.
    """
    if len(text) in _FULL and text[4:20:3] in _SIGNS:
        # With all digits, which is how most are written, Python's own parser is much quicker.
        # It also reads zones, which do not belong here, and then the difference fails.
        with suppress(ValueError, TypeError):
            return micros_of(datetime.datetime.fromisoformat(text))
    found = _TIMESTAMP.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(g or 0) for g in found.groups()[:6])
    try:
        at = resolve(year, month, day, hour, minute, second)
    except ValueError:
        return None
    if at is None:
        return None
    return micros_of(at) + int(((found[7] or "") + "000000")[:6])


def text_to_timestamp(text: str, precision: int = 6) -> int | None:
    """What CAST reads: between date and time is a space, and February 30 is the last of it.

    The fraction of the second has at most so many digits; more are cut off.
    """
    return None if "T" in text else _cut(parse_timestamp(text, resolved), precision)


def _cut(micros: int | None, precision: int) -> int | None:
    unit = 10 ** max(6 - precision, 0)
    return None if micros is None else micros // unit * unit


_DIGITS_OF_TIME = 3
_WITHOUT_DAY = re.compile(r"\s*\d{1,4}(-\d{1,2})?\s*")


def parse_date(text: str) -> int | None:
    """`2020-01-31`, `2020-01` or `2020`; None if the text is not a date."""
    found = _WITHOUT_DAY.fullmatch(text)
    if found is not None:
        text = text.strip() + ("-1" if found[1] else "-1-1")
    micros = parse_timestamp(text)
    return None if micros is None else micros // DAY


def parse_time(text: str) -> int | None:
    """`10:20:30.123`; None if the text is not a time. As in Flink, it has milliseconds at most."""
    return _cut(_time_of_day(text), _DIGITS_OF_TIME)


def _time_of_day(text: str) -> int | None:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second = (int(g or 0) for g in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int(((found[4] or "") + "000000")[:6])
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def text_to_time(text: str, precision: int) -> int | None:
    """What CAST makes of a text; None if it is not a time.

    As in Flink, it is rounded to milliseconds, and then cut to so many digits.
    """
    micros = _time_of_day(text)
    rounded = None if micros is None else min(micros + 500, DAY - 1)
    return _cut(rounded, min(precision, _DIGITS_OF_TIME))


def unix_timestamp(zone: ZoneInfo, text: str, pattern: str = DEFAULT_FORMAT) -> int:
    found = time_parser(pattern, lenient=True)(text)
    return -(1 << 63) if found is None else to_instant(zone, micros_of(found)) // 1_000_000


def from_unixtime(zone: ZoneInfo, seconds: int, pattern: str = DEFAULT_FORMAT) -> str:
    return format_moment(to_local(zone, seconds * 1_000_000), pattern)


def to_timestamp(text: str, pattern: str | None = None) -> int | None:
    found = text_to_timestamp(text) if pattern is None else parse_moment(text, pattern)
    return None if found is None else found // 1000 * 1000


def to_timestamp_ltz(value: float, precision: int = 3) -> int | None:
    if not 0 <= precision <= 9:
        raise HeadraceError(
            f"TO_TIMESTAMP_LTZ takes the precision 0 (seconds) to 9 (nanoseconds), not {precision}"
        )
    units: int = 10**precision
    # As in Flink, a fraction does not count.
    return int(value) * 1_000_000 // units


def text_to_ltz(text: str, pattern: str | None = None, zone: str | None = None) -> int | None:
    found = to_timestamp(text) if pattern is None else parse_moment(text, pattern)
    # As in Flink, text without a zone is read as UTC.
    return found if found is None or zone is None else to_instant(_zone(zone), found)


def to_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        return parse_date(text)
    found = parse_moment(text, pattern, lenient=True)
    return None if found is None else found // DAY


def date_format(value: int | str, pattern: str) -> str | None:
    if isinstance(value, str):
        found = parse_moment(value, DEFAULT_FORMAT, lenient=True)
        return None if found is None else format_moment(found, pattern)
    return format_moment(value, pattern)


def date_format_ltz(zone: ZoneInfo, value: int, pattern: str) -> str:
    return format_moment(to_local(zone, value), pattern)


_OFFSET = re.compile(r"GMT([+-])(\d{1,2}):?([0-5]\d)?")
_SHORT_ZONES = {
    "PST": "America/Los_Angeles",
    "CST": "America/Chicago",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "ECT": "Europe/Paris",
    "CTT": "Asia/Shanghai",
    "AET": "Australia/Sydney",
    "BST": "Asia/Dhaka",
}


@lru_cache(256)
def _zone(name: str) -> datetime.tzinfo:
    """A zone by one of the names that Java has for it."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        span = datetime.timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return datetime.timezone(-span if offset[1] == "-" else span)
    try:
        return ZoneInfo(_SHORT_ZONES.get(name, name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise HeadraceError(
            f"{name[:50]!r} is not a time zone; write one such as 'Europe/Berlin' or 'UTC'"
        ) from None


def convert_tz(text: str, source: str, target: str) -> str | None:
    found = parse_moment(text, DEFAULT_FORMAT, lenient=True)
    if found is None:
        return None
    instant = to_instant(_zone(source), found)
    return format_moment(to_local(_zone(target), instant), DEFAULT_FORMAT)


# Parts and steps of the calendar. Local timestamps only; codegen converts dates and instants.


def extract(unit: str, micros: int) -> int:
    """A part of a timestamp."""
    at = moment(micros)
    if unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
        return int(getattr(at, unit.lower()))
    if unit == "QUARTER":
        return (at.month + 2) // 3
    if unit == "WEEK":
        return at.isocalendar().week
    if unit in ("DOW", "DAYOFWEEK"):
        return at.isoweekday() % 7 + 1
    if unit == "ISODOW":
        return at.isoweekday()
    if unit in ("DOY", "DAYOFYEAR"):
        return at.timetuple().tm_yday
    if unit == "MILLISECOND":
        return at.microsecond // 1000
    if unit == "MICROSECOND":
        return at.microsecond
    if unit == "NANOSECOND":
        return at.microsecond * 1000
    if unit == "EPOCH":
        return micros // 1_000_000
    if unit == "ISOYEAR":
        return at.isocalendar().year
    if unit == "DECADE":
        return at.year // 10
    if unit == "CENTURY":
        return -(-at.year // 100)
    if unit == "MILLENNIUM":
        return -(-at.year // 1000)
    raise HeadraceError(f"{unit} is not a part of a timestamp")


def day_of(year: int, month: int, day: int) -> int:
    return datetime.date(year, month, day).toordinal() - _EPOCH_DAY.toordinal()


def extract_interval(unit: str, value: int) -> int:
    """A part of an interval of months or of milliseconds, by the unit."""
    sign, size = (-1, -value) if value < 0 else (1, value)
    if unit in ("YEAR", "MONTH", "QUARTER"):
        months = size % 12
        return sign * {"YEAR": size // 12, "MONTH": months, "QUARTER": months // 3 + 1}[unit]
    if unit == "DAY":
        return sign * (size * 1000 // DAY)
    if unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND"):
        return sign * extract(unit, size * 1000 % DAY)
    raise HeadraceError(f"{unit} is not a part of an interval")


_FIXED = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
}


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200}
_MONTHS["MILLENNIUM"] = 12_000


def floor_time(micros: int, unit: str) -> int:
    """The start of the unit that a timestamp is in."""
    if unit in _FIXED:
        return micros - micros % _FIXED[unit]
    day = micros // DAY
    at = datetime.date.fromordinal(day + _EPOCH_DAY.toordinal())
    if unit == "WEEK":
        # Weeks start on Sundays here, as in Flink.
        return (day - at.isoweekday() % 7) * DAY
    if unit == "MONTH":
        return day_of(at.year, at.month, 1) * DAY
    if unit == "QUARTER":
        return day_of(at.year, (at.month - 1) // 3 * 3 + 1, 1) * DAY
    if unit == "YEAR":
        return day_of(at.year, 1, 1) * DAY
    if unit == "DECADE":
        return day_of(at.year // 10 * 10, 1, 1) * DAY
    if unit in ("CENTURY", "MILLENNIUM"):
        years = 100 if unit == "CENTURY" else 1000
        return day_of((at.year - 1) // years * years + 1, 1, 1) * DAY
    raise HeadraceError(f"a timestamp cannot be rounded to {unit}")


def ceil_time(micros: int, unit: str) -> int:
    """The start of the next unit, or the timestamp itself if it is one."""
    floored = floor_time(micros, unit)
    if floored == micros:
        return micros
    if unit in _FIXED:
        return floored + _FIXED[unit]
    if unit == "WEEK":
        return floored + 7 * DAY
    return add_months(floored, _MONTHS[unit])


def add_months(micros: int, months: int) -> int:
    """The same day some months later, or the last day of that month."""
    day, rest = divmod(micros, DAY)
    return add_months_to_day(day, months) * DAY + rest


def add_months_to_day(day: int, months: int) -> int:
    at = datetime.date.fromordinal(day + _EPOCH_DAY.toordinal())
    count = at.year * 12 + at.month - 1 + months
    year, month = divmod(count, 12)
    following = datetime.date(year + (month == 11), (month + 1) % 12 + 1, 1)
    last = (following - datetime.timedelta(days=1)).day
    return day_of(year, month + 1, min(at.day, last))


def timestamp_diff(unit: str, start: int, end: int) -> int:
    """Whole units from one local timestamp to another."""
    if unit in ("WEEK", *_FIXED):
        size = 7 * DAY if unit == "WEEK" else _FIXED[unit]
        difference = end - start
        return difference // size if difference >= 0 else -(-difference // size)
    months = _MONTHS.get(unit)
    if months is None:
        raise HeadraceError(f"the difference of timestamps cannot be counted in {unit}")
    first, second = moment(start), moment(end)
    count = (second.year - first.year) * 12 + second.month - first.month
    if count > 0 and add_months(start, count) > end:
        count -= 1
    elif count < 0 and add_months(start, count) < end:
        count += 1
    return count // months if count >= 0 else -(-count // months)
