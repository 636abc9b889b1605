"""Functions of time. Timestamps are microseconds since 1970, dates days, times microseconds."""

from __future__ import annotations

import datetime
import re
import time
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.errors import HeadraceError

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


def to_local(zone: ZoneInfo, instant: int) -> int:
    """What clocks in a zone show at an instant."""
    aware = moment(instant).replace(tzinfo=datetime.UTC).astimezone(zone)
    return micros_of(aware.replace(tzinfo=None))


def to_instant(zone: ZoneInfo, local: int) -> int:
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

_LETTERS = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)


def _pieces(pattern: str) -> list[tuple[str, str]]:
    """(letters or empty, literal text)."""
    pieces = []
    for found in _LETTERS.finditer(pattern):
        if found[1] is not None:
            pieces.append(("", found[1].replace("''", "'") or "'"))
        elif found[2]:
            pieces.append((found[0], ""))
        else:
            pieces.append(("", found[0]))
    return pieces


_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _format_piece(letters: str, at: datetime.datetime) -> str:
    letter, width = letters[0], len(letters)
    if letter in "yu":
        return f"{at.year % 100:02d}" if width == 2 else f"{at.year:0{width}d}"
    if letter in "ML":
        if width > 2:
            name = _MONTHS.split()[at.month - 1]
            return name[:3] if width == 3 else name
        return f"{at.month:0{width}d}"
    if letter == "E":
        name = _DAYS.split()[at.weekday()]
        return name if width > 3 else name[:3]
    if letter == "a":
        return "AM" if at.hour < 12 else "PM"
    if letter == "S":
        return f"{at.microsecond:06d}000000"[:width]
    if letter == "D":
        return f"{at.timetuple().tm_yday:0{width}d}"
    number = {
        "d": at.day,
        "H": at.hour,
        "h": at.hour % 12 or 12,
        "m": at.minute,
        "s": at.second,
        "k": at.hour or 24,
        "K": at.hour % 12,
        "e": at.isoweekday(),
    }.get(letter)
    if number is None:
        raise HeadraceError(f"the letter {letter!r} of a date format is not supported")
    return f"{number:0{width}d}"


_HOUR = 3_600_000_000
_STEPS = {
    **dict.fromkeys("yuMLdEeD", DAY),
    **dict.fromkeys("aHhkK", _HOUR),
    "m": 60_000_000,
    "s": 1_000_000,
}
"""How long the text of a letter stays the same, in microseconds."""


@lru_cache(256)
def _step_of(pattern: str) -> int:
    """How long a pattern gives one text: timestamps of a stream are mostly close together."""
    letters = (let[0] for let, _ in _pieces(pattern) if let)
    return min((_STEPS.get(letter, 1) for letter in letters), default=DAY)


@lru_cache(1024)
def _formatted(micros: int, pattern: str) -> str:
    at = moment(micros)
    return "".join(lit or _format_piece(let, at) for let, lit in _pieces(pattern))


def format_moment(micros: int, pattern: str) -> str:
    """A timestamp as a pattern wants it."""
    return _formatted(micros - micros % _step_of(pattern), pattern)


_GROUPS = {"y": "Y", "u": "Y", "M": "M", "d": "D", "H": "H", "m": "m", "s": "s", "S": "f"}


@lru_cache(256)
def _parser(pattern: str) -> re.Pattern[str]:
    out = []
    for letters, literal in _pieces(pattern):
        if not letters:
            out.append(re.escape(literal))
        elif letters[0] == "a":
            out.append("(?P<a>[AaPp][Mm])")
        elif letters[:3] == "MMM":
            out.append("(?P<N>[A-Za-z]+)")
        elif letters[0] == "h":
            out.append(f"(?P<h>\\d{{{len(letters)},2}})")
        elif letters[0] in _GROUPS:
            width = len(letters)
            most = 9 if letters[0] == "S" else max(width, 4 if letters[0] in "yu" else 2)
            least = 1 if letters[0] == "S" else width
            out.append(f"(?P<{_GROUPS[letters[0]]}>\\d{{{least},{most}}})")
        else:
            raise HeadraceError(f"the letter {letters[0]!r} of a date format is not supported")
    return re.compile("".join(out))


def parse_moment(text: str, pattern: str) -> int | None:
    """The timestamp of a text; None if it is none."""
    found = _parser(pattern).fullmatch(text.strip())
    if found is None:
        return None
    part = found.groupdict()
    fraction = ((part.get("f") or "") + "000000")[:6]
    hour = int(part.get("H") or 0)
    if part.get("h") is not None:
        hour = int(part["h"]) % 12 + (12 if (part.get("a") or "").upper() == "PM" else 0)
    month = int(part.get("M") or 1)
    if part.get("N"):
        names = [m[: len(part["N"])].lower() for m in _MONTHS.split()]
        if part["N"].lower() not in names:
            return None
        month = names.index(part["N"].lower()) + 1
    try:
        at = datetime.datetime(
            int(part.get("Y") or 1970),
            month,
            int(part.get("D") or 1),
            hour,
            int(part.get("m") or 0),
            int(part.get("s") or 0),
            int(fraction),
        )
    except ValueError:
        return None
    return micros_of(at)


_TIMESTAMP = re.compile(
    r"(\d{1,4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?"
)
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?")


def parse_timestamp(text: str) -> int | None:
    """`2020-01-31 10:20:30.123`, the time may be missing; None if the text is not a timestamp."""
    found = _TIMESTAMP.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(g or 0) for g in found.groups()[:6])
    try:
        at = datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    return micros_of(at) + int(((found[7] or "") + "000000")[:6])


def parse_date(text: str) -> int | None:
    """`2020-01-31`; None if the text is not a date."""
    micros = parse_timestamp(text)
    return None if micros is None else micros // DAY


def parse_time(text: str) -> int | None:
    """`10:20:30.123`; None if the text is not a time."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        return None
    hour, minute, second = (int(g or 0) for g in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int(((found[4] or "") + "000000")[:6])
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction


def unix_timestamp(zone: ZoneInfo, text: str, pattern: str = DEFAULT_FORMAT) -> int:
    found = parse_moment(text, pattern)
    return -(1 << 63) if found is None else to_instant(zone, found) // 1_000_000


def from_unixtime(zone: ZoneInfo, seconds: int, pattern: str = DEFAULT_FORMAT) -> str:
    return format_moment(to_local(zone, seconds * 1_000_000), pattern)


def to_timestamp(text: str, pattern: str | None = None) -> int | None:
    found = parse_timestamp(text) if pattern is None else parse_moment(text, pattern)
    return None if found is None else found // 1000 * 1000


def to_timestamp_ltz(value: float, precision: int = 3) -> int | None:
    if precision not in (0, 3):
        raise HeadraceError(
            f"TO_TIMESTAMP_LTZ takes the precision 0 (seconds) or 3 (milliseconds), not {precision}"
        )
    # As in Flink, a fraction does not count.
    return int(value) * (1_000_000 if precision == 0 else 1000)


def text_to_ltz(zone: ZoneInfo, text: str, pattern: str | None = None) -> int | None:
    found = to_timestamp(text, pattern)
    # As in Flink, text without a zone is read as UTC.
    return found


def to_date(text: str, pattern: str | None = None) -> int | None:
    if pattern is None:
        return parse_date(text)
    found = parse_moment(text, pattern)
    return None if found is None else found // DAY


def date_format(value: int | str, pattern: str) -> str | None:
    if isinstance(value, str):
        found = parse_timestamp(value)
        return None if found is None else format_moment(found, pattern)
    return format_moment(value, pattern)


def date_format_ltz(zone: ZoneInfo, value: int, pattern: str) -> str:
    return format_moment(to_local(zone, value), pattern)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise HeadraceError(
            f"{name[:50]!r} is not a time zone; write one such as 'Europe/Berlin' or 'UTC'"
        ) from None


def convert_tz(text: str, source: str, target: str) -> str | None:
    found = parse_moment(text, DEFAULT_FORMAT)
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


_FIXED = {
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
}


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
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120}[unit]
    return add_months(floored, months)


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
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)
    if months is None:
        raise HeadraceError(f"the difference of timestamps cannot be counted in {unit}")
    first, second = moment(start), moment(end)
    count = (second.year - first.year) * 12 + second.month - first.month
    if count > 0 and add_months(start, count) > end:
        count -= 1
    elif count < 0 and add_months(start, count) < end:
        count += 1
    return count // months if count >= 0 else -(-count // months)
