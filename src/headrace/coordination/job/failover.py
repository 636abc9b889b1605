"""What follows a failure: whether, when and from where a job starts again."""

from __future__ import annotations

import logging
import threading
import time

from headrace.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.coordination.job.attempt import AttemptCancelledError, JobAttempt
from headrace.coordination.job.errors import checkpoint_failure
from headrace.coordination.job.history import JobHistory
from headrace.coordination.job.outputs import CollectedOutput
from headrace.coordination.job.restart_policy import RestartPolicy
from headrace.coordination.restore_points import RestorePoints

_log = logging.getLogger(__name__)


class Failover:
    """Decides after every failed attempt, on the job master's thread.

    A failure is judged twice. `decide` is called at once, so that the job's state shows what will
    happen while the slots are still being let go; `restore_after` when they are gone.
    """

    def __init__(
        self,
        job: str,
        policy: RestartPolicy,
        history: JobHistory,
        points: RestorePoints,
        collected: CollectedOutput,
        cancelling: threading.Event,
    ) -> None:
        self._job = job
        self._policy = policy
        self._history = history
        self._points = points
        self._collected = collected
        self._cancelling = cancelling
        self._delay_s: float | None = None
        self.restarts = 0

    def decide(
        self, error: JobExecutionError, attempt: JobAttempt, restore: CompletedCheckpoint | None
    ) -> None:
        """An attempt that started from a checkpoint, or from nothing, has failed."""
        self.note(error, attempt, restore)
        self._delay_s = None
        if restore is not None and checkpoint_failure(error) is not None:
            # The restart strategy has nothing to wait for.
            self._delay_s = 0.0
        elif not self._cancelling.is_set():
            self._delay_s = self._policy.delay_s(time.monotonic())
        goes_on = self._delay_s is not None
        self._history.move_to(JobStatus.RESTARTING if goes_on else JobStatus.FAILING)

    def note(
        self,
        error: JobExecutionError,
        attempt: JobAttempt | None = None,
        restore: CompletedCheckpoint | None = None,
    ) -> None:
        """Keep a failure for those who ask later."""
        self._history.failed(
            error,
            self.restarts,
            attempt.failed_task if attempt is not None else None,
            attempt.failed_location if attempt is not None else None,
            restore.checkpoint if restore is not None else None,
        )

    def goes_on(self, error: JobExecutionError) -> bool:
        """Whether there is another attempt; returns when its time has come.

        Raises:
            AttemptCancelledError: The job was cancelled meanwhile.
        """
        if self._delay_s is None or isinstance(error, JobCancelledError):
            return False
        _log.warning(
            "job %s failed and will restart in %.1f s: %s", self._job, self._delay_s, error.message
        )
        if self._cancelling.wait(self._delay_s):
            raise AttemptCancelledError("the job was cancelled")
        self.restarts += 1
        return True

    def restore_after(
        self, error: JobExecutionError, restore: CompletedCheckpoint | None
    ) -> CompletedCheckpoint | None:
        """What the next attempt starts from.

        Raises:
            CheckpointError: The checkpoint could not be restored, and there is no other.
        """
        unusable = checkpoint_failure(error)
        if unusable is None or restore is None:
            return self._points.latest
        return self._fall_back(restore, unusable)

    def _fall_back(self, restore: CompletedCheckpoint, why: CheckpointError) -> CompletedCheckpoint:
        before = self._points.fall_back(restore, why)
        note = (
            f"checkpoint {restore.checkpoint} cannot be restored, the job goes back to checkpoint "
            f"{before.checkpoint} in {before.directory}; what sinks committed with later "
            "checkpoints is processed again"
        )
        _log.warning("job %s: %s", self._job, note)
        self._history.annotate(note)
        self._collected.fall_back(before.checkpoint)
        return before
