"""Tells listeners about one job, with the reports of its subtasks added up by operator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from headrace.common.job_client import JobClient, JobHandle
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_listener import EpochStatistics, JobListener, OperatorStatistics
from headrace.coordination.job.options import EpochSummary
from headrace.graph.job_graph import JobVertex
from headrace.runtime.epoch import EpochReport

_log = logging.getLogger(__name__)


class JobListeners:
    """The listeners of one job; what they raise is logged and does not reach the job."""

    def __init__(
        self,
        listeners: Sequence[JobListener],
        on_epoch: Callable[[EpochSummary], None] | None = None,
    ) -> None:
        self._listeners = tuple(listeners)
        self._on_epoch = on_epoch

    def submitted(self, master: JobHandle) -> None:
        self._tell("on_job_submitted", JobClient(master), None)
        master.result_future().add_done_callback(self._executed)

    def not_submitted(self, error: BaseException) -> None:
        self._tell("on_job_submitted", None, error)

    def epoch(self, summary: EpochSummary) -> None:
        if self._on_epoch is not None:
            self._on_epoch(summary)
        if self._listeners:
            self._tell("on_epoch", statistics_of(summary))

    def _executed(self, future: Future[JobExecutionResult]) -> None:
        error = future.exception()
        self._tell("on_job_executed", future.result() if error is None else None, error)

    def _tell(self, what: str, *arguments: Any) -> None:
        for listener in self._listeners:
            call: Callable[..., None] = getattr(listener, what)
            try:
                call(*arguments)
            except Exception:  # noqa: BLE001 - a listener of the user's; the job goes on
                _log.warning("%s of %r raised", what, listener, exc_info=True)


def statistics_of(summary: EpochSummary) -> EpochStatistics:
    """The figures of an epoch by operator, in the order of the graph."""
    job_graph = summary.job_graph
    by_vertex: dict[str, list[EpochReport]] = {}
    for report in summary.reports:
        by_vertex.setdefault(report.vertex, []).append(report)
    sources = {v.id for v in job_graph.vertices if v.is_source}
    operators = tuple(
        _operator(vertex, position, by_vertex[vertex.id])
        for vertex in job_graph.vertices
        for position in range(len(vertex.operators))
    )
    return EpochStatistics(
        epoch=summary.epoch,
        duration_ms=summary.duration_s * 1000,
        records_read=sum(r.records_read for r in summary.reports if r.vertex in sources),
        busy_ms=tuple(sorted((r.busy_ms for r in summary.reports), reverse=True)),
        operators=operators,
    )


def _operator(
    vertex: JobVertex, position: int, reports: Sequence[EpochReport]
) -> OperatorStatistics:
    parts = [report.operators[position] for report in reports]
    return OperatorStatistics(
        name=parts[0].name,
        parallelism=vertex.parallelism,
        records_in=sum(p.records_in for p in parts),
        records_out=sum(p.records_out for p in parts),
        watermark=min(p.watermark for p in parts),
    )
