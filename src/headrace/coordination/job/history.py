"""What happened to a job: the states it went through, and the failures behind its restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.common.errors import JobExecutionError
from headrace.common.job_status import JobStatus

KEPT_FAILURES = 16
"""As many as Flink keeps (`web.exception-history-size`)."""


_S = JobStatus
TRANSITIONS: dict[JobStatus, frozenset[JobStatus]] = {
    _S.CREATED: frozenset({_S.RUNNING, _S.RESTARTING, _S.FAILING, _S.CANCELLING}),
    _S.RUNNING: frozenset({_S.FINISHED, _S.RESTARTING, _S.FAILING, _S.CANCELLING}),
    _S.RESTARTING: frozenset({_S.RUNNING, _S.FAILING, _S.CANCELLING}),
    _S.FAILING: frozenset({_S.FAILED}),
    _S.CANCELLING: frozenset({_S.CANCELED, _S.FINISHED, _S.FAILED}),
}
"""As in Flink: a failure that is followed by a restart does not make the job `FAILING`."""


@dataclass(frozen=True)
class StatusChange:
    """A state and since when the job was in it, in milliseconds."""

    status: JobStatus
    timestamp_ms: int


@dataclass(frozen=True)
class FailureEntry:
    """A failure that ended an attempt at the job.

    `task_name` and `location` are None where no single task is to blame. `checkpoint` is what the
    failed attempt had started from, and `note` what was done about it beyond a restart.
    """

    timestamp_ms: int
    attempt: int
    exception_name: str
    message: str
    stacktrace: str
    task_name: str | None = None
    location: str | None = None
    checkpoint: int | None = None
    note: str | None = None


class JobHistory:
    """Written by the job master, read by whoever shows the job."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.states = [StatusChange(JobStatus.CREATED, self._now_ms())]
        self.failures: list[FailureEntry] = []
        self.failure_count = 0

    @property
    def root_failure(self) -> FailureEntry | None:
        """The failure that the last restart, or the end of the job, is due to."""
        return self.failures[-1] if self.failures else None

    @property
    def truncated(self) -> bool:
        """Whether there were more failures than are kept."""
        return self.failure_count > len(self.failures)

    @property
    def status(self) -> JobStatus:
        """The state of the job now."""
        return self.states[-1].status

    def move_to(self, status: JobStatus) -> bool:
        """Follow a transition if the table has it."""
        if status not in TRANSITIONS.get(self.status, ()):
            return False
        self.states.append(StatusChange(status, self._now_ms()))
        return True

    def since(self, status: JobStatus) -> int | None:
        """When the job was last put into a state."""
        found = (s.timestamp_ms for s in reversed(self.states) if s.status is status)
        return next(found, None)

    def failed(
        self,
        error: JobExecutionError,
        attempt: int,
        task_name: str | None,
        location: str | None,
        checkpoint: int | None,
    ) -> None:
        """An attempt failed."""
        cause = error.__cause__ or error
        self.failure_count += 1
        self.failures.append(
            FailureEntry(
                self._now_ms(),
                attempt,
                type(cause).__name__,
                error.message,
                str(error),
                task_name,
                location,
                checkpoint,
            )
        )
        del self.failures[:-KEPT_FAILURES]

    def annotate(self, note: str) -> None:
        """Add to the last failure what was done about it."""
        self.failures[-1] = replace(self.failures[-1], note=note)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
