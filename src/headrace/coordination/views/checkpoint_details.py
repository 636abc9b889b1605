"""The checkpoints of a job as `/jobs/:id/checkpoints` and what is below it show them."""

from __future__ import annotations

from typing import Any

from headrace.coordination.checkpoint_history import in_short, subtasks_of, summary_of
from headrace.coordination.job.master import JobMaster

__all__ = ["checkpoint_config", "checkpoint_details", "checkpoints_of"]


def checkpoints_of(master: JobMaster) -> dict[str, Any]:
    """Counts, the latest ones, and the history."""
    history = master.checkpoints.entries()
    done = [c for c in history if c["status"] == "COMPLETED"]
    failed = [c for c in history if c["status"] == "FAILED"]
    under_way = [c for c in history if c["status"] == "IN_PROGRESS"]
    own = [c for c in done if not c["is_savepoint"]]
    savepoints = [c for c in done if c["is_savepoint"]]
    totals = master.checkpoints.totals
    return {
        "counts": {
            "restored": int(master.restored is not None),
            "total": totals["COMPLETED"] + totals["FAILED"] + len(under_way),
            "in_progress": len(under_way),
            "completed": totals["COMPLETED"],
            "failed": totals["FAILED"],
        },
        "summary": summary_of(done),
        "latest": {
            "completed": _last(own),
            "savepoint": _last(savepoints),
            "failed": _last(failed),
            "restored": master.restored,
        },
        "history": [in_short(c) for c in reversed(history)],
    }


def _last(entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    return in_short(entries[-1]) if entries else None


def checkpoint_details(master: JobMaster) -> dict[str, Any]:
    """By number: the checkpoint with its tasks, and by vertex with its subtasks."""
    return {
        str(entry["id"]): {
            "checkpoint": in_short(entry, tasks=True),
            "vertices": {vertex: subtasks_of(entry, vertex) for vertex in entry["tasks"]},
        }
        for entry in master.checkpoints.entries()
    }


def checkpoint_config(master: JobMaster) -> dict[str, Any]:
    """How checkpoints are taken; empty if they are not."""
    settings = master.options.checkpoints
    if not settings.enabled:
        return {}
    return {
        "mode": "exactly_once",
        "interval": settings.interval_ms,
        "timeout": settings.timeout_ms,
        "min_pause": settings.min_pause_ms,
        "max_concurrent": settings.max_concurrent,
        "externalization": {
            "enabled": settings.keep_on_cancellation,
            "delete_on_cancellation": not settings.keep_on_cancellation,
        },
        "state_backend": master.options.state_backend.type,
        "checkpoint_storage": master.checkpoints.store.directory,
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": settings.tolerable_failures,
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 0,
        "changelog_storage": "",
    }
