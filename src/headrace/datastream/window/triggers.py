"""Triggers decide when a window is evaluated.

The window operator asks the trigger for each record and each timer, and evaluates (fires) or
empties (purges) the window as the answer says. A trigger object serves all keys and windows of a
subtask: what it must remember goes into state it gets from the context, which is scoped to key and
window.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time, to_millis
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.state import (
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.datastream.window.windows import GlobalWindow, Window

if TYPE_CHECKING:
    from headrace.metrics import MetricGroup

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaFunction",
    "DeltaTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
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
            f"{self!r} does not support windows that merge; define can_merge() and on_merge(), "
            "or use another trigger with session windows"
        )

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Called when the window is dropped: delete its timers and state."""

    def __repr__(self) -> str:
        """Names the trigger."""
        return f"{type(self).__name__}()"


class _Passive(Trigger[T, W]):
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


class EventTimeTrigger(_Passive[Any, Window]):
    """Fires once the watermark passes the end of the window, then for each late record."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Returns the trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires at once if the window's end has passed, else sets a timer for it."""
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires at the window's end; a timer of the clean-up is none of its business."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        """Returns True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Sets a timer for the end of the merged window.

        If the watermark is past it, nothing is set: `on_element` fires for the record that merged.
        """
        end = window.max_timestamp()
        if end > ctx.get_current_watermark():
            ctx.register_event_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Deletes the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_Passive[Any, Window]):
    """Fires once when processing time passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Returns the trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Sets a timer for the window's end."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires."""
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Returns True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Sets a timer for the end of the merged window unless it has passed."""
        end = window.max_timestamp()
        if end > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(end)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Deletes the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())


def _interval(trigger: str, interval: Time | Duration | timedelta | int) -> int:
    interval_ms = to_millis(interval, f"the interval of {trigger}")
    if interval_ms <= 0:
        raise GraphError(
            f"the interval of {trigger} must be at least one millisecond, got {interval}"
        )
    return interval_ms


class _Continuous(_Passive[Any, Window]):
    """Keeps the next time to fire in state. Merged windows fire at the earliest of their times."""

    def __init__(self, interval: Time | Duration | timedelta | int) -> None:
        self.interval = _interval(type(self).__name__, interval)
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())

    def can_merge(self) -> bool:
        """Returns True."""
        return True

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Window,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Sets the next time to fire: one interval after `time`, but not after the window's end."""
        next_fire = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire)
        self._register(ctx, next_fire)

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Takes over the earliest time to fire of the merged windows."""
        ctx.merge_partitioned_state(self.state_desc)
        next_fire = self._fire_time(ctx).get()
        if next_fire is not None:
            self._register(ctx, next_fire)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Deletes the timer for the next time to fire, and the state."""
        state = self._fire_time(ctx)
        next_fire = state.get()
        if next_fire is not None:
            self._delete(ctx, next_fire)
            state.clear()

    def _start(self, now: int, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = self._fire_time(ctx)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)

    def _on_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        state = self._fire_time(ctx)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    def _fire_time(self, ctx: Trigger.TriggerContext) -> ReducingState[int]:
        return cast("ReducingState[int]", ctx.get_partitioned_state(self.state_desc))

    @abstractmethod
    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None: ...

    @abstractmethod
    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_Continuous):
    """Fires every interval of event time, at multiples of it, and at the window's end.

    Args:
        interval: Milliseconds, or an amount of time.
    """

    @staticmethod
    def of(interval: Time | Duration | timedelta | int) -> ContinuousEventTimeTrigger:
        """Returns a trigger with that interval."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires at once if the window's end has passed, else sets the timers."""
        end = window.max_timestamp()
        if end <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(end)
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires if it is the time to."""
        return self._on_time(time, window, ctx)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_Continuous):
    """Fires every interval of processing time, at multiples of it, and at the window's end.

    Args:
        interval: Milliseconds, or an amount of time.
    """

    @staticmethod
    def of(interval: Time | Duration | timedelta | int) -> ContinuousProcessingTimeTrigger:
        """Returns a trigger with that interval."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Sets the timer of the first record."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires if it is the time to."""
        return self._on_time(time, window, ctx)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_processing_time_timer(time)


class CountTrigger(_Passive[Any, Window]):
    """Fires each time that many records have come in since it fired last.

    Args:
        window_size: The number of records.
    """

    def __init__(self, window_size: int) -> None:
        if isinstance(window_size, bool) or not isinstance(window_size, int):
            raise FunctionTypeError(f"CountTrigger needs a whole number, not {window_size!r}")
        if window_size <= 0:
            raise GraphError(f"CountTrigger needs a positive number, got {window_size}")
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Returns a trigger for that many records."""
        return CountTrigger(window_size)

    def get_max_count(self) -> int:
        """Returns after how many records it fires."""
        return self._window_size

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Counts, and fires when the number is reached."""
        count = cast("ReducingState[int]", ctx.get_partitioned_state(self._count_state_descriptor))
        count.add(1)
        if cast(int, count.get()) < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        """Returns True."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Adds up the counts of the merged windows."""
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forgets the count."""
        ctx.get_partitioned_state(self._count_state_descriptor).clear()

    def __repr__(self) -> str:
        """Shows the number."""
        return f"CountTrigger({self._window_size})"


class DeltaFunction(ABC, Generic[T]):
    """Measures how far apart two records are."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """Returns the distance."""


def as_delta(function: DeltaFunction[Any] | Callable[[Any, Any], float]) -> Callable[..., float]:
    """Returns the callable behind a `DeltaFunction`, or the callable itself."""
    if isinstance(function, DeltaFunction):
        return function.get_delta
    if callable(function) and not isinstance(function, type):
        return function
    raise FunctionTypeError(
        f"a DeltaFunction or a callable of two records is needed, not {function!r}"
    )


class DeltaTrigger(_Passive[Any, Window]):
    """Fires when a record is farther than a threshold from the one at which it fired last.

    Args:
        threshold: The distance that must be exceeded.
        delta_function: A `DeltaFunction`, or a callable of the old and the new record.
        type_info: Type of the records, which one of is kept in state.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        type_info: TypeInformation | None = None,
    ) -> None:
        self._threshold = threshold
        self._delta = as_delta(delta_function)
        self._state_desc = ValueStateDescriptor("last-element", type_info)

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        type_info: TypeInformation | None = None,
    ) -> DeltaTrigger:
        """Returns a trigger with that threshold and distance."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Compares with the record kept; the first one is only kept."""
        last = cast("ValueState[Any]", ctx.get_partitioned_state(self._state_desc))
        old = last.value()
        if old is None:
            last.update(element)
        elif self._delta(old, element) > self._threshold:
            last.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forgets the record kept."""
        ctx.get_partitioned_state(self._state_desc).clear()

    def __repr__(self) -> str:
        """Shows distance and threshold."""
        return f"DeltaTrigger({self._delta!r}, {self._threshold})"


class _Nesting(Trigger[Any, Window]):
    def __init__(self, nested_trigger: Trigger[Any, Any]) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise FunctionTypeError(
                f"{type(self).__name__} wraps a Trigger, not {nested_trigger!r}; "
                f"write for example {type(self).__name__}.of(CountTrigger.of(10), ...)"
            )
        self.nested_trigger = nested_trigger

    def get_nested_trigger(self) -> Trigger[Any, Any]:
        """Returns the trigger inside."""
        return self.nested_trigger


class PurgingTrigger(_Nesting):
    """Makes another trigger drop the window's content whenever it fires.

    Args:
        nested_trigger: The other trigger.
    """

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        """Returns a purging form of a trigger."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Asks the trigger inside."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Asks the trigger inside."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Asks the trigger inside."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Returns whether the trigger inside can."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Passes on to the trigger inside."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Passes on to the trigger inside."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        """Shows the trigger inside."""
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class ProcessingTimeoutTrigger(_Nesting):
    """Makes another trigger fire at the latest a timeout after the window's first record.

    Args:
        nested_trigger: The other trigger.
        timeout: The time in processing time.
        reset_timer_on_new_record: Count from the latest record instead of the first.
        should_clear_on_timeout: Clear the other trigger's state when the timeout fires.
    """

    def __init__(
        self,
        nested_trigger: Trigger[Any, Any],
        timeout: Time | Duration | timedelta | int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        super().__init__(nested_trigger)
        self._timeout_ms = _interval("ProcessingTimeoutTrigger", timeout)
        self._reset_timer_on_new_record = reset_timer_on_new_record
        self._should_clear_on_timeout = should_clear_on_timeout
        self._timeout_state_desc = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: Time | Duration | timedelta | int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        """Returns a form of a trigger that fires at the latest after the timeout."""
        return ProcessingTimeoutTrigger(
            nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Asks the trigger inside; unless it fires, sets or moves the timeout."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = self._timeout_state(ctx)
        timeout = state.value()
        if timeout is not None and self._reset_timer_on_new_record:
            ctx.delete_processing_time_timer(timeout)
            timeout = None
        if timeout is None:
            timeout = ctx.get_current_processing_time() + self._timeout_ms
            state.update(timeout)
            ctx.register_processing_time_timer(timeout)
        return result

    def on_processing_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires."""
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def on_event_time(
        self, time: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires."""
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Deletes the timeout and clears the trigger inside."""
        state = self._timeout_state(ctx)
        timeout = state.value()
        if timeout is not None:
            ctx.delete_processing_time_timer(timeout)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def _fire(
        self, nested: TriggerResult, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self._should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested.is_purge() else TriggerResult.FIRE

    def _timeout_state(self, ctx: Trigger.TriggerContext) -> ValueState[int]:
        return cast("ValueState[int]", ctx.get_partitioned_state(self._timeout_state_desc))

    def __repr__(self) -> str:
        """Shows the trigger inside and the timeout."""
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self._timeout_ms})"


class NeverTrigger(_Passive[Any, GlobalWindow]):
    """Never fires: the default of global windows, to be replaced by one that does."""

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Has nothing to do."""


class EndOfStreamTrigger(_Passive[Any, GlobalWindow]):
    """Fires once, when a bounded input has ended."""

    def on_element(
        self, element: Any, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Sets a timer for the end of all time."""
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(
        self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fires at the end of all time."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Has nothing to do."""
