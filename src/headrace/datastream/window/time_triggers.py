"""Triggers that follow the clocks: at the end of a window, and at intervals before it."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from typing import Any, cast

from headrace.common.errors import GraphError
from headrace.common.time import Duration, Time, to_millis
from headrace.common.typeinfo import Types
from headrace.datastream.state import ReducingState, ReducingStateDescriptor
from headrace.datastream.window.trigger import PassiveTrigger, Trigger, TriggerResult
from headrace.datastream.window.windows import GlobalWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "ProcessingTimeTrigger",
    "interval_millis",
]


class EventTimeTrigger(PassiveTrigger[Any, Window]):
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


class ProcessingTimeTrigger(PassiveTrigger[Any, Window]):
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


class EndOfStreamTrigger(PassiveTrigger[Any, GlobalWindow]):
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


def interval_millis(trigger: str, interval: Time | Duration | timedelta | int) -> int:
    """Returns the interval of a trigger in milliseconds; refuses zero and less."""
    interval_ms = to_millis(interval, f"the interval of {trigger}")
    if interval_ms <= 0:
        raise GraphError(
            f"the interval of {trigger} must be at least one millisecond, got {interval}"
        )
    return interval_ms


class _Continuous(PassiveTrigger[Any, Window]):
    """Keeps the next time to fire in state. Merged windows fire at the earliest of their times."""

    def __init__(self, interval: Time | Duration | timedelta | int) -> None:
        self.interval = interval_millis(type(self).__name__, interval)
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
