"""What triggers, evictors and assigners see of the window operator."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from headrace.common.errors import StateError
from headrace.datastream.window import Trigger, WindowAssigner
from headrace.runtime.functions.runtime_context import OperatorRuntimeContext

if TYPE_CHECKING:
    from headrace.runtime.operators.window.operator import WindowOperator


class TriggerContext(Trigger.OnMergeContext):
    """Timers and state of a trigger at the current key and window; serves evictors too."""

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
        self._operator.delete_timer(self._operator.processing_timers, time)

    def delete_event_time_timer(self, time: int) -> None:
        self._operator.delete_timer(self._operator.event_timers, time)

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        name = state_descriptor.get_name()
        state = self._states.get(name)
        if state is None:
            backend = self._operator.context.backend
            assert backend is not None
            # Under a name of its own: a trigger's "count" is not the user's.
            renamed = copy.copy(state_descriptor)
            renamed.name = f"trigger-{name}"
            state = backend.get_or_create(renamed, self._operator.window_cell, namespaced=True)
            self._states[name] = state
        return state

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        state = self.get_partitioned_state(state_descriptor)
        if not hasattr(state, "merge_namespaces"):
            raise StateError(
                f"the trigger state {state_descriptor.get_name()!r} cannot be merged: use list, "
                "reducing or aggregating state in a trigger for windows that merge"
            )
        key, window = self._operator.window_cell.key
        state.merge_namespaces(key, window, [w for w in self.merged_windows if w != window])


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """Clock and state for assigners, at the operator's current key."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._runtime_context = OperatorRuntimeContext(operator.context, operator.cell)

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock()

    def get_runtime_context(self) -> Any:
        return self._runtime_context
