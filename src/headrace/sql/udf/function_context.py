"""What users' functions may ask about their surroundings."""

from __future__ import annotations

from typing import Any

__all__ = ["FunctionContext"]


class FunctionContext:
    """What a function may ask about its surroundings, in `open`."""

    def __init__(self, runtime_context: Any, job_parameters: dict[str, str]) -> None:
        self._runtime = runtime_context
        self._job_parameters = job_parameters

    def get_metric_group(self) -> Any:
        """Metrics of the function."""
        return self._runtime.get_metrics_group()

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A parameter of the job."""
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str:
        """The name of the task."""
        return str(self._runtime.get_task_name())

    def get_task_name_with_subtasks(self) -> str:
        """The name of the task with the number of its subtask."""
        return str(self._runtime.get_task_name_with_subtasks())

    def get_number_of_parallel_subtasks(self) -> int:
        """How many subtasks there are."""
        return int(self._runtime.get_number_of_parallel_subtasks())

    def get_max_number_of_parallel_subtasks(self) -> int:
        """How many subtasks there can be."""
        return int(self._runtime.get_max_number_of_parallel_subtasks())

    def get_index_of_this_subtask(self) -> int:
        """The number of the subtask, from 0."""
        return int(self._runtime.get_index_of_this_subtask())

    def get_attempt_number(self) -> int:
        """How often the task was started before."""
        return int(self._runtime.get_attempt_number())
