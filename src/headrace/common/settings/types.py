"""The types that a configuration option can have, and how each reads a value.

Every type takes values as files and command lines give them (text) and as code gives them (Python
objects), and raises a `ConfigurationError` that names the key, the value and what is expected.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from headrace.common.errors import ConfigurationError
from headrace.common.java.text import double_text
from headrace.common.settings.secrets import MASK, is_secret, masked
from headrace.common.time import Duration, Time, to_millis

__all__ = [
    "BOOLEAN",
    "DOUBLE",
    "DURATION",
    "INT",
    "LIST",
    "LONG",
    "MAP",
    "MAPS",
    "MEMORY",
    "STRING",
    "OptionType",
    "choice",
    "ranged",
    "text_of",
]

T = TypeVar("T")
N = TypeVar("N", int, float)


@dataclass(frozen=True)
class OptionType(Generic[T]):
    """One type of option: a name for the documentation, and a way to read values.

    `read` raises `ValueError` or `TypeError` for what it cannot take.
    """

    name: str
    expected: str
    read: Callable[[Any], T]

    def parse(self, key: str, value: Any) -> T:
        """Reads a value, or raises a `ConfigurationError` about `key`."""
        try:
            return self.read(value)
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            shown = MASK if is_secret(key) else masked(repr(value))
            raise ConfigurationError(
                f"Could not parse value {shown} for key {key!r}: expected {self.expected}",
                key=key,
                value=value,
            ) from error


def text_of(value: Any) -> str:
    """A value as it would be written in a file, so that its option's type reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, datetime.timedelta):
        value = Duration.of(value)
    if isinstance(value, (Duration, Time)):
        return f"{to_millis(value)} ms"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, Mapping):
        return ",".join(
            f"{_quoted(text_of(k), ',:')}:{_quoted(text_of(v), ',:')}" for k, v in value.items()
        )
    if isinstance(value, (list, tuple, set, frozenset)):
        return ";".join(_quoted(text_of(item), ";") for item in value)
    return str(value)


def _quoted(text: str, special: str) -> str:
    if any(c in text for c in special + "'"):
        return "'" + text.replace("'", "''") + "'"
    return text


def _pieces(text: str, separator: str) -> list[str]:
    """Splits at separators that are not inside single or double quotes; quotes stay."""
    pieces = [""]
    quote = ""
    for c in text:
        if c == separator and not quote:
            pieces.append("")
            continue
        if c in "'\"" and quote in ("", c):
            quote = "" if quote else c
        pieces[-1] += c
    if quote:
        raise ValueError(f"unbalanced {quote} in {text!r}")
    return pieces


def _unquoted(piece: str) -> str:
    piece = piece.strip()
    if len(piece) > 1 and piece[0] in "'\"" and piece[-1] == piece[0]:
        return piece[1:-1].replace(piece[0] * 2, piece[0])
    return piece


def _read_string(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple)) or value is None:
        raise TypeError(type(value).__name__)
    return text_of(value)


def _read_whole(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("bool")
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not value.is_integer():
            raise ValueError(value)
        return int(value)
    if isinstance(value, str):
        return int(value.strip())
    raise TypeError(type(value).__name__)


def _whole_of(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        number = _read_whole(value)
        if not -(1 << bits - 1) <= number < 1 << bits - 1:
            raise ValueError(number)
        return number

    return read


def _read_double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(type(value).__name__)
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _read_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise ValueError(value)
    return text == "true"


_DURATION_UNITS = {
    **dict.fromkeys(("d", "day", "days"), 86_400_000_000_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000_000_000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000_000_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    **dict.fromkeys(("µs", "us", "micro", "micros", "microsecond", "microseconds"), 1_000),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
}
_NUMBER_AND_UNIT = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)
_ISO_DURATION = re.compile(
    r"\s*P(?:(?P<d>\d+)D)?(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d{1,9})?)S)?)?\s*",
    re.IGNORECASE,
)


def _read_duration(value: Any) -> datetime.timedelta:
    if isinstance(value, str):
        return datetime.timedelta(microseconds=_duration_nanos(value) / 1_000)
    return datetime.timedelta(milliseconds=to_millis(value))


def _duration_nanos(text: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match:
        unit = _DURATION_UNITS.get(match[2].lower())
        if unit is None:
            raise ValueError(text)
        return int(match[1]) * unit
    match = _ISO_DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        raise ValueError(text)
    seconds = (
        int(match["d"] or 0) * 86_400 + int(match["h"] or 0) * 3_600 + int(match["m"] or 0) * 60
    )
    whole, _, fraction = (match["s"] or "0").partition(".")
    return (seconds + int(whole)) * 1_000_000_000 + int(fraction.ljust(9, "0"))


_MEMORY_UNITS = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 0),
    **dict.fromkeys(("k", "kb", "kib", "kibibytes"), 1),
    **dict.fromkeys(("m", "mb", "mib", "mebibytes"), 2),
    **dict.fromkeys(("g", "gb", "gib", "gibibytes"), 3),
    **dict.fromkeys(("t", "tb", "tib", "tebibytes"), 4),
}


def _read_memory(value: Any) -> int:
    if not isinstance(value, str):
        number = _read_whole(value)
        if number < 0:
            raise ValueError(number)
        return number
    match = _NUMBER_AND_UNIT.fullmatch(value)
    if match is None or match[2].lower() not in _MEMORY_UNITS:
        raise ValueError(value)
    return int(match[1]) * int(math.pow(1024, _MEMORY_UNITS[match[2].lower()]))


def _flow(text: str, opening: str) -> Any:
    """The YAML value of text in flow style ([a, b] or {a: b}); None if it is not in that style."""
    if not text.lstrip().startswith(opening):
        return None
    import yaml  # late: slots start without it

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(text) from error


def _read_list(value: Any) -> list[str]:
    if isinstance(value, str):
        if not value.strip():
            return []
        flow = _flow(value, "[")
        if flow is None:
            separator = ";" if ";" in value else ","
            flow = [_unquoted(piece) for piece in _pieces(value, separator)]
        value = flow
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TypeError(type(value).__name__)
    return [text_of(item) for item in value if item != ""]


def _read_map(value: Any) -> dict[str, str]:
    if isinstance(value, str):
        if not value.strip():
            return {}
        flow = _flow(value, "{")
        value = dict(map(_pair, _pieces(value, ","))) if flow is None else flow
    if not isinstance(value, Mapping):
        raise TypeError(type(value).__name__)
    return {text_of(k): text_of(v) for k, v in value.items()}


def _read_maps(value: Any) -> list[dict[str, str]]:
    if isinstance(value, str):
        value = _flow(value, "[") or [piece for piece in _pieces(value, ";") if piece.strip()]
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise TypeError(type(value).__name__)
    return [_read_map(_unquoted(item) if isinstance(item, str) else item) for item in value]


def _pair(text: str) -> tuple[str, str]:
    key, *rest = _pieces(text, ":")
    if not rest:
        raise ValueError(text)
    return _unquoted(key), _unquoted(":".join(rest))


STRING: OptionType[str] = OptionType("String", "a text", _read_string)
INT: OptionType[int] = OptionType("Integer", "a whole number of 32 bits", _whole_of(32))
LONG: OptionType[int] = OptionType("Long", "a whole number of 64 bits", _whole_of(64))
DOUBLE: OptionType[float] = OptionType("Double", "a number", _read_double)
BOOLEAN: OptionType[bool] = OptionType("Boolean", "true or false", _read_boolean)
DURATION: OptionType[datetime.timedelta] = OptionType(
    "Duration",
    "a duration such as '200 ms', '10 s', '1 min', '2 h', '1 d', ISO-8601 'PT10S', "
    "or a number of milliseconds",
    _read_duration,
)
MEMORY: OptionType[int] = OptionType(
    "MemorySize", "a size such as '64mb', '1 g', or a number of bytes", _read_memory
)
LIST: OptionType[list[str]] = OptionType(
    "List", "a list such as 'a;b', 'a,b' or '[a, b]'", _read_list
)
MAP: OptionType[dict[str, str]] = OptionType(
    "Map", "a map such as 'k1:v1,k2:v2' or '{k1: v1, k2: v2}'", _read_map
)
MAPS: OptionType[list[dict[str, str]]] = OptionType(
    "List of maps", "a list of maps such as 'k1:v1,k2:v2;k1:v3,k2:v4'", _read_maps
)


def ranged(option_type: OptionType[N], least: float, most: float | None = None) -> OptionType[N]:
    """A type of numbers that takes none below `least` or above `most`."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def read(value: Any) -> N:
        number = option_type.read(value)
        if number < least or (most is not None and number > most):
            raise ValueError(number)
        return number

    return OptionType(option_type.name, f"{option_type.expected} {limits}", read)


def choice(*names: str, **aliases: str) -> OptionType[str]:
    """A type whose values are a few names; reading ignores case and takes `_` for `-`.

    Args:
        names: The values, as they are returned.
        aliases: Further spellings, each with the value it stands for.
    """

    def fold(text: str) -> str:
        return text.strip().lower().replace("_", "-")

    known = {fold(name): name for name in names} | {fold(k): v for k, v in aliases.items()}

    def read(value: Any) -> str:
        if isinstance(value, Enum):
            value = value.name
        # YAML reads a bare `off` or `none`-like word as a boolean; accept what was meant.
        text = text_of(value) if not isinstance(value, str) else value
        folded = fold(text)
        if folded not in known:
            raise ValueError(value)
        return known[folded]

    return OptionType("Enum", "one of " + ", ".join(names), read)
