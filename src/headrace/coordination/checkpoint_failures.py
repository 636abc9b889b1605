"""How many checkpoints may fail in a row before the job does."""

from __future__ import annotations

from headrace.common.errors import CheckpointError, CheckpointFailureReason

_Reason = CheckpointFailureReason

COUNTED = frozenset({_Reason.DECLINED, _Reason.EXPIRED, _Reason.FINALIZE_FAILURE, _Reason.IO_ERROR})
"""What Flink counts as well: storage, a part that could not be written, and time.

A checkpoint that ended with its job, its attempt or by a newer one is nobody's failure. An
exception in a function's `snapshot_state` never gets here: it fails the task, as in Flink.
"""


class ToleratedFailures:
    """Counts failures in a row; a complete checkpoint starts the count again."""

    def __init__(self, tolerated: int) -> None:
        self._tolerated = tolerated
        self._in_a_row = 0

    def succeeded(self) -> None:
        """A checkpoint is complete."""
        self._in_a_row = 0

    def failed(self, error: CheckpointError) -> CheckpointError | None:
        """A checkpoint failed. The error that the job fails with, if that was one too many."""
        if error.reason not in COUNTED:
            return None
        self._in_a_row += 1
        if self._in_a_row <= self._tolerated:
            return None
        failures, self._in_a_row = self._in_a_row, 0
        return CheckpointError(
            f"{failures} checkpoints in a row failed and {self._tolerated} are tolerated "
            f"(execution.checkpointing.tolerable-failed-checkpoints); the last one: {error}",
            _Reason.TOO_MANY_FAILURES,
            checkpoint_id=error.checkpoint_id,
        )
