"""The interface of triggers, which decide when a window is evaluated.

The window operator asks the trigger for each record and each timer, and evaluates (fires) or
empties (purges) the window as the answer says. A trigger object serves all keys and windows of a
subtask: what it must remember goes into state it gets from the context, which is scoped to key and
window.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.common.errors import GraphError
from headrace.datastream.state import State, StateDescriptor
from headrace.datastream.window.windows import Window

if TYPE_CHECKING:
    from headrace.metrics import MetricGroup

__all__ = [
    "PassiveTrigger",
    "Trigger",
    "TriggerResult",
]

T = TypeVar("T")


W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """What the window operator shall do with a window: `(fire, purge)`."""

    #: Nothing.
    CONTINUE = (False, False)
    #: Evaluate the window, then drop its content.
    FIRE_AND_PURGE = (True, True)
    #: Evaluate the window and keep its content.
    FIRE = (True, False)
    #: Drop the content without evaluating it.
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Returns whether the window is evaluated."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Returns whether the window's content is dropped."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated.

    For a record the operator calls `on_element` for each window it was assigned to; for a timer
    that the trigger set it calls `on_event_time` or `on_processing_time`; when windows merge,
    `on_merge` of the resulting window and then `clear` of the merged ones; when a window is
    dropped, `clear`.
    """

    class TriggerContext(ABC):
        """Clocks, timers and state, scoped to the current key and window."""

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
        def register_processing_time_timer(self, time: int) -> None:
            """Has `on_processing_time` called when processing time has reached `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Has `on_event_time` called when the watermark has reached `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Removes the processing-time timer at `time`, if there is one."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Removes the event-time timer at `time`, if there is one."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
            """Returns the trigger's state of this key and window."""

    class OnMergeContext(TriggerContext):
        """Passed to `on_merge`, scoped to the resulting window."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merges the state of the merged windows into that of the resulting one.

            Only for list, reducing and aggregating state.
            """

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called for each record that is added to the window."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Called when a processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Called when an event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Returns whether the trigger works with windows that merge, such as sessions."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Called when windows were merged into `window`: merge state, set its timers."""
        raise GraphError(
            f"{self!r} does not support merging windows; define can_merge() and on_merge(), or "
            "use another trigger with session windows"
        )

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Called when the window is dropped: delete its timers and state."""

    def __repr__(self) -> str:
        """Names the trigger."""
        return f"{type(self).__name__}()"


class PassiveTrigger(Trigger[T, W]):
    """Never acts; the base of triggers that react to some events only."""

    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Returns CONTINUE."""
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Returns CONTINUE."""
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Returns CONTINUE."""
        return TriggerResult.CONTINUE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Has nothing to delete."""
