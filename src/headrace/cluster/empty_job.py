"""What can be told of a program that has no job: not yet, or it ended without one."""

from __future__ import annotations

from typing import Any

__all__ = ["empty_parts"]


def empty_parts(
    overview: dict[str, Any], failure: str | None = None, timestamp: int | None = None
) -> dict[str, Any]:
    """The parts of a job (see `job_details`) with nothing in them, or only a failure."""
    job_id, name, state = overview["jid"], overview["name"], overview["state"]
    status = "critical" if failure else "ok"
    sentence = "The program failed before its job ran." if failure else "The program is starting."
    diagnosis: dict[str, Any] = {
        "status": status,
        "code": "ended" if failure else "starting",
        "sentence": sentence,
        "advice": "The log of the job has what the program wrote." if failure else "",
        "vertex": None,
        "subtask": None,
        "findings": [],
    }
    plan = {"jid": job_id, "name": name, "type": "STREAMING", "nodes": []}
    entry: dict[str, Any] = {
        "exceptionName": "ProgramFailed",
        "stacktrace": failure,
        "timestamp": timestamp,
    }
    history: list[dict[str, Any]] = [
        {**entry, "taskName": None, "endpoint": None, "concurrentExceptions": []}
    ]
    counts = dict.fromkeys(("restored", "total", "in_progress", "completed", "failed"), 0)
    latest = dict.fromkeys(("completed", "savepoint", "failed", "restored"))
    return {
        "overview": overview,
        "job": {
            **overview,
            "isStoppable": False,
            "maxParallelism": 0,
            "now": overview["start-time"] + overview["duration"],
            "timestamps": {state: overview["start-time"]},
            "vertices": [],
            "status-counts": {},
            "plan": plan,
            "diagnosis": diagnosis,
        },
        "plan": {"plan": plan},
        "checkpoints": {"counts": counts, "summary": {}, "latest": latest, "history": []},
        "checkpoint-details": {},
        "checkpoint-config": {},
        "exceptions": {
            "root-exception": failure,
            "timestamp": timestamp,
            "all-exceptions": [],
            "truncated": False,
            "exceptionHistory": {"entries": history if failure else [], "truncated": False},
        },
        "epochs": {"target-ms": 0, "total": 0, "epochs": []},
        "watermarks": {"watermark": None, "held-back-by": None, "vertices": []},
        "vertex-watermarks": {},
        "vertices": {},
        "backpressure": {},
        "metrics": {"id": job_id, "name": name, "job": {}, "vertices": {}},
        "config": {"jid": job_id, "name": name, "execution-config": {}, "settings": []},
        "slots": [],
        "diagnosis": diagnosis,
        "accumulators": {
            "job-accumulators": [],
            "user-task-accumulators": [],
            "serialized-user-task-accumulators": {},
        },
    }
