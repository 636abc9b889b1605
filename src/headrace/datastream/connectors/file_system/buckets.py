"""Which directory a record goes to."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError, GraphError

__all__ = ["BucketAssigner", "DateTimeBucketAssigner"]


class BucketAssigner(ABC):
    """Gives each record a bucket: a directory below the sink's base path.

    Subclasses implement `get_bucket_id`, and are picklable.

    Example:
        >>> class ByCountry(BucketAssigner):
        ...     def get_bucket_id(self, element, context):
        ...         return f"country={element['country']}"
    """

    class Context(ABC):
        """Passed to `get_bucket_id`; valid during the call only."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Processing time in milliseconds."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The sink's watermark in milliseconds."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's timestamp, or None if the stream has none."""

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        """The directory of a record, relative to the base path; "" is the base path itself."""

    def bucket_at(self, processing_time_ms: int) -> str | None:
        """The bucket of all records that come at a time; None if it depends on the record."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """No buckets: all files are in the base path."""
        return _BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Buckets by processing time.

        Args:
            format_str: A pattern as in Java; letters for text are put in quotes: `yyyy'-week-'ww`.
            timezone_id: Such as "Europe/Berlin" or "UTC"; that of the worker without it.
        """
        return DateTimeBucketAssigner(format_str, timezone_id)


@dataclass(frozen=True)
class _BasePathBucketAssigner(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        return ""

    def bucket_at(self, processing_time_ms: int) -> str:
        return ""


_PATTERN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+")

_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "k": lambda t: t.hour or 24,
    "h": lambda t: t.hour % 12 or 12,
    "K": lambda t: t.hour % 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
    "w": lambda t: t.isocalendar()[1],
}
_TEXTS = {"MMM": "%b", "MMMM": "%B", "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A", "a": "%p"}


@dataclass(frozen=True)
class DateTimeBucketAssigner(BucketAssigner):
    """Buckets by processing time, with a name by a pattern."""

    format_str: str
    timezone_id: str | None = None

    def __post_init__(self) -> None:
        """Check pattern and time zone where the user wrote them."""
        if not isinstance(self.format_str, str):
            raise FunctionTypeError(f"a date format must be a str, not {self.format_str!r}")
        _zone(self.timezone_id)
        _format(datetime(2000, 1, 1), self.format_str)

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        """The bucket of the current processing time."""
        return self.bucket_at(context.current_processing_time())

    def bucket_at(self, processing_time_ms: int) -> str:
        """The bucket of a time."""
        return _bucket_of_second(self.format_str, self.timezone_id, processing_time_ms // 1000)


@lru_cache(maxsize=16)
def _bucket_of_second(format_str: str, timezone_id: str | None, second: int) -> str:
    return _format(datetime.fromtimestamp(second, _zone(timezone_id)), format_str)


def _zone(timezone_id: str | None) -> tzinfo | None:
    if timezone_id is None:
        return None
    try:
        return ZoneInfo(timezone_id)
    except (ValueError, OSError, TypeError, KeyError) as error:
        raise GraphError(
            f"unknown time zone {timezone_id!r}; use a name such as 'UTC' or 'Europe/Berlin'"
        ) from error


def _format(time: datetime, pattern: str) -> str:
    """The text of a time by a pattern of Java's `DateTimeFormatter`."""
    parts, end = [], 0
    for match in _PATTERN.finditer(pattern):
        if match.start() != end:
            break
        end = match.end()
        parts.append(_part(time, match, pattern))
    if end != len(pattern):
        raise GraphError(f"date format {pattern!r} has an unterminated quote")
    return "".join(parts)


def _part(time: datetime, match: re.Match[str], pattern: str) -> str:
    text, letter = match.group(), match.group(2)
    if text.startswith("'"):
        return match.group(1).replace("''", "'") or "'"
    if letter is None:
        return text
    if letter in "yu":
        return f"{time.year % 100:02d}" if len(text) == 2 else f"{time.year:0{len(text)}d}"
    if letter == "S":
        return f"{time.microsecond:06d}".ljust(len(text), "0")[: len(text)]
    if text in _TEXTS:
        return time.strftime(_TEXTS[text])
    if letter in _NUMBERS and len(text) <= 3:
        return f"{_NUMBERS[letter](time):0{len(text)}d}"
    raise GraphError(
        f"date format {pattern!r}: {text!r} is not supported; use y M d H m s and quoted text"
    )
