"""The `RuntimeContext` that user functions get in `open()`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.common.errors import ConfigurationError, FunctionTypeError, StateError
from headrace.datastream.functions import (
    Accumulator,
    DistributedCache,
    Function,
    JobInfo,
    RichFunction,
    RuntimeContext,
)
from headrace.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.metrics import MetricGroup
from headrace.runtime.operator import OperatorContext
from headrace.runtime.state.key_cell import KeyCell


class OperatorRuntimeContext(RuntimeContext):
    """Backed by the operator's context; keyed state is bound to the operator's cell."""

    def __init__(self, context: OperatorContext, cell: KeyCell | None = None) -> None:
        self._context = context
        self._task = context.task
        self._cell = cell

    def get_task_name(self) -> str:
        return self._task.vertex_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._task.subtask

    def get_attempt_number(self) -> int:
        return self._task.restarts

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._task.name_with_subtask}#{self._task.restarts}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._task.job_parameters.get(key, default_value)

    def get_global_job_parameters(self) -> dict[str, str]:
        return dict(self._task.job_parameters)

    def get_job_info(self) -> JobInfo:
        return JobInfo(self._task.job_id, self._task.job_name)

    def get_metrics_group(self) -> MetricGroup:
        group: MetricGroup = self._context.metrics
        return group

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        state: ValueState[Any] = self._state(state_descriptor, ValueStateDescriptor)
        return state

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        state: ListState[Any] = self._state(state_descriptor, ListStateDescriptor)
        return state

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        state: MapState[Any, Any] = self._state(state_descriptor, MapStateDescriptor)
        return state

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        state: ReducingState[Any] = self._state(state_descriptor, ReducingStateDescriptor)
        return state

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        state: AggregatingState[Any, Any] = self._state(
            state_descriptor, AggregatingStateDescriptor
        )
        return state

    def _state(self, descriptor: StateDescriptor, kind: type[StateDescriptor]) -> Any:
        if not isinstance(descriptor, kind):
            raise FunctionTypeError(
                f"a {kind.__name__} is needed here, not {type(descriptor).__name__}"
            )
        if self._context.backend is None or self._cell is None:
            raise StateError(
                "This state is only accessible by functions executed on a KeyedStream. Call "
                f"key_by() before operator {self._context.name!r}, which has {descriptor}"
            )
        if descriptor.is_queryable():
            self._context.queryable[descriptor.get_queryable_state_name()] = descriptor
        return self._context.backend.get_or_create(descriptor, self._cell)

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        if name in self._context.accumulators:
            raise FunctionTypeError(
                f"accumulator {name!r} already exists in this subtask: use another name"
            )
        self._context.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        found: Accumulator[Any, Any] | None = self._context.accumulators.get(name)
        return found

    def get_distributed_cache(self) -> DistributedCache:
        return _CachedFiles(self._task.cached_files)


class _CachedFiles(DistributedCache):
    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def get_file(self, name: str) -> Path:
        if name not in self._files:
            raise ConfigurationError(
                f"no cached file {name!r}; the registered files are {sorted(self._files)}: call "
                "env.register_cached_file(path, name)"
            )
        return Path(self._files[name])


def open_function(function: Any, context: RuntimeContext) -> None:
    """Give a user function its context and open it."""
    if isinstance(function, RichFunction):
        function.set_runtime_context(context)
    if isinstance(function, Function):
        function.open(context)


def close_function(function: Any) -> None:
    """Close a user function."""
    if isinstance(function, Function):
        function.close()
