"""States and failures of a job, as they are kept for those who ask later."""

from __future__ import annotations

from itertools import count

from headrace.common.errors import JobExecutionError
from headrace.common.job_status import JobStatus
from headrace.coordination.job.history import KEPT_FAILURES, JobHistory


def history() -> JobHistory:
    seconds = count(1)
    return JobHistory(lambda: next(seconds))


def test_states_come_with_their_time() -> None:
    job = history()
    for status in (JobStatus.RUNNING, JobStatus.RESTARTING, JobStatus.RUNNING, JobStatus.FINISHED):
        assert job.move_to(status)
    assert [(s.status.name, s.timestamp_ms) for s in job.states] == [
        ("CREATED", 1000),
        ("RUNNING", 2000),
        ("RESTARTING", 3000),
        ("RUNNING", 4000),
        ("FINISHED", 5000),
    ]
    assert job.since(JobStatus.RUNNING) == 4000
    assert job.since(JobStatus.FAILED) is None


def test_a_job_that_is_over_or_being_cancelled_does_not_run_again() -> None:
    job = history()
    job.move_to(JobStatus.CANCELLING)
    assert not job.move_to(JobStatus.RUNNING)
    job.move_to(JobStatus.CANCELED)
    assert not job.move_to(JobStatus.CANCELLING)
    assert job.status is JobStatus.CANCELED


def test_failures_say_what_where_and_when() -> None:
    job = history()
    error = JobExecutionError("division by zero", operator_name="map", subtask=1)
    error.__cause__ = ZeroDivisionError("division by zero")
    job.failed(error, 2, "map (2/4)", "host:17", 5)
    job.annotate("went back to checkpoint 4")
    found = job.root_failure
    assert found is not None
    assert (found.exception_name, found.task_name, found.location) == (
        "ZeroDivisionError",
        "map (2/4)",
        "host:17",
    )
    assert (found.attempt, found.checkpoint, found.timestamp_ms) == (2, 5, 2000)
    assert found.note == "went back to checkpoint 4"


def test_the_last_failures_are_kept() -> None:
    job = history()
    for number in range(KEPT_FAILURES + 3):
        job.failed(JobExecutionError(str(number)), number, None, None, None)
    assert job.truncated
    assert job.failure_count == KEPT_FAILURES + 3
    assert [f.message for f in job.failures] == [str(n) for n in range(3, KEPT_FAILURES + 3)]
