"""Assigners put each record into zero or more windows."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from headrace.common.constants import MIN_LONG_VALUE
from headrace.common.errors import FunctionTypeError, GraphError, shorten_repr
from headrace.common.time import Duration, Time, to_millis
from headrace.common.typeinfo import Types
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)
from headrace.datastream.window.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    Window,
)

if TYPE_CHECKING:
    from headrace.common.serializer import TypeSerializer
    from headrace.datastream.functions.base import RuntimeContext

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "MergingWindowAssigner",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowAssigner",
    "WindowStagger",
]

T = TypeVar("T")
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2")

AmountOfTime: TypeAlias = Time | Duration | timedelta | int

#: A record may be in so many sliding windows at most, as in Flink.
MAX_WINDOW_NUM = 10_000_000


class WindowAssigner(ABC, Generic[T, W]):
    """Puts records into windows. One object serves all keys of a subtask."""

    class WindowAssignerContext(ABC):
        """Passed to `assign_windows`."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Returns the processing time in milliseconds."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Returns the window operator's runtime context, for state of the current key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Called for each record; returns the windows it belongs to.

        Args:
            element: The record.
            timestamp: Its timestamp; the smallest 64-bit integer if it has none.
            context: Clock and state.
        """

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[T, W]:
        """Returns the trigger for windows of which none was set."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Returns a serializer for the windows."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Returns whether windows are made by event time."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may merge, such as sessions."""

    class MergeCallback(ABC, Generic[W2]):
        """Passed to `merge_windows`."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """Says that windows are to be replaced by one.

            Args:
                to_be_merged: The windows, at least two.
                merge_result: The window that replaces them; may be one of them.
            """

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Called when a key got a new window; reports through `callback` which windows merge."""


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


def _no_timestamp(assigner: WindowAssigner[Any, Any]) -> GraphError:
    return GraphError(
        f"a record without a timestamp reached {assigner!r}; call "
        "assign_timestamps_and_watermarks(...) before the window, or use windows by processing time"
    )


def _positive(assigner: str, name: str, value: AmountOfTime) -> int:
    millis = to_millis(value, f"{name} of {assigner}")
    if millis <= 0:
        raise GraphError(
            f"{assigner} needs a {name} of at least one millisecond, got {value}; "
            "use for example Duration.of_seconds(10)"
        )
    return millis


def _checked_offset(assigner: str, offset: AmountOfTime, name: str, limit: int) -> int:
    millis = to_millis(offset, f"the offset of {assigner}")
    if abs(millis) >= limit:
        raise GraphError(
            f"{assigner} needs an offset shorter than its {name}: abs({millis} ms) is not less "
            f"than {limit} ms; use the remainder, {millis % limit} ms, which gives the same windows"
        )
    return millis


class _TimeWindows(WindowAssigner[Any, TimeWindow]):
    _EVENT_TIME: bool

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Returns the trigger that fires at the end of each window."""
        return EventTimeTrigger() if self._EVENT_TIME else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Returns a serializer for time windows."""
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        """Returns whether windows are made by event time."""
        return self._EVENT_TIME


class _TumblingWindows(_TimeWindows):
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
        self._size = _positive(name, "size", size)
        self._offset = _checked_offset(name, offset, "size", self._size)
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
            raise _no_timestamp(self)
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


class _SlidingWindows(_TimeWindows):
    def __init__(self, size: AmountOfTime, slide: AmountOfTime, offset: AmountOfTime = 0) -> None:
        name = type(self).__name__
        self._size = _positive(name, "size", size)
        self._slide = _positive(name, "slide", slide)
        self._offset = _checked_offset(name, offset, "slide", self._slide)
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
            raise _no_timestamp(self)
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


class SessionWindowTimeGapExtractor(ABC):
    """Gives each record its own session gap."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Called for each record; returns the gap after it in milliseconds, at least 1."""


class _SessionWindows(_TimeWindows, MergingWindowAssigner[Any, TimeWindow]):
    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        """Merges windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)


class _FixedGapWindows(_SessionWindows):
    def __init__(self, session_gap: AmountOfTime) -> None:
        self._session_gap = _positive(type(self).__name__, "gap", session_gap)

    @property
    def session_gap(self) -> int:
        """The gap that ends a session, in milliseconds."""
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

    def _window(self, element: Any, time: int) -> list[TimeWindow]:
        gap = self._extract(element)
        if type(gap) is not int:
            gap = to_millis(gap, "a session gap")
        if gap <= 0:
            raise GraphError(
                f"the session gap of {shorten_repr(element)} must be at least one millisecond, but "
                f"the extractor returned {gap}"
            )
        return [TimeWindow(time, time + gap)]

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

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns a window from the record's timestamp to the end of the gap."""
        if timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise _no_timestamp(self)
        return [TimeWindow(timestamp, timestamp + self._session_gap)]


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

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns a window from the processing time to the end of the gap."""
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + self._session_gap)]


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

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns a window from the record's timestamp to the end of its gap."""
        if timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise _no_timestamp(self)
        return self._window(element, timestamp)


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

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        """Returns a window from the processing time to the end of the record's gap."""
        return self._window(element, context.get_current_processing_time())


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Puts all records of a key into one window, which fires only if a trigger is set.

    Args:
        default_trigger: The trigger for when none is set; by default one that never fires.
    """

    NeverTrigger = NeverTrigger
    EndOfStreamTrigger = EndOfStreamTrigger

    def __init__(self, default_trigger: Trigger[Any, Any] | None = None) -> None:
        self._default_trigger: Trigger[Any, Any] = default_trigger or NeverTrigger()
        self._windows = [GlobalWindow.get()]

    @staticmethod
    def create() -> GlobalWindows:
        """Returns an assigner whose windows fire only by a trigger that you set."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Returns an assigner whose windows fire when a bounded input has ended."""
        return GlobalWindows(EndOfStreamTrigger())

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[GlobalWindow]:
        """Returns the global window."""
        return self._windows

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Returns the trigger for windows of which none was set."""
        return self._default_trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Returns a serializer for the global window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Returns False."""
        return False

    def __repr__(self) -> str:
        """Has no fields to show."""
        return "GlobalWindows()"


def _count(assigner: str, name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FunctionTypeError(f"the {name} of {assigner} must be a whole number, not {value!r}")
    if value <= 0:
        raise GraphError(f"the {name} of {assigner} must be at least one record, got {value}")
    return value


class _CountWindows(WindowAssigner[Any, CountWindow]):
    def __init__(self, window_size: int, state_name: str) -> None:
        self._window_size = _count(type(self).__name__, "size", window_size)
        self._count_descriptor = ValueStateDescriptor(state_name, Types.LONG())

    @property
    def window_size(self) -> int:
        """Number of records in a window."""
        return self._window_size

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Returns the trigger that fires a full window.

        It purges, too: a full window gets no more records.
        """
        return PurgingTrigger(CountTrigger(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Returns a serializer for count windows."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Returns False."""
        return False

    def _next_number(self, context: WindowAssigner.WindowAssignerContext) -> int:
        state = context.get_runtime_context().get_state(self._count_descriptor)
        number: int = state.value() or 0
        state.update(number + 1)
        return number


class CountTumblingWindowAssigner(_CountWindows):
    """Windows of a number of records of one key that follow each other.

    Args:
        window_size: Number of records in a window.
    """

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Returns an assigner for windows of that many records."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Counts the key's records and returns the window of this one."""
        return [CountWindow(self._next_number(context) // self._window_size)]

    def __repr__(self) -> str:
        """Shows the size."""
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Windows of a number of records of one key that start every so many records.

    Args:
        window_size: Number of records in a window.
        window_slide: Number of records between the starts of two windows.
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, "slide-count-assigner")
        self._window_slide = _count(type(self).__name__, "slide", window_slide)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Returns an assigner for windows of that size and slide."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    @property
    def window_slide(self) -> int:
        """Number of records between the starts of two windows."""
        return self._window_slide

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[CountWindow]:
        """Counts the key's records and returns the windows of this one, the latest first."""
        number = self._next_number(context)
        latest = number // self._window_slide
        # The first window that has not ended before this record.
        earliest = max(0, (number - self._window_size) // self._window_slide + 1)
        return [CountWindow(i) for i in range(latest, earliest - 1, -1)]

    def __repr__(self) -> str:
        """Shows size and slide."""
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"
