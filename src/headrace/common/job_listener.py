"""`JobListener`: what a program can be told about its running jobs, and the figures it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient
    from headrace.common.job_execution_result import JobExecutionResult

__all__ = ["EpochStatistics", "JobListener", "OperatorStatistics"]


@dataclass(frozen=True)
class OperatorStatistics:
    """Figures of one operator, over all of its subtasks.

    Attributes:
        name: The operator's name.
        parallelism: Number of its subtasks.
        records_in: Records that it has taken since the job started.
        records_out: Records that it has emitted since the job started, side outputs included.
        watermark: Event time of the subtask that is furthest behind, in milliseconds; the lowest
            number there is before the first watermark, the highest one after the end of the input.
    """

    name: str
    parallelism: int
    records_in: int
    records_out: int
    watermark: int


@dataclass(frozen=True)
class EpochStatistics:
    """Figures of one epoch, and of the job up to its end.

    Attributes:
        epoch: Number of the epoch, from 1.
        duration_ms: How long it took.
        records_read: Records that sources read in it.
        busy_ms: How long each subtask worked in it, the busiest one first.
        operators: All operators, sources first.
    """

    epoch: int
    duration_ms: float
    records_read: int
    busy_ms: tuple[float, ...]
    operators: tuple[OperatorStatistics, ...]


class JobListener:
    """Told about the jobs of an environment; override what you need.

    Methods are called one after the other for each job, but not on the program's main thread, and
    the job waits for them: return soon. An exception is logged and otherwise ignored.

    Example:
        >>> class Progress(JobListener):
        ...     def on_epoch(self, statistics):
        ...         print(statistics.epoch, statistics.records_read)
        >>> env.register_job_listener(Progress())
    """

    def on_job_submitted(self, job_client: JobClient | None, error: BaseException | None) -> None:
        """A job was started, or could not be: one of the two is None."""

    def on_epoch(self, statistics: EpochStatistics) -> None:
        """An epoch of the job is over."""

    def on_job_executed(
        self, result: JobExecutionResult | None, error: BaseException | None
    ) -> None:
        """The job has ended, with a result or with an error."""
