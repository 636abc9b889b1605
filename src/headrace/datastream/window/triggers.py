"""Triggers that look at the records, never fire, or change what another trigger says."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, TypeVar, cast

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.time import Duration, Time
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.state import (
    ReducingState,
    ReducingStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.datastream.window.time_triggers import interval_millis
from headrace.datastream.window.trigger import PassiveTrigger, Trigger, TriggerResult
from headrace.datastream.window.windows import GlobalWindow, Window

__all__ = [
    "CountTrigger",
    "DeltaFunction",
    "DeltaTrigger",
    "NeverTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "as_delta",
]

T = TypeVar("T")


class NeverTrigger(PassiveTrigger[Any, GlobalWindow]):
    """Never fires: the default of global windows, to be replaced by one that does."""

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Has nothing to do."""


class CountTrigger(PassiveTrigger[Any, Window]):
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


class DeltaTrigger(PassiveTrigger[Any, Window]):
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
        self._timeout_ms = interval_millis("ProcessingTimeoutTrigger", timeout)
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
