"""The checkpoints of a job, as those who watch it see them."""

from __future__ import annotations

from headrace.coordination.bodies.checkpoints import (
    CheckpointConfiguration,
    CheckpointCounts,
    CheckpointDetails,
    Checkpoints,
    CheckpointSummary,
    Externalization,
    LatestCheckpoints,
)
from headrace.coordination.job.master import JobMaster

__all__ = ["checkpoint_config", "checkpoint_details", "checkpoints_of"]


def checkpoints_of(master: JobMaster) -> Checkpoints:
    """Counts, the latest ones, and the history."""
    history = master.checkpoints.entries()
    done = [c for c in history if c.status == "COMPLETED"]
    under_way = sum(c.status == "IN_PROGRESS" for c in history)
    totals = master.checkpoints.totals
    newest_first = tuple(c.in_short() for c in reversed(history))
    completed = [c for c in newest_first if c.status == "COMPLETED"]
    return Checkpoints(
        CheckpointCounts(
            int(master.restored is not None),
            totals["COMPLETED"] + totals["FAILED"] + under_way,
            under_way,
            totals["COMPLETED"],
            totals["FAILED"],
        ),
        CheckpointSummary.of(done),
        LatestCheckpoints(
            next((c for c in completed if not c.is_savepoint), None),
            next((c for c in completed if c.is_savepoint), None),
            next((c for c in newest_first if c.status == "FAILED"), None),
            master.restored,
        ),
        newest_first,
    )


def checkpoint_details(master: JobMaster) -> dict[str, CheckpointDetails]:
    """By number: the checkpoint with its tasks, and by vertex with its subtasks."""
    return {
        str(entry.id): CheckpointDetails(
            entry.in_short(tasks=True), {v: task.summed_up() for v, task in entry.tasks.items()}
        )
        for entry in master.checkpoints.entries()
    }


def checkpoint_config(master: JobMaster) -> CheckpointConfiguration | None:
    """How checkpoints are taken; None if they are not."""
    settings = master.options.checkpoints
    if not settings.enabled:
        return None
    kept = settings.keep_on_cancellation
    return CheckpointConfiguration(
        interval=settings.interval_ms,
        timeout=settings.timeout_ms,
        min_pause=settings.min_pause_ms,
        max_concurrent=settings.max_concurrent,
        externalization=Externalization(kept, not kept),
        state_backend=master.options.state_backend.type,
        checkpoint_storage=master.checkpoints.store.directory,
        tolerable_failed_checkpoints=settings.tolerable_failures,
        unaligned_checkpoints=settings.unaligned,
        aligned_checkpoint_timeout=settings.aligned_timeout_ms,
    )
