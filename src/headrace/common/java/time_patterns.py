"""Patterns of Java's `DateTimeFormatter`, such as `yyyy-MM-dd HH:mm:ss`: times to text and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from headrace.common.errors import GraphError

__all__ = ["time_formatter", "time_parser", "unchanging_micros"]

_PIECES = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "e": lambda t: t.isoweekday(),
    "w": lambda t: t.isocalendar()[1],
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "h": lambda t: t.hour % 12 or 12,
    "K": lambda t: t.hour % 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "Q": lambda t: (t.month + 2) // 3,
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
    if letter in "yu":
        return lambda t: f"{t.year % 100:02d}" if width == 2 else f"{t.year:0{width}d}"
    if letter in "ML" and width > 2:
        return _name(_MONTHS, lambda t: t.month - 1, short=width == 3)
    if letter == "E":
        return _name(_DAYS, lambda t: t.weekday(), short=width <= 3)
    if letter == "a":
        return lambda t: "AM" if t.hour < 12 else "PM"
    if letter == "S":
        return lambda t: f"{t.microsecond:06d}".ljust(width, "0")[:width]
    if letter not in _NUMBERS or width > 3:
        raise _unsupported(letters)
    number = _NUMBERS[letter]
    return lambda t: f"{number(t):0{width}d}"


def _name(names: str, place: Callable[[datetime], int], short: bool) -> Callable[[datetime], str]:
    found = [name[:3] if short else name for name in names.split()]
    return lambda t: found[place(t)]


_DAY = 86_400_000_000
_STEPS = {
    **dict.fromkeys("yuMLdEewDQ", _DAY),
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


def _expression(pattern: str) -> re.Pattern[str]:
    out = []
    for letters, literal in _pieces(pattern):
        width = len(letters)
        if not letters:
            out.append(re.escape(literal))
        elif letters[0] == "a":
            out.append("(?P<a>[AaPp][Mm])")
        elif letters[:3] == "MMM":
            out.append("(?P<N>[A-Za-z]+)")
        elif letters[0] == "h":
            out.append(f"(?P<h>\\d{{{width},2}})")
        elif letters[0] in _GROUPS:
            most = 9 if letters[0] == "S" else max(width, 4 if letters[0] in "yu" else 2)
            least = 1 if letters[0] == "S" else width
            out.append(f"(?P<{_GROUPS[letters[0]]}>\\d{{{least},{most}}})")
        else:
            raise _unsupported(letters)
    return re.compile("".join(out))


@lru_cache(256)
def time_parser(pattern: str, more: bool = False) -> Callable[[str], datetime | None]:
    """What makes a time of a text by a pattern; None if the text does not have that form.

    With `more`, anything may come behind it.
    """
    expression = _expression(pattern)
    match = expression.match if more else expression.fullmatch

    def parse(text: str) -> datetime | None:
        found = match(text.strip())
        return None if found is None else _time_of(found.groupdict())

    return parse


def _time_of(part: dict[str, str | None]) -> datetime | None:
    fraction = ((part.get("f") or "") + "000000")[:6]
    hour = int(part.get("H") or 0)
    if part.get("h") is not None:
        hour = int(part["h"] or 0) % 12 + (12 if (part.get("a") or "").upper() == "PM" else 0)
    month, name = int(part.get("M") or 1), (part.get("N") or "").lower()
    if name:
        names = [m[: len(name)].lower() for m in _MONTHS.split()]
        month = names.index(name) + 1 if name in names else 0
    try:
        return datetime(
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
