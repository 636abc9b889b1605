"""The general window operator: any assigner, trigger, evictor and function, as in Flink."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from headrace.common.errors import StateError
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import MergingWindowAssigner, Trigger, TriggerResult, WindowAssigner
from headrace.graph.specs import WindowSpec
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headrace.runtime.operators.window.base import WindowBase, none_in_window
from headrace.runtime.operators.window.contents import (
    PANE_STATE,
    SLICE_STATE,
    contents_descriptor,
    folded,
    stamped,
)
from headrace.runtime.operators.window.merging import MergingWindowSet
from headrace.runtime.operators.window.trigger_context import AssignerContext, TriggerContext
from headrace.runtime.ownership import copied
from headrace.runtime.time.timers import TimerQueue

_MERGING_STATE = "merging-window-set"
_CLEAN_UP_ONLY = True
"""Third part of the address of a timer that the trigger does not get to see."""


class WindowOperator(WindowBase):
    """One record at a time, one window at a time."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self._assigner: WindowAssigner[Any, Any] = spec.assigner
        self._trigger: Trigger[Any, Any] = spec.trigger
        self._event_time = spec.assigner.is_event_time()
        self._lateness = spec.allowed_lateness_ms if self._event_time else 0
        self._merging = spec.assigner if isinstance(spec.assigner, MergingWindowAssigner) else None
        self._cleanup_timers = self.event_timers if self._event_time else self.processing_timers
        self._clearing = False
        self._contents: Any
        self._window_sets: Any

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None
        self.refuse_windows_of(PANE_STATE, SLICE_STATE)
        self._contents = backend.get_or_create(
            contents_descriptor(self.spec), self.window_cell, namespaced=True
        )
        if self._merging is not None:
            self._window_sets = backend.get_or_create(
                ValueStateDescriptor(_MERGING_STATE), self.cell
            )
        self._trigger_context = TriggerContext(self)
        self._assigner_context = AssignerContext(self)

    # Records.

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        stamps: Any = repeat(None) if batch.timestamps is None else batch.timestamps
        process = self._process if self._merging is None else self._process_merging
        value = None
        try:
            for self.cell.key, value, stamp in zip(batch.keys, batch.values, stamps, strict=False):
                process(value, stamp)
        except Exception as error:
            raise self.failed(error, value, where="window") from error
        self.flush()

    def _process(self, value: Any, stamp: int | None) -> None:
        key, skipped = self.cell.key, True
        timestamp = MIN_TIMESTAMP if stamp is None else stamp
        for window in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            if self._is_late(window):
                continue
            skipped = False
            self._add(key, window, window, value, stamp)
        if skipped and self._is_element_late(timestamp):
            self.late(value, stamp)

    def _process_merging(self, value: Any, stamp: int | None) -> None:
        key, skipped = self.cell.key, True
        timestamp = MIN_TIMESTAMP if stamp is None else stamp
        windows = self._window_set()
        for window in self._assigner.assign_windows(value, timestamp, self._assigner_context):
            actual = windows.add(window, self._merge)
            if self._is_late(actual):
                windows.retire(actual)
                continue
            skipped = False
            self._add(key, actual, windows.state_window(actual), value, stamp)
        self._persist(windows)
        if skipped and self._is_element_late(timestamp):
            self.late(value, stamp)

    def _add(self, key: Any, window: Any, state_window: Any, value: Any, stamp: int | None) -> None:
        if value is None and not self._incremental:
            raise none_in_window()
        self.window_cell.key = (key, state_window)
        self._contents.add(value if self.spec.evictor is None else (value, stamp))
        self.window_cell.key = (key, window)
        timestamp = MIN_TIMESTAMP if stamp is None else stamp
        result = self._checked(
            self._trigger.on_element(value, timestamp, window, self._trigger_context)
        )
        self._act(result, key, window, state_window, stamp)
        # Also when the trigger purged: later records may fill the window again.
        self._register_cleanup(key, window)

    def _act(
        self,
        result: TriggerResult,
        key: Any,
        window: Any,
        state_window: Any,
        stamp: int | None,
        over: bool = False,
    ) -> None:
        """Fire and purge as the trigger says; `over` if the window is dropped afterwards."""
        if result is TriggerResult.CONTINUE:
            return
        if result.is_fire():
            stays = not (over or result.is_purge())
            self._fire_window(key, window, state_window, stamp, stays)
        if result.is_purge():
            self.window_cell.key = (key, state_window)
            self._contents.clear()

    def _fire_window(
        self, key: Any, window: Any, state_window: Any, stamp: int | None, stays: bool
    ) -> None:
        self.window_cell.key = (key, state_window)
        content = self._contents.get()
        if self.spec.evictor is not None:
            self._fire_evicting(key, window, state_window, content, stamp)
        elif self._incremental:
            if content is not None:
                self.window_cell.key = (key, window)
                # What was emitted must not change when the next record is added.
                self.fire(key, window, [copied(content) if stays else content], stamp)
        elif content:
            self.window_cell.key = (key, window)
            self.fire(key, window, content, stamp)

    def _fire_evicting(
        self, key: Any, window: Any, state_window: Any, content: Any, stamp: int | None
    ) -> None:
        records = stamped(content)
        if not records:
            return
        evictor = self.spec.evictor
        evictor.evict_before(records, len(records), window, self._trigger_context)
        left = folded(self.spec, (r.value for r in records))
        self.window_cell.key = (key, window)
        if left or not self._incremental:
            self.fire(key, window, left, stamp)
        evictor.evict_after(records, len(records), window, self._trigger_context)
        self.window_cell.key = (key, state_window)
        self._contents.update([(r.value, r.timestamp) for r in records])

    # Timers.

    def fire_event_timers(self, until: int) -> None:
        self._fire_timers(self.event_timers, until, True)

    def fire_processing_timers(self, until: int) -> None:
        self._fire_timers(self.processing_timers, until, False)

    def _fire_timers(self, queue: TimerQueue, until: int, event_time: bool) -> None:
        for timestamp, (key, window, *clean_up_only) in queue.pop_due(until):
            try:
                self._fire_timer(timestamp, key, window, event_time, not clean_up_only)
            except Exception as error:
                raise self.failed(error, where=f"trigger of {window!r}, key {key!r}") from error
        self.flush()

    def _fire_timer(
        self, timestamp: int, key: Any, window: Any, event_time: bool, ask_trigger: bool
    ) -> None:
        self.cell.key = key
        windows = None if self._merging is None else self._window_set()
        state_window = window if windows is None else windows.state_window(window)
        if state_window is None:
            return  # The window was merged into another one.
        self.window_cell.key = (key, window)
        over = event_time == self._event_time and timestamp == self._cleanup_time(window)
        if ask_trigger:
            trigger = self._trigger
            on_time = trigger.on_event_time if event_time else trigger.on_processing_time
            result = self._checked(on_time(timestamp, window, self._trigger_context))
            self._act(result, key, window, state_window, timestamp, over)
        if over:
            self._drop(key, window, state_window, windows)

    def _checked(self, result: Any) -> TriggerResult:
        if not isinstance(result, TriggerResult):
            raise TypeError(
                f"{type(self._trigger).__name__} returned {result!r}; a trigger must return a "
                "TriggerResult, such as TriggerResult.CONTINUE"
            )
        return result

    def key_of_timer(self, address: Any) -> Any:
        return address[0]

    # Clean-up.

    def _cleanup_time(self, window: Any) -> int:
        last: int = window.max_timestamp()
        return min(last + self._lateness, MAX_TIMESTAMP)

    def _register_cleanup(self, key: Any, window: Any) -> None:
        time = self._cleanup_time(window)
        if time != MAX_TIMESTAMP:  # A window that never ends needs no clean-up.
            self._cleanup_timers.register(time, (key, window))

    def delete_timer(self, queue: TimerQueue, time: int) -> None:
        """Delete a timer of the trigger at the current window.

        It may be the one that the window is dropped with, which nobody but us knows of: then the
        window is still dropped, though the trigger is not called.
        """
        key, window = address = self.window_cell.key
        queue.delete(time, address)
        if self._clearing or queue is not self._cleanup_timers:
            return
        if time == self._cleanup_time(window) != MAX_TIMESTAMP:
            queue.register(time, (key, window, _CLEAN_UP_ONLY))

    def _clear_trigger(self, key: Any, window: Any) -> None:
        self.window_cell.key = (key, window)
        self._clearing = True
        self._trigger.clear(window, self._trigger_context)
        self._clearing = False
        time = self._cleanup_time(window)
        self._cleanup_timers.delete(time, (key, window))
        self._cleanup_timers.delete(time, (key, window, _CLEAN_UP_ONLY))

    def _drop(
        self, key: Any, window: Any, state_window: Any, windows: MergingWindowSet | None
    ) -> None:
        """Forget everything about a window."""
        self.window_cell.key = (key, state_window)
        self._contents.clear()
        self._clear_trigger(key, window)
        self.clear_function(key, window)
        if windows is not None:
            windows.retire(window)
            self._persist(windows)

    def _is_late(self, window: Any) -> bool:
        return self._event_time and self._cleanup_time(window) <= self.watermark

    def _is_element_late(self, timestamp: int) -> bool:
        return self._event_time and timestamp + self._lateness <= self.watermark

    # Merging.

    def _window_set(self) -> MergingWindowSet:
        assert self._merging is not None
        return MergingWindowSet(self._merging, self._window_sets.value())

    def _persist(self, windows: MergingWindowSet) -> None:
        if windows.changed:
            self._window_sets.update(windows.mapping or None)

    def _merge(self, result: Any, merged: list[Any], kept: Any, others: list[Any]) -> None:
        key, context = self.cell.key, self._trigger_context
        if self._is_late(result):
            raise StateError(
                f"merging made {result!r}, which ended before the watermark {self.watermark}: "
                f"merge_windows() of {type(self._merging).__name__} must keep the end"
            )
        self.window_cell.key = (key, result)
        context.merged_windows = merged
        self._trigger.on_merge(result, context)
        for window in merged:
            if window != result:
                self._clear_trigger(key, window)
        self._contents.merge_namespaces(key, kept, others)
