"""A job that another process of this user runs, with the handle that jobs of this process have."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from headrace.common.errors import JobCancelledError, JobExecutionError
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.access.control_client import call, cancel
from headrace.coordination.access.job_registry import JobEntry, JobRegistry

__all__ = ["OtherJob"]

T = TypeVar("T")

_LOOK_S = 0.2


class OtherJob:
    """Asks a job over its control socket. It is a `JobHandle`."""

    def __init__(self, entry: JobEntry, registry: JobRegistry | None = None) -> None:
        self._entry = entry
        self._registry = registry or JobRegistry()
        self._result: Future[JobExecutionResult] | None = None

    @staticmethod
    def find(job_id: str) -> OtherJob | None:
        """The job of an id, if it runs where this process can see it."""
        registry = JobRegistry()
        entry = registry.get(job_id)
        return OtherJob(entry, registry) if entry is not None and entry.running else None

    @property
    def job_id(self) -> JobID:
        return JobID.from_hex_string(self._entry.job_id)

    def status(self) -> JobStatus:
        # Its entry may have been removed, long after its end.
        self._entry = self._registry.get(self._entry.job_id) or self._entry
        return JobStatus[self._entry.state]

    def cancel(self) -> Future[None]:
        return _started(lambda: cancel(self._entry))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        drain, directory = advance_to_end_of_event_time, savepoint_directory
        return _started(lambda: call(self._entry, "stop", drain=drain, directory=directory))

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        return _started(lambda: call(self._entry, "savepoint", directory=savepoint_directory))

    def rescale(self, parallelism: int) -> Future[None]:
        return _started(lambda: call(self._entry, "rescale", parallelism=parallelism))

    def accumulators(self) -> dict[str, Any]:
        # They stay in the process of the job.
        return {}

    def facts(self) -> dict[str, object]:
        return {"process": self._entry.pid}

    def result_future(self) -> Future[JobExecutionResult]:
        if self._result is None:
            self._result = _started(self._ended)
        return self._result

    def _ended(self) -> JobExecutionResult:
        while not self.status().is_terminal_state():
            time.sleep(_LOOK_S)
        entry = self._entry
        if entry.state == JobStatus.CANCELED.name:
            raise JobCancelledError(f"job {entry.job_id} ({entry.name}) was cancelled")
        if entry.state == JobStatus.FAILED.name:
            raise JobExecutionError(f"job {entry.job_id} ({entry.name}) failed: {entry.error}")
        duration_ms = (entry.ended_ms or entry.started_ms) - entry.started_ms
        return JobExecutionResult(self.job_id, duration_ms, {})


def _started(work: Callable[[], T]) -> Future[T]:
    """What comes out of some work on a thread of its own."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="headrace-other-job").start()
    return future
