"""Which directory a record goes to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.java.time_patterns import time_formatter

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

    def buckets_of(self, elements: Sequence[Any]) -> list[str] | None:
        """The buckets of many records; None if they are asked for one by one, with a context."""
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
        time_formatter(self.format_str)

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        """The bucket of the current processing time."""
        return self.bucket_at(context.current_processing_time())

    def bucket_at(self, processing_time_ms: int) -> str:
        """The bucket of a time."""
        return _bucket_of_second(self.format_str, self.timezone_id, processing_time_ms // 1000)


@lru_cache(maxsize=16)
def _bucket_of_second(format_str: str, timezone_id: str | None, second: int) -> str:
    return time_formatter(format_str)(datetime.fromtimestamp(second, _zone(timezone_id)))


def _zone(timezone_id: str | None) -> tzinfo | None:
    if timezone_id is None:
        return None
    try:
        return ZoneInfo(timezone_id)
    except (ValueError, OSError, TypeError, KeyError) as error:
        raise GraphError(
            f"unknown time zone {timezone_id!r}; use a name such as 'UTC' or 'Europe/Berlin'"
        ) from error
