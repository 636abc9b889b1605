"""A small window operator's view for triggers: real timers and state in dicts, one key."""

from __future__ import annotations

from typing import Any

from headrace.common.constants import MIN_LONG_VALUE
from headrace.datastream.state import (
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
)
from headrace.datastream.window import Trigger, TriggerResult, Window, WindowAssigner


class FakeValue(ValueState[Any], ReducingState[Any]):
    def __init__(self, store: dict[Any, Any], key: Any, descriptor: StateDescriptor) -> None:
        self.store, self.key, self.descriptor = store, key, descriptor

    def value(self) -> Any:
        return self.store.get(self.key)

    get = value

    def update(self, value: Any) -> None:
        self.store[self.key] = value

    def add(self, value: Any) -> None:
        assert isinstance(self.descriptor, ReducingStateDescriptor)
        old = self.store.get(self.key)
        reduce = self.descriptor.get_reduce_function().reduce
        self.store[self.key] = value if old is None else reduce(old, value)

    def clear(self) -> None:
        self.store.pop(self.key, None)


class FakeWindows(Trigger.OnMergeContext, WindowAssigner.WindowAssignerContext):
    """Drives one trigger over windows; `fired` lists (window, result) that were not CONTINUE."""

    def __init__(self, trigger: Trigger[Any, Any] | None = None) -> None:
        self.trigger = trigger
        self.state: dict[Any, Any] = {}
        self.event_timers: set[tuple[int, Window]] = set()
        self.processing_timers: set[tuple[int, Window]] = set()
        self.watermark = MIN_LONG_VALUE
        self.now = 0
        self.window: Any = None
        self.merged: list[Any] = []

    def element(self, window: Any, timestamp: int = 0, element: Any = None) -> TriggerResult:
        self.window = window
        return self.trigger.on_element(element, timestamp, window, self)

    def advance_watermark(self, to: int) -> list[tuple[int, Any, TriggerResult]]:
        self.watermark = to
        return self._fire(self.event_timers, to, self.trigger.on_event_time)

    def advance_time(self, to: int) -> list[tuple[int, Any, TriggerResult]]:
        self.now = to
        return self._fire(self.processing_timers, to, self.trigger.on_processing_time)

    def _fire(self, timers: Any, to: int, call: Any) -> list[tuple[int, Any, TriggerResult]]:
        fired = []
        while due := sorted((t for t in timers if t[0] <= to), key=lambda t: t[0]):
            time, self.window = due[0]
            timers.discard(due[0])
            fired.append((time, self.window, call(time, self.window, self)))
        return fired

    def clear(self, window: Any) -> None:
        self.window = window
        self.trigger.clear(window, self)

    def merge(self, windows: list[Any], result: Any) -> None:
        self.window, self.merged = result, windows
        self.trigger.on_merge(result, self)
        for window in windows:
            if window != result:
                self.clear(window)

    def get_current_processing_time(self) -> int:
        return self.now

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> Any:
        return None

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add((time, self.window))

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add((time, self.window))

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard((time, self.window))

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard((time, self.window))

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> FakeValue:
        return FakeValue(self.state, (state_descriptor.name, self.window), state_descriptor)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        target = self.get_partitioned_state(state_descriptor)
        for window in self.merged:
            source = FakeValue(self.state, (state_descriptor.name, window), state_descriptor)
            value = source.get()
            if value is not None and window != self.window:
                source.clear()
                target.add(value)

    def get_runtime_context(self) -> Any:
        return self

    def get_state(self, state_descriptor: StateDescriptor) -> FakeValue:
        return FakeValue(self.state, state_descriptor.name, state_descriptor)
