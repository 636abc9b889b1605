"""Assigners that do not look at time: count windows and the global window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import Types
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window.assigner import WindowAssigner
from headrace.datastream.window.time_triggers import EndOfStreamTrigger
from headrace.datastream.window.trigger import Trigger
from headrace.datastream.window.triggers import CountTrigger, NeverTrigger, PurgingTrigger
from headrace.datastream.window.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
)

if TYPE_CHECKING:
    from headrace.common.serializer import TypeSerializer

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "GlobalWindows",
]


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
