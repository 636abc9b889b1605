"""The interface of assigners, which put each record into zero or more windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from headrace.common.errors import GraphError
from headrace.common.time import Duration, Time, to_millis
from headrace.datastream.window.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from headrace.datastream.window.trigger import Trigger
from headrace.datastream.window.windows import TimeWindow, TimeWindowSerializer, Window

if TYPE_CHECKING:
    from headrace.common.serializer import TypeSerializer
    from headrace.datastream.functions.base import RuntimeContext

__all__ = [
    "AmountOfTime",
    "MergingWindowAssigner",
    "TimeWindowAssigner",
    "WindowAssigner",
    "missing_timestamp",
    "positive_millis",
]

T = TypeVar("T")


W = TypeVar("W", bound=Window)


W2 = TypeVar("W2")


AmountOfTime: TypeAlias = Time | Duration | timedelta | int


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


class TimeWindowAssigner(WindowAssigner[Any, TimeWindow]):
    """What all assigners of time windows share."""

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


def missing_timestamp(assigner: WindowAssigner[Any, Any]) -> GraphError:
    """Returns the error for a record without a timestamp."""
    return GraphError(
        "Record has Java Long.MIN_VALUE timestamp (= no timestamp marker). A record without a "
        f"timestamp reached {assigner!r}; call assign_timestamps_and_watermarks(...) before the "
        "window, or use processing-time windows"
    )


def positive_millis(
    assigner: str, name: str, value: AmountOfTime, requirement: str = "0 < size"
) -> int:
    """Returns an amount of time in milliseconds; refuses zero and less."""
    millis = to_millis(value, f"{name} of {assigner}")
    if millis <= 0:
        raise GraphError(
            f"{assigner} parameters must satisfy {requirement}: it needs a {name} of at least "
            f"one millisecond, got {value}; use for example Duration.of_seconds(10)"
        )
    return millis
