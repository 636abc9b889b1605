"""What every user function has in common.

Its life cycle (`Function`) and its view of the runtime (`RuntimeContext`). The runtime subclasses
the contexts; user code subclasses the functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.common.errors import FunctionTypeError, HeadraceError
from headrace.datastream.functions.accumulators import (
    Accumulator,
    DoubleCounter,
    Histogram,
    IntCounter,
    LongCounter,
)

if TYPE_CHECKING:
    from headrace.datastream.state import (
        AggregatingState,
        AggregatingStateDescriptor,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        ValueState,
        ValueStateDescriptor,
    )
    from headrace.metrics import MetricGroup

__all__ = [
    "DistributedCache",
    "Function",
    "JobInfo",
    "KeyedStateStore",
    "RichFunction",
    "RuntimeContext",
    "TaskInfo",
]

ACC = TypeVar("ACC", bound=Accumulator[Any, Any])


class KeyedStateStore(ABC):
    """Hands out state that is kept separately for every key.

    A handle is asked for once, normally in `Function.open`, and then used for all records: the
    runtime makes the key of the current record (or firing timer) current before it calls the
    function. State with the same name is the same state. Only functions on a keyed stream have
    keyed state.
    """

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        """Returns the value state with the descriptor's name."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Returns the list state with the descriptor's name."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        """Returns the map state with the descriptor's name."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        """Returns the reducing state with the descriptor's name."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        """Returns the aggregating state with the descriptor's name."""


class DistributedCache(ABC):
    """Files that were registered with `StreamExecutionEnvironment.register_cached_file`."""

    @abstractmethod
    def get_file(self, name: str) -> Path:
        """Returns the local path of the file or directory that was registered as `name`."""


@dataclass(frozen=True)
class JobInfo:
    """Identity of the running job."""

    job_id: str
    job_name: str

    def get_job_id(self) -> str:
        """Returns the job's id as hexadecimal text."""
        return self.job_id

    def get_job_name(self) -> str:
        """Returns the name given to `execute`."""
        return self.job_name


@dataclass(frozen=True)
class TaskInfo:
    """Identity of the running subtask."""

    task_name: str
    max_number_of_parallel_subtasks: int
    index_of_this_subtask: int
    number_of_parallel_subtasks: int
    attempt_number: int

    def get_task_name(self) -> str:
        """Returns the operator's name."""
        return self.task_name

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Returns the max parallelism, that is the number of key groups."""
        return self.max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int:
        """Returns the subtask's index, from 0."""
        return self.index_of_this_subtask

    def get_number_of_parallel_subtasks(self) -> int:
        """Returns the operator's parallelism."""
        return self.number_of_parallel_subtasks

    def get_attempt_number(self) -> int:
        """Returns how often the subtask was restarted; 0 in the first attempt."""
        return self.attempt_number

    def get_task_name_with_subtasks(self) -> str:
        """Returns name, subtask and attempt, such as `Map (3/6)#0`."""
        index, total = self.index_of_this_subtask + 1, self.number_of_parallel_subtasks
        return f"{self.task_name} ({index}/{total})#{self.attempt_number}"


class RuntimeContext(KeyedStateStore):
    """What a function may know about the subtask it runs in.

    The runtime passes it to `Function.open` and keeps it valid until `Function.close` has returned.
    """

    @abstractmethod
    def get_task_name(self) -> str:
        """Returns the operator's name."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """Returns the operator's parallelism."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """Returns the max parallelism, that is the number of key groups."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """Returns the subtask's index, from 0 to the parallelism minus 1."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """Returns how often the subtask was restarted; 0 in the first attempt."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """Returns name, subtask and attempt, such as `Map (3/6)#0`; subtasks count from 1 here."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Returns a global job parameter, or `default_value` if the job has none with that key."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Returns the operator's metric group, for counters, gauges, meters and distributions."""

    def get_metric_group(self) -> MetricGroup:
        """Same as `get_metrics_group`, under Flink's Java name."""
        return self.get_metrics_group()

    def get_global_job_parameters(self) -> dict[str, str]:
        """Returns all global job parameters."""
        raise _unavailable(self, "get_global_job_parameters")

    def get_job_info(self) -> JobInfo:
        """Returns id and name of the job."""
        raise _unavailable(self, "get_job_info")

    def get_task_info(self) -> TaskInfo:
        """Returns name, parallelism, index and attempt of the subtask in one object."""
        return TaskInfo(
            task_name=self.get_task_name(),
            max_number_of_parallel_subtasks=self.get_max_number_of_parallel_subtasks(),
            index_of_this_subtask=self.get_index_of_this_subtask(),
            number_of_parallel_subtasks=self.get_number_of_parallel_subtasks(),
            attempt_number=self.get_attempt_number(),
        )

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Registers an accumulator; its value is in the job's result, merged over all subtasks.

        Args:
            name: Name within the job. Subtasks that use one name must use one kind of accumulator.
            accumulator: A fresh accumulator of this subtask.
        """
        raise _unavailable(self, "add_accumulator")

    def get_accumulator(self, name: str) -> Accumulator[Any, Any] | None:
        """Returns this subtask's accumulator with that name, or None if there is none yet."""
        raise _unavailable(self, "get_accumulator")

    def get_int_counter(self, name: str) -> IntCounter:
        """Returns the counter with that name; creates and registers it on first use."""
        return self._accumulator(name, IntCounter)

    def get_long_counter(self, name: str) -> LongCounter:
        """Returns the counter with that name; creates and registers it on first use."""
        return self._accumulator(name, LongCounter)

    def get_double_counter(self, name: str) -> DoubleCounter:
        """Returns the counter with that name; creates and registers it on first use."""
        return self._accumulator(name, DoubleCounter)

    def get_histogram(self, name: str) -> Histogram:
        """Returns the histogram with that name; creates and registers it on first use."""
        return self._accumulator(name, Histogram)

    def get_distributed_cache(self) -> DistributedCache:
        """Returns the files that were registered with the environment."""
        raise _unavailable(self, "get_distributed_cache")

    def _accumulator(self, name: str, kind: type[ACC]) -> ACC:
        known = self.get_accumulator(name)
        if known is None:
            fresh = kind()
            self.add_accumulator(name, fresh)
            return fresh
        if type(known) is not kind:
            raise FunctionTypeError(
                f"accumulator {name!r} is a {type(known).__name__}, not a {kind.__name__}; "
                "use another name or the same kind everywhere"
            )
        return known


def _unavailable(context: object, method: str) -> HeadraceError:
    return HeadraceError(
        f"{method}() is not available here: {type(context).__name__} does not provide it"
    )


class Function(ABC):  # noqa: B024 - subclasses add the abstract methods
    """Base of all user functions.

    One object serves one subtask. It is built where the program is written, pickled, and lives in
    its subtask from `open` to `close`; fields set in `open` stay until `close`. The runtime calls a
    function from one thread only.
    """

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: B027
        """Called once before the first record, after state has been restored."""

    def close(self) -> None:  # noqa: B027
        """Called once after the last record, and also when the job fails or is cancelled."""

    def get_runtime_context(self) -> Any:
        """Refused where `open` is given the context; for those who know Flink's Java API."""
        raise HeadraceError(
            f"{type(self).__name__} gets its runtime context in open(self, runtime_context): ask "
            "for state there, not in __init__, which runs where the program is built"
        )


class RichFunction(Function):
    """A function that can ask for its runtime context at any time between `open` and `close`.

    The runtime calls `set_runtime_context` just before `open`.
    """

    _runtime_context: RuntimeContext | None = None

    def set_runtime_context(self, runtime_context: RuntimeContext) -> None:
        """Called by the runtime before `open`."""
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """Returns the context of the subtask."""
        if self._runtime_context is None:
            raise HeadraceError(
                f"{type(self).__name__} has no runtime context yet; use it in open() or later, "
                "not in __init__, which runs where the program is built"
            )
        return self._runtime_context

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the runtime context out: it belongs to one subtask."""
        state = dict(self.__dict__)
        state.pop("_runtime_context", None)
        return state
