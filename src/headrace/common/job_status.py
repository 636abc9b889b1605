"""`JobStatus`, the states of a job."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """Where a job is in its life."""

    CREATED = 0
    """Accepted; nothing runs yet."""
    RUNNING = 1
    """Subtasks are being deployed or run."""
    FAILING = 2
    """Failed; its subtasks are being cleaned up."""
    FAILED = 3
    """Failed for good."""
    CANCELLING = 4
    """Being cancelled."""
    CANCELED = 5
    """Cancelled."""
    FINISHED = 6
    """Done: every subtask came to its end."""
    RESTARTING = 7
    """Failed, and about to start again under its restart strategy."""
    SUSPENDED = 8
    """Stopped here, but not removed from the store it can be recovered from."""
    RECONCILING = 9
    """Taken over by a new job manager that is still collecting reports."""

    def is_globally_terminal_state(self) -> bool:
        """Whether the job is over everywhere: it will neither run nor be recovered again."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job is over here; a suspended one may be recovered elsewhere."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
