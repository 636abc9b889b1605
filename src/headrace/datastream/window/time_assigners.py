"""Assigners for tumbling and sliding windows of time."""

from __future__ import annotations

import random
from enum import Enum
from typing import Any

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import to_millis
from headrace.datastream.window.assigner import (
    AmountOfTime,
    TimeWindowAssigner,
    WindowAssigner,
    missing_timestamp,
    positive_millis,
)
from headrace.datastream.window.windows import TimeWindow

__all__ = [
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowStagger",
]

#: A record may be in so many sliding windows at most, as in Flink.
MAX_WINDOW_NUM = 10_000_000


class WindowStagger(Enum):
    """How the window starts of different subtasks are spread, to spread the load of firing."""

    #: All subtasks have the same windows.
    ALIGNED = "aligned"
    #: Each subtask shifts its windows by a random amount.
    RANDOM = "random"
    #: Each subtask shifts its windows so that the first starts with its first record.
    NATURAL = "natural"

    def get_stagger_offset(self, current_processing_time: int, size: int) -> int:
        """Returns by how much a subtask shifts its windows of `size` milliseconds."""
        if self is WindowStagger.RANDOM:
            return int(random.random() * size)
        if self is WindowStagger.NATURAL:
            return current_processing_time % size
        return 0


def _checked_offset(assigner: str, offset: AmountOfTime, requirement: str, limit: int) -> int:
    millis = to_millis(offset, f"the offset of {assigner}")
    if abs(millis) >= limit:
        raise GraphError(
            f"{assigner} parameters must satisfy {requirement}: abs({millis} ms) is not less "
            f"than {limit} ms; the remainder, {millis % limit} ms, gives the same windows"
        )
    return millis


class _TumblingWindows(TimeWindowAssigner):
    def __init__(
        self,
        size: AmountOfTime,
        offset: AmountOfTime = 0,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> None:
        name = type(self).__name__
        if not isinstance(window_stagger, WindowStagger):
            raise FunctionTypeError(
                f"the stagger of {name} must be a WindowStagger, not {window_stagger!r}"
            )
        requirement = "abs(offset) < size"
        self._size = positive_millis(name, "size", size, requirement)
        self._offset = _checked_offset(name, offset, requirement, self._size)
        self._window_stagger = window_stagger
        # None until the first record of the subtask has come: the stagger may depend on its time.
        self._shift = self._offset if window_stagger is WindowStagger.ALIGNED else None

    @property
    def size(self) -> int:
        """Length of the windows in milliseconds."""
        return self._size

    @property
    def offset(self) -> int:
        """Shift of the windows against the epoch in milliseconds."""
        return self._offset

    @property
    def window_stagger(self) -> WindowStagger:
        """How subtasks spread their windows."""
        return self._window_stagger

    def get_size(self) -> int:
        """Returns the length of the windows in milliseconds."""
        return self._size

    def _assign(self, time: int, context: WindowAssigner.WindowAssignerContext) -> list[TimeWindow]:
        shift = self._shift
        if shift is None:
            now = context.get_current_processing_time()
            stagger = self._window_stagger.get_stagger_offset(now, self._size)
            shift = self._shift = (self._offset + stagger) % self._size
        start = time - (time - shift) % self._size
        return [TimeWindow(start, start + self._size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(_TumblingWindows):
    """Windows of one size that follow each other without gaps, by event time.

    Args:
        size: Length of the windows: milliseconds or an amount of time.
        offset: Shift against the epoch; less than the size.
        window_stagger: How subtasks spread their windows.

    Example:
        >>> from headrace.common import Time
        >>> TumblingEventTimeWindows.of(Time.hours(24), offset=Time.hours(-8))
        TumblingEventTimeWindows(86400000, -28800000)
    """

    _EVENT_TIME = True

    @staticmethod
    def of(
        size: AmountOfTime,
        offset: AmountOfTime | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingEventTimeWindows:
        """Returns an assigner for windows of that size."""
        return TumblingEventTimeWindows(size, 0 if offset is None else offset, window_stagger)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns the one window that contains the record's timestamp."""
        if timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise missing_timestamp(self)
        return self._assign(timestamp, context)


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Windows of one size that follow each other without gaps, by processing time.

    Args:
        size: Length of the windows: milliseconds or an amount of time.
        offset: Shift against the epoch; less than the size.
        window_stagger: How subtasks spread their windows.
    """

    _EVENT_TIME = False

    @staticmethod
    def of(
        size: AmountOfTime,
        offset: AmountOfTime | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> TumblingProcessingTimeWindows:
        """Returns an assigner for windows of that size."""
        return TumblingProcessingTimeWindows(size, 0 if offset is None else offset, window_stagger)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns the one window that contains the processing time."""
        return self._assign(context.get_current_processing_time(), context)


class _SlidingWindows(TimeWindowAssigner):
    def __init__(self, size: AmountOfTime, slide: AmountOfTime, offset: AmountOfTime = 0) -> None:
        name = type(self).__name__
        requirement = "abs(offset) < slide and size > 0"
        self._size = positive_millis(name, "size", size, requirement)
        self._slide = positive_millis(name, "slide", slide, requirement)
        self._offset = _checked_offset(name, offset, requirement, self._slide)
        if self._size // self._slide > MAX_WINDOW_NUM:
            raise GraphError(
                f"{name}({self._size}, {self._slide}) would put each record into more than "
                f"{MAX_WINDOW_NUM} windows; use a longer slide"
            )

    @property
    def size(self) -> int:
        """Length of the windows in milliseconds."""
        return self._size

    @property
    def slide(self) -> int:
        """Distance between the starts of two windows in milliseconds."""
        return self._slide

    @property
    def offset(self) -> int:
        """Shift of the windows against the epoch in milliseconds."""
        return self._offset

    def get_size(self) -> int:
        """Returns the length of the windows in milliseconds."""
        return self._size

    def get_slide(self) -> int:
        """Returns the distance between the starts of two windows in milliseconds."""
        return self._slide

    def _assign(self, time: int) -> list[TimeWindow]:
        size, slide = self._size, self._slide
        last_start = time - (time - self._offset) % slide
        return [TimeWindow(s, s + size) for s in range(last_start, time - size, -slide)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(_SlidingWindows):
    """Windows of one size that start at regular distances, by event time.

    Windows overlap when the slide is shorter than the size; when it is longer, records between two
    windows are in none.

    Args:
        size: Length of the windows: milliseconds or an amount of time.
        slide: Distance between the starts of two windows.
        offset: Shift against the epoch; less than the slide.
    """

    _EVENT_TIME = True

    @staticmethod
    def of(
        size: AmountOfTime, slide: AmountOfTime, offset: AmountOfTime | None = None
    ) -> SlidingEventTimeWindows:
        """Returns an assigner for windows of that size and slide."""
        return SlidingEventTimeWindows(size, slide, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns the windows that contain the record's timestamp, the latest first."""
        if timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise missing_timestamp(self)
        return self._assign(timestamp)


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Windows of one size that start at regular distances, by processing time.

    Args:
        size: Length of the windows: milliseconds or an amount of time.
        slide: Distance between the starts of two windows.
        offset: Shift against the epoch; less than the slide.
    """

    _EVENT_TIME = False

    @staticmethod
    def of(
        size: AmountOfTime, slide: AmountOfTime, offset: AmountOfTime | None = None
    ) -> SlidingProcessingTimeWindows:
        """Returns an assigner for windows of that size and slide."""
        return SlidingProcessingTimeWindows(size, slide, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns the windows that contain the processing time, the latest first."""
        return self._assign(context.get_current_processing_time())
