"""`JobExecutionResult`: what remains of a job when it is finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common.display.html import html_facts
from headrace.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Id, running time and accumulators of a finished job."""

    __slots__ = ("_accumulators", "_job_id", "_net_runtime_ms")

    def __init__(
        self,
        job_id: JobID,
        net_runtime_ms: int = 0,
        accumulators: Mapping[str, Any] | None = None,
    ) -> None:
        """Records the result of a job."""
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """How long the job ran, in milliseconds."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The value of an accumulator, or None if there is none of that name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The values of all accumulators, by name."""
        return dict(self._accumulators)

    def _repr_html_(self) -> str:
        facts = {"id": self._job_id, "ran for": f"{self._net_runtime_ms:,} ms"}
        return html_facts("finished job", facts | self._accumulators)

    def __str__(self) -> str:
        """A few lines for people."""
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime_ms} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results:")
            lines += [f"- {name}: {value}" for name, value in self._accumulators.items()]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        """Id and running time."""
        return f"JobExecutionResult({self._job_id!r}, {self._net_runtime_ms})"
