"""The general window operator: any assigner, trigger, evictor and function, as in Flink."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import repeat
from typing import Any

from headrace.common.errors import GraphError
from headrace.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import MergingWindowAssigner, Trigger, TriggerResult, WindowAssigner
from headrace.graph.specs import WindowSpec
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headrace.runtime.key_groups import OpaqueKey
from headrace.runtime.operator import OperatorContext
from headrace.runtime.operators.process import ContextOperator
from headrace.runtime.operators.window.contents import contents_descriptor, folded, stamped
from headrace.runtime.operators.window.function import evaluator, window_context
from headrace.runtime.operators.window.merging import MergingWindowSet
from headrace.runtime.output import OperatorOutput
from headrace.runtime.runtime_context import OperatorRuntimeContext
from headrace.runtime.state.key_cell import NO_KEY, KeyCell

_MERGING_STATE = "merging-window-set"
LATE_COUNTER = "numLateRecordsDropped"


class WindowBase(ContextOperator):
    """What both window operators share: functions, late records, emitting."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec.function)
        self.spec = spec
        self.window_cell = KeyCell()
        self._out: list[Any] = []
        self._out_stamps: list[int | None] = []

    def setup(self, context: OperatorContext, output: OperatorOutput) -> None:
        super().setup(context, output)
        self.window_context = window_context(self, self.window_cell)
        self.evaluate = evaluator(self.spec.function, self.window_context)
        self.late_dropped = context.metrics.counter(LATE_COUNTER)

    def open(self) -> None:
        super().open()
        for function in (self.spec.reduce, self.spec.aggregate):
            if hasattr(function, "open"):
                function.open(OperatorRuntimeContext(self.context))

    def close(self) -> None:
        for function in (self.spec.reduce, self.spec.aggregate):
            if hasattr(function, "close"):
                function.close()
        super().close()

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        tag = self.spec.tag
        if tag is not None:
            tagged = list(map(tag, repeat(input_index), batch.values))
            batch = Batch(tagged, batch.timestamps, batch.keys)  # type: ignore[arg-type]
        self.process_batch(batch)

    def late(self, value: Any, stamp: int | None) -> None:
        """A record that comes after its windows are gone: to the side output, else dropped and counted."""
        if self.spec.late_tag is not None:
            self.element_context.add_side(self.spec.late_tag, value, stamp)
        else:
            self.late_dropped.inc()

    def fire(self, key: Any, window: Any, content: Iterable[Any]) -> None:
        """Evaluate a window and keep its results for the end of the batch."""
        try:
            shown = key.value if type(key) is OpaqueKey else key
            results = self.evaluate(shown, window, content)
            if results is not None:
                self._out.extend(results)
        except Exception as error:
            raise self.failed(error, where=f"window {window!r} of key {key!r}") from error
        missing = len(self._out) - len(self._out_stamps)
        if missing:
            self._out_stamps.extend(repeat(window.max_timestamp(), missing))

    def flush(self) -> None:
        """Emit what was fired."""
        self.cell.key = self.window_cell.key = NO_KEY
        out, self._out = self._out, []
        stamps, self._out_stamps = self._out_stamps, []
        self.emit_results(out, stamps)


class WindowOperator(WindowBase):
    """One record at a time, one window at a time."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        self._assigner: WindowAssigner[Any, Any] = spec.assigner
        self._trigger: Trigger[Any, Any] = spec.trigger
        self._event_time = spec.assigner.is_event_time()
        self._lateness = spec.allowed_lateness_ms if self._event_time else 0
        self._merging = spec.assigner if isinstance(spec.assigner, MergingWindowAssigner) else None
        self._contents: Any
        self._window_sets: Any

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None
        self._contents = backend.get_or_create(
            contents_descriptor(self.spec), self.window_cell, namespaced=True
        )
        if self._merging is not None:
            self._window_sets = backend.get_or_create(
                ValueStateDescriptor(_MERGING_STATE), self.cell
            )
        self._trigger_context = _TriggerContext(self)
        self._assigner_context = _AssignerContext(self)

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
        self.window_cell.key = (key, state_window)
        self._contents.add(value if self.spec.evictor is None else (value, stamp))
        self.window_cell.key = (key, window)
        timestamp = MIN_TIMESTAMP if stamp is None else stamp
        result = self._checked(
            self._trigger.on_element(value, timestamp, window, self._trigger_context)
        )
        self._act(result, key, window, state_window)
        self._register_cleanup(key, window)

    def _act(self, result: TriggerResult, key: Any, window: Any, state_window: Any) -> None:
        """Fire and purge as the trigger says."""
        if result is TriggerResult.CONTINUE:
            return
        if result.is_fire():
            self._fire_window(key, window, state_window)
        if result.is_purge():
            self.window_cell.key = (key, state_window)
            self._contents.clear()

    def _fire_window(self, key: Any, window: Any, state_window: Any) -> None:
        self.window_cell.key = (key, state_window)
        content = self._contents.get()
        if self.spec.evictor is not None:
            self._fire_evicting(key, window, state_window, content)
        elif self.spec.reduce is not None or self.spec.aggregate is not None:
            if content is not None:
                self.window_cell.key = (key, window)
                self.fire(key, window, (content,))
        elif content:
            self.window_cell.key = (key, window)
            self.fire(key, window, content)

    def _fire_evicting(self, key: Any, window: Any, state_window: Any, content: Any) -> None:
        records = stamped(content)
        if not records:
            return
        evictor = self.spec.evictor
        evictor.evict_before(records, len(records), window, self._trigger_context)
        self.window_cell.key = (key, window)
        self.fire(key, window, folded(self.spec, (r.value for r in records)))
        evictor.evict_after(records, len(records), window, self._trigger_context)
        self.window_cell.key = (key, state_window)
        self._contents.update([(r.value, r.timestamp) for r in records])

    # Timers.

    def fire_event_timers(self, until: int) -> None:
        self._fire_timers(self.event_timers, until, True)

    def fire_processing_timers(self, until: int) -> None:
        self._fire_timers(self.processing_timers, until, False)

    def _fire_timers(self, queue: Any, until: int, event_time: bool) -> None:
        for timestamp, (key, window) in queue.pop_due(until):
            self.cell.key = key
            windows = None if self._merging is None else self._window_set()
            state_window = window if windows is None else windows.state_window(window)
            if state_window is None:
                continue  # The window was merged into another one.
            self.window_cell.key = (key, window)
            on_time = self._trigger.on_event_time if event_time else self._trigger.on_processing_time
            try:
                result = self._checked(on_time(timestamp, window, self._trigger_context))
            except Exception as error:
                raise self.failed(error, where=f"trigger of {window!r}, key {key!r}") from error
            self._act(result, key, window, state_window)
            if event_time == self._event_time and timestamp == self._cleanup_time(window):
                self._drop(key, window, state_window, windows)
            if windows is not None:
                self._persist(windows)
        self.flush()

    def _checked(self, result: Any) -> TriggerResult:
        if not isinstance(result, TriggerResult):
            raise TypeError(
                f"{type(self._trigger).__name__} returned {result!r}; a trigger must return a TriggerResult, such "
                "as TriggerResult.CONTINUE"
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
        if time == MAX_TIMESTAMP:
            return  # A window that never ends needs no clean-up.
        queue = self.event_timers if self._event_time else self.processing_timers
        queue.register(time, (key, window))

    def _drop(self, key: Any, window: Any, state_window: Any, windows: MergingWindowSet | None) -> None:
        """Forget everything about a window."""
        self.window_cell.key = (key, state_window)
        self._contents.clear()
        self.window_cell.key = (key, window)
        self._trigger.clear(window, self._trigger_context)
        if isinstance(self.function, ProcessWindowFunction | ProcessAllWindowFunction):
            self.window_context.current = window
            self.function.clear(self.window_context)  # type: ignore[arg-type]
        if windows is not None:
            windows.retire(window)

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
        key, last = self.cell.key, result.max_timestamp()
        now = self.watermark if self._event_time else self.context.clock()
        if last + self._lateness <= now and now != MIN_TIMESTAMP:
            kind = "event-time" if self._event_time else "processing-time"
            raise GraphError(
                f"the end of the {kind} window cannot become earlier than now by merging: window {result!r}, now {now}"
            )
        context = self._trigger_context
        self.window_cell.key = (key, result)
        context.merged_windows = merged
        self._trigger.on_merge(result, context)
        for window in merged:
            if window == result:
                continue
            self.window_cell.key = (key, window)
            self._trigger.clear(window, context)
            queue = self.event_timers if self._event_time else self.processing_timers
            queue.delete(self._cleanup_time(window), (key, window))
        self._contents.merge_namespaces(key, kept, others)
        self.window_cell.key = (key, result)


class _TriggerContext(Trigger.OnMergeContext):
    """Timers and state of a trigger, at the operator's current key and window; serves evictors too."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._states: dict[str, Any] = {}
        self.merged_windows: list[Any] = []

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_metric_group(self) -> Any:
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._operator.processing_timers.register(time, self._operator.window_cell.key)

    def register_event_time_timer(self, time: int) -> None:
        self._operator.event_timers.register(time, self._operator.window_cell.key)

    def delete_processing_time_timer(self, time: int) -> None:
        self._operator.processing_timers.delete(time, self._operator.window_cell.key)

    def delete_event_time_timer(self, time: int) -> None:
        self._operator.event_timers.delete(time, self._operator.window_cell.key)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)

    def _state(self, descriptor: Any) -> Any:
        name = descriptor.get_name()
        state = self._states.get(name)
        if state is None:
            backend = self._operator.context.backend
            assert backend is not None
            # Under a name of its own: a trigger's "count" is not the user's.
            renamed = copy.copy(descriptor)
            renamed.name = f"trigger-{name}"
            state = backend.get_or_create(renamed, self._operator.window_cell, namespaced=True)
            self._states[name] = state
        return state

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        state = self._state(state_descriptor)
        if not hasattr(state, "merge_namespaces"):
            raise GraphError(
                f"the trigger state {state_descriptor.get_name()!r} cannot be merged: use list, reducing or "
                "aggregating state in a trigger for windows that merge"
            )
        key, window = self._operator.window_cell.key
        state.merge_namespaces(key, window, [w for w in self.merged_windows if w != window])


class _AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._runtime_context = OperatorRuntimeContext(operator.context, operator.cell)

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> Any:
        return self._runtime_context


