"""From what ended an attempt to the error that a user sees."""

from __future__ import annotations

from headrace.common.errors import (
    CheckpointError,
    CheckpointFailureReason,
    JobCancelledError,
    JobExecutionError,
)
from headrace.coordination.job.attempt import AttemptCancelledError, AttemptFailedError


def job_error(raised: BaseException, job_id: str, job_name: str) -> JobExecutionError:
    """The error of a job; the exception of a user's function is its cause."""
    if isinstance(raised, JobExecutionError):
        return raised
    if isinstance(raised, AttemptCancelledError):
        return JobCancelledError("the job was cancelled", job_id=job_id, job_name=job_name)
    failure = raised.failure if isinstance(raised, AttemptFailedError) else None
    if failure is None or isinstance(failure, str):
        text = failure or f"{type(raised).__name__}: {raised}"
        error = JobExecutionError(text, job_id=job_id, job_name=job_name)
        error.__cause__ = None if failure else raised
        return error
    error = failure.to_error(job_id, job_name)
    error.__cause__ = failure.cause()
    return error


def checkpoint_failure(error: JobExecutionError | None) -> CheckpointError | None:
    """What was wrong with the checkpoint that an attempt was to start from, if that failed it."""
    cause = error.__cause__ if error is not None else None
    reasons = (CheckpointFailureReason.RESTORE_FAILURE, CheckpointFailureReason.STATE_MISMATCH)
    return cause if isinstance(cause, CheckpointError) and cause.reason in reasons else None
