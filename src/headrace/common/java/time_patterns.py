"""Patterns of Java's `DateTimeFormatter`, such as `yyyy-MM-dd HH:mm:ss`: times to text and back."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from functools import lru_cache

from headrace.common.errors import GraphError

__all__ = [
    "parsed_with_offset",
    "resolved",
    "time_formatter",
    "time_parser",
    "unchanging_micros",
]

_PIECES = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_MONTHS = "January February March April May June July August September October November December"
_QUARTERS = "Q1 Q2 Q3 Q4", "1st_quarter 2nd_quarter 3rd_quarter 4th_quarter", "1 2 3 4"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def _week(time: datetime) -> tuple[int, int]:
    """Year and number of a week: weeks begin on Sundays, and January 1 is in the first."""
    saturday = time + timedelta(days=6 - time.isoweekday() % 7)
    return saturday.year, (saturday.timetuple().tm_yday + 6) // 7


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "F": lambda t: (t.day - 1) % 7 + 1,
    "e": lambda t: t.isoweekday() % 7 + 1,
    "c": lambda t: t.isoweekday() % 7 + 1,
    "w": lambda t: _week(t)[1],
    "W": lambda t: (t.day + 12 - t.isoweekday() % 7) // 7,
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "h": lambda t: t.hour % 12 or 12,
    "K": lambda t: t.hour % 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "Q": lambda t: (t.month + 2) // 3,
    "q": lambda t: (t.month + 2) // 3,
}
_OFFSET = re.compile(r"(.*?)(?:Z|([+-])(\d\d):?(\d\d)?)")
_WIDEST = {"D": 3, "F": 1, "W": 1, "c": 1}


def _day_micros(time: datetime) -> int:
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond


_OF_DAY: dict[str, Callable[[datetime], int]] = {
    "n": lambda t: t.microsecond * 1000,
    "N": lambda t: _day_micros(t) * 1000,
    "A": lambda t: _day_micros(t) // 1000,
}


def _pieces(pattern: str) -> list[tuple[str, str]]:
    """(letters or empty, literal text)."""
    pieces, end = [], 0
    for found in _PIECES.finditer(pattern):
        if found.start() != end:
            break
        end = found.end()
        if found[1] is not None:
            pieces.append(("", found[1].replace("''", "'") or "'"))
        else:
            pieces.append((found[0], "") if found[2] else ("", found[0]))
    if end != len(pattern):
        raise GraphError(f"date format {pattern!r} has an unterminated quote")
    return pieces


def _unsupported(letters: str) -> GraphError:
    return GraphError(
        f"the letter {letters[0]!r} of a date format is not supported; use y M d H m s, and put "
        "text between quotes"
    )


@lru_cache(256)
def time_formatter(pattern: str) -> Callable[[datetime], str]:
    """What makes the text of a time by a pattern."""
    pieces = [_literal(text) if text else _formatter(letters) for letters, text in _pieces(pattern)]
    return lambda time: "".join([piece(time) for piece in pieces])


def _literal(text: str) -> Callable[[datetime], str]:
    return lambda time: text


def _formatter(letters: str) -> Callable[[datetime], str]:
    letter, width = letters[0], len(letters)
    if letter in "yuY":
        year: Callable[[datetime], int] = (
            (lambda t: _week(t)[0]) if letter == "Y" else (lambda t: t.year)
        )
        return lambda t: f"{year(t) % 100:02d}" if width == 2 else f"{year(t):0{width}d}"
    if letter in "ML" and width > 2:
        return _name(_MONTHS, lambda t: t.month - 1, width)
    if letter == "E" or (letter in "ec" and width > 2):
        return _name(_DAYS, lambda t: t.weekday(), max(width, 3))
    if letter in "Qq" and width > 2:
        return _name(_QUARTERS[min(width, 5) - 3], lambda t: (t.month - 1) // 3, 4)
    if letter == "a" and width == 1:
        return lambda t: "AM" if t.hour < 12 else "PM"
    if letter == "G":
        era = {4: "Anno Domini", 5: "A"}.get(width, "AD")
        return lambda t: era
    if letter in _OF_DAY:
        return lambda t: f"{_OF_DAY[letter](t):0{width}d}"
    if letter == "S":
        return lambda t: f"{t.microsecond:06d}".ljust(width, "0")[:width]
    if letter not in _NUMBERS or width > _WIDEST.get(letter, 2):
        raise _unsupported(letters)
    number = _NUMBERS[letter]
    return lambda t: f"{number(t):0{width}d}"


def _name(names: str, place: Callable[[datetime], int], width: int) -> Callable[[datetime], str]:
    """Names: three letters for a width of 3, whole ones for 4, and one letter for 5."""
    length = {3: 3, 4: None, 5: 1}[width]
    found = [name[:length].replace("_", " ") for name in names.split()]
    return lambda t: found[place(t)]


_DAY = 86_400_000_000
_STEPS = {
    **dict.fromkeys("yuYMLdEecwWFDQqG", _DAY),
    **dict.fromkeys("aHhkK", 3_600_000_000),
    "m": 60_000_000,
    "s": 1_000_000,
}


@lru_cache(256)
def unchanging_micros(pattern: str) -> int:
    """How long a pattern gives one text, in microseconds: times of a stream are close together."""
    letters = (letters[0] for letters, _ in _pieces(pattern) if letters)
    return min((_STEPS.get(letter, 1) for letter in letters), default=_DAY)


# Text to times.

_GROUPS = {"y": "Y", "u": "Y", "M": "M", "d": "D", "H": "H", "m": "m", "s": "s", "S": "f"}


_ZONES = dict.fromkeys("XxZO", r"(?:Z|(?:GMT)?[+-]\d{1,2}(?::?\d{2}){0,2}|GMT)")
_ZONES |= dict.fromkeys("zV", r"[A-Za-z]+(?:[/_+-]\w+)*")


def _names(names: str, width: int) -> str:
    return "|".join(name[:3] if width == 3 else name for name in names.split())


def _expression(pattern: str, lenient: bool) -> re.Pattern[str]:
    out = []
    pieces = _pieces(pattern)
    for index, (letters, literal) in enumerate(pieces):
        width = len(letters)
        # Only digits that follow one another need all places to be told apart.
        around = [*pieces[max(index - 1, 0) : index], *pieces[index + 1 : index + 2]]
        least = width if any(x and x[0] not in "aE" for x, _ in around) else 1
        if not letters:
            out.append(re.escape(literal))
        elif letters[0] == "a":
            out.append("(?P<a>AM|PM)")
        elif letters[:3] == "MMM":
            out.append(f"(?P<N>{_names(_MONTHS, width)})")
        elif letters[0] == "E":
            out.append(f"(?P<E>{_names(_DAYS, max(width, 3))})")
        elif letters[0] in "hK":
            out.append(f"(?P<h>\\d{{{least},2}})")
        elif letters[0] == "k":
            out.append(f"(?P<k>\\d{{{least},2}})")
        elif letters[0] in _ZONES and not lenient:
            # As in Flink, a zone must be there, and does not count.
            out.append(_ZONES[letters[0]])
        elif letters[0] in _GROUPS:
            most = 9 if letters[0] == "S" else max(width, 4 if letters[0] in "yu" else 2)
            out.append(f"(?P<{_GROUPS[letters[0]]}>\\d{{{least},{most}}})")
        else:
            raise _unsupported(letters)
    return re.compile("".join(out), re.IGNORECASE if lenient else 0)


@lru_cache(256)
def time_parser(pattern: str, lenient: bool = False) -> Callable[[str], datetime | None]:
    """What makes a time of a text by a pattern; None if the text does not have that form.

    As Java's `SimpleDateFormat`, a lenient one goes on counting, from February 30 to March 1, and
    anything may come behind the time.
    """
    expression = _expression(pattern, lenient)
    match, resolve = (expression.match, counted) if lenient else (expression.fullmatch, resolved)

    def parse(text: str) -> datetime | None:
        found = match(text.strip())
        return None if found is None else _time_of(found.groupdict(), resolve)

    return parse


def parsed_with_offset(pattern: str, text: str) -> datetime | None:
    """The time of a text, with its offset from UTC if the pattern ends in `X`, `XXX` or `Z`."""
    local = pattern.rstrip("XZ")
    if local == pattern:
        return time_parser(pattern, lenient=True)(text)
    found = _OFFSET.fullmatch(text.strip())
    time = None if found is None else time_parser(local.rstrip(), lenient=True)(found[1])
    if found is None or time is None:
        return None
    minutes = int(found[3] or 0) * 60 + int(found[4] or 0)
    offset = timedelta(minutes=-minutes if found[2] == "-" else minutes)
    return time.replace(tzinfo=timezone(offset))


def resolved(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> datetime | None:
    """A time as Java's `DateTimeFormatter` takes it; None if there is none.

    Days up to 31 that a month does not have are its last one, and 24:00 is the next day.
    """
    try:
        last = monthrange(year, month)[1]
        time = datetime(
            year, month, min(day, last) if day <= 31 else day, hour % 24, minute, second
        )
        if hour < 24:
            return time
        return time + timedelta(days=1) if (hour, minute, second) == (24, 0, 0) else None
    except (ValueError, OverflowError):
        return None


def counted(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0
) -> datetime | None:
    """A time whose parts may be too large: they are counted on from the part before."""
    years, month = divmod(month - 1, 12)
    try:
        start = datetime(year + years, month + 1, 1)
        return start + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError):
        return None


def _other_day(time: datetime, name: str) -> bool:
    return not _DAYS.split()[time.weekday()].startswith(name.title())


def _time_of(
    part: dict[str, str | None], resolve: Callable[..., datetime | None]
) -> datetime | None:
    fraction = ((part.get("f") or "") + "000000")[:6]
    hour = int(part.get("H") or 0) or int(part.get("k") or 0) % 24
    if part.get("h") is not None:
        hour = int(part["h"] or 0) % 12 + (12 if (part.get("a") or "").upper() == "PM" else 0)
    month = int(part.get("M") or 1)
    if part.get("N"):
        month = [m[:3] for m in _MONTHS.split()].index((part["N"] or "")[:3].title()) + 1
    year = part.get("Y") or "1970"
    time = resolve(
        int(year) + (2000 if len(year) == 2 else 0),
        month,
        int(part.get("D") or 1),
        hour,
        int(part.get("m") or 0),
        int(part.get("s") or 0),
    )
    if time is None or _other_day(time, part.get("E") or ""):
        return None
    return time.replace(microsecond=int(fraction))
