"""Assigners for sessions: windows that merge, and end after a gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError, shorten_repr
from headrace.common.time import to_millis
from headrace.datastream.window.assigner import (
    AmountOfTime,
    MergingWindowAssigner,
    TimeWindowAssigner,
    WindowAssigner,
    missing_timestamp,
    positive_millis,
)
from headrace.datastream.window.windows import TimeWindow

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


class SessionWindowTimeGapExtractor(ABC):
    """Gives each record its own session gap."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Called for each record; returns the gap after it in milliseconds, at least 1."""


class _SessionWindows(TimeWindowAssigner, MergingWindowAssigner[Any, TimeWindow]):
    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        """Merges windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns a window from the time of the record to the end of the gap."""
        if not self._EVENT_TIME:
            timestamp = context.get_current_processing_time()
        elif timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise missing_timestamp(self)
        return [TimeWindow(timestamp, timestamp + self._gap_after(element))]

    @abstractmethod
    def _gap_after(self, element: Any) -> int: ...


class _FixedGapWindows(_SessionWindows):
    def __init__(self, session_gap: AmountOfTime) -> None:
        self._session_gap = positive_millis(type(self).__name__, "gap", session_gap)

    @property
    def session_gap(self) -> int:
        """The gap that ends a session, in milliseconds."""
        return self._session_gap

    def _gap_after(self, element: Any) -> int:
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGapWindows(_SessionWindows):
    def __init__(
        self,
        session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> None:
        extractor = session_window_time_gap_extractor
        self._extract: Callable[[Any], AmountOfTime]
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            self._extract = extractor.extract
        elif callable(extractor) and not isinstance(extractor, type):
            self._extract = extractor
        else:
            raise FunctionTypeError(
                f"{type(self).__name__} needs a SessionWindowTimeGapExtractor or a callable, not "
                f"{extractor!r}"
            )

    def _gap_after(self, element: Any) -> int:
        gap = self._extract(element)
        if type(gap) is not int:
            gap = to_millis(gap, "a session gap")
        if gap <= 0:
            raise GraphError(
                "Dynamic session time gap must satisfy 0 < gap: the session gap of "
                f"{shorten_repr(element)} must be at least one millisecond, but the extractor "
                f"returned {gap}"
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EventTimeSessionWindows(_FixedGapWindows):
    """Sessions that end after a gap in event time.

    Args:
        session_gap: The gap: milliseconds or an amount of time.
    """

    _EVENT_TIME = True

    @staticmethod
    def with_gap(size: AmountOfTime) -> EventTimeSessionWindows:
        """Returns an assigner for sessions that end after that gap."""
        return EventTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows:
        """Returns an assigner for sessions with a gap that depends on the record."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGapWindows):
    """Sessions that end after a gap in processing time.

    Args:
        session_gap: The gap: milliseconds or an amount of time.
    """

    _EVENT_TIME = False

    @staticmethod
    def with_gap(size: AmountOfTime) -> ProcessingTimeSessionWindows:
        """Returns an assigner for sessions that end after that gap."""
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows:
        """Returns an assigner for sessions with a gap that depends on the record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGapWindows):
    """Sessions by event time with a gap that depends on the record.

    Args:
        session_window_time_gap_extractor: Gives the gap after a record; may be a callable.
    """

    _EVENT_TIME = True

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicEventTimeSessionWindows:
        """Returns an assigner for sessions with that gap."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGapWindows):
    """Sessions by processing time with a gap that depends on the record.

    Args:
        session_window_time_gap_extractor: Gives the gap after a record; may be a callable.
    """

    _EVENT_TIME = False

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ) -> DynamicProcessingTimeSessionWindows:
        """Returns an assigner for sessions with that gap."""
        return DynamicProcessingTimeSessionWindows(extractor)
