"""Jobs of PyFlink programs in this process: what Spark would do, a `MiniRunner` does.

A probe is one of hundreds of small programs; starting Spark and slots for each of them would take
most of the time. Programs whose process model matters are in `programs/` and run on Spark.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.job.outputs import Collector
from headrace.graph.job_graph import JobGraph
from headrace.testing.runner import MiniRunner

_LAST_EPOCH = 1


class FinishedJob:
    """A job that has run to its end before anyone could ask."""

    def __init__(self, result: Future[JobExecutionResult], accumulators: dict[str, Any]) -> None:
        self.job_id = JobID()
        self._result = result
        self._accumulators = accumulators

    def status(self) -> JobStatus:
        return JobStatus.FAILED if self._result.exception() else JobStatus.FINISHED

    def cancel(self) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def accumulators(self) -> dict[str, Any]:
        return self._accumulators

    def result_future(self) -> Future[JobExecutionResult]:
        return self._result


def submit(
    job_graph: JobGraph,
    configuration: Configuration,
    *,
    collectors: dict[str, Collector] | None = None,
    cached_files: dict[str, str] | None = None,
    on_epoch: Callable[[Any], None] | None = None,
    lines: int | None = None,
) -> FinishedJob:
    """Run a job as `headrace.spark.executor.submit` does, until it ends or has printed enough."""
    runner = MiniRunner(
        job_graph,
        job_parameters=dict(configuration.get(options.GLOBAL_JOB_PARAMETERS)),
        cached_files=cached_files,
    )
    result: Future[JobExecutionResult] = Future()
    error: BaseException | None = None
    accumulators: dict[str, Any] = {}
    try:
        runner.open()
        while not runner.finished and (lines is None or len(runner.services.printed) < lines):
            runner.run_epoch()
        runner.close()
        accumulators = runner.accumulators()
        result.set_result(JobExecutionResult(JobID(), 0, accumulators))
    except Exception as failure:
        error = failure
        result.set_exception(failure)
    for line in runner.services.printed:
        sys.stdout.write(line + "\n")
    for name, collector in (collectors or {}).items():
        collector.put(pickle.dumps(runner.services.collected.get(name, [])))
        collector.epoch_ended(_LAST_EPOCH)
        collector.commit(_LAST_EPOCH)
        collector.end(error)
    return FinishedJob(result, accumulators)


@contextmanager
def jobs_in_process(lines: int | None = None) -> Iterator[None]:
    """Let `execute()` run jobs in this process; `lines` ends those that have printed so many."""
    with mock.patch("headrace.spark.executor.submit", partial(submit, lines=lines)):
        yield
