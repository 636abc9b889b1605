"""Evictors take records out of a window before or after it is evaluated.

With an evictor the window keeps every record with its timestamp; nothing is aggregated beforehand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.common.errors import GraphError
from headrace.common.time import Duration, Time, to_millis
from headrace.datastream.window.triggers import DeltaFunction, as_delta
from headrace.datastream.window.windows import Window

if TYPE_CHECKING:
    from headrace.metrics import MetricGroup

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TimestampedValue(Generic[T]):
    """A record in a window with its timestamp, or None without one."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: T, timestamp: int | None = None) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> T:
        """Returns the record."""
        return self.value

    def get_timestamp(self) -> int:
        """Returns the timestamp; refused if there is none."""
        if self.timestamp is None:
            raise GraphError(
                "the record has no timestamp; call "
                "assign_timestamps_and_watermarks(...) before the window, or check has_timestamp()"
            )
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Returns whether there is a timestamp."""
        return self.timestamp is not None

    def __eq__(self, other: object) -> bool:
        """Equal if record and timestamp are."""
        return (
            isinstance(other, TimestampedValue)
            and self.timestamp == other.timestamp
            and bool(self.value == other.value)
        )

    def __hash__(self) -> int:
        """Hashes record and timestamp."""
        return hash((self.value, self.timestamp))

    def __repr__(self) -> str:
        """Shows record and timestamp."""
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class Evictor(ABC, Generic[T, W]):
    """Takes records out of a window.

    When a window fires, the operator loads its records in order of arrival, calls `evict_before`,
    evaluates what is left, calls `evict_after`, and keeps what is left then. Both methods change
    the list in place.
    """

    class EvictorContext(ABC):
        """Clocks of the window operator."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Returns the processing time in milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """Returns the window operator's metric group."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Returns the window operator's watermark in milliseconds."""

    @abstractmethod
    def evict_before(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Called before the window is evaluated; removes records from `elements`.

        Args:
            elements: The window's records in order of arrival.
            size: Their number.
            window: The window.
            evictor_context: Clocks.
        """

    @abstractmethod
    def evict_after(
        self,
        elements: list[TimestampedValue[T]],
        size: int,
        window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Called after the window was evaluated; removes records from `elements`."""


class _OneSidedEvictor(Evictor[Any, Window]):
    def __init__(self, do_evict_after: bool) -> None:
        self._do_evict_after = do_evict_after

    def evict_before(
        self,
        elements: list[TimestampedValue[Any]],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Evicts, unless the evictor is set to do it afterwards."""
        if not self._do_evict_after:
            self._evict(elements)

    def evict_after(
        self,
        elements: list[TimestampedValue[Any]],
        size: int,
        window: Window,
        evictor_context: Evictor.EvictorContext,
    ) -> None:
        """Evicts, if the evictor is set to do it afterwards."""
        if self._do_evict_after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[Any]]) -> None: ...


class CountEvictor(_OneSidedEvictor):
    """Keeps the last so many records and removes the older ones.

    Args:
        max_count: How many records are kept.
        do_evict_after: Evict after instead of before the window is evaluated.
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        if max_count < 0:
            raise GraphError(f"CountEvictor cannot keep {max_count} records; use zero or more")
        self._max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Returns an evictor that keeps that many records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]

    def __repr__(self) -> str:
        """Shows the number."""
        return f"CountEvictor({self._max_count})"


class DeltaEvictor(_OneSidedEvictor):
    """Removes the records that are as far as a threshold, or farther, from the last one.

    Args:
        threshold: The distance from which records are removed.
        delta_function: A `DeltaFunction`, or a callable of a record and the last record.
        do_evict_after: Evict after instead of before the window is evaluated.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after)
        self._threshold = threshold
        self._delta = as_delta(delta_function)

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """Returns an evictor with that threshold and distance."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if elements:
            last = elements[-1].value
            delta, threshold = self._delta, self._threshold
            elements[:] = [e for e in elements if not delta(e.value, last) >= threshold]

    def __repr__(self) -> str:
        """Shows distance and threshold."""
        return f"DeltaEvictor({self._delta!r}, {self._threshold})"


class TimeEvictor(_OneSidedEvictor):
    """Keeps the records of a time span up to the largest timestamp in the window.

    Records without timestamps are all kept.

    Args:
        window_size: The time span.
        do_evict_after: Evict after instead of before the window is evaluated.
    """

    def __init__(
        self, window_size: Time | Duration | timedelta | int, do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        self._window_size_ms = to_millis(window_size, "the time span of TimeEvictor")

    @staticmethod
    def of(
        window_size: Time | Duration | timedelta | int, do_evict_after: bool = False
    ) -> TimeEvictor:
        """Returns an evictor that keeps that time span."""
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        # As in Flink the first record tells whether the stream has timestamps at all.
        if not elements or elements[0].timestamp is None:
            return
        cutoff = max(e.get_timestamp() for e in elements) - self._window_size_ms
        elements[:] = [e for e in elements if e.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        """Shows the time span."""
        return f"TimeEvictor({self._window_size_ms})"
