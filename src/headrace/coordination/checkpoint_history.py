"""Checkpoints that were taken, in the shapes of Flink's REST interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import SubtaskKey
from headrace.runtime.slot.messages import Snapshotted

__all__ = ["checkpoint_entry", "in_short", "statistics", "subtasks_of", "summary_of"]

_NOTHING_IN_FLIGHT = {"alignment_buffered": 0, "processed_data": 0, "persisted_data": 0}
"""A barrier is the end of an epoch: there is nothing to align, and nothing on the way."""


class TakenCheckpoint(Protocol):
    """What is known of a checkpoint, complete or not."""

    @property
    def checkpoint(self) -> int: ...
    @property
    def directory(self) -> str: ...
    @property
    def started_ms(self) -> int: ...
    @property
    def savepoint(self) -> bool: ...
    @property
    def parts(self) -> Mapping[SubtaskKey, Snapshotted]: ...
    @property
    def acknowledged_ms(self) -> Mapping[SubtaskKey, int]: ...


def checkpoint_entry(
    job_graph: JobGraph,
    taken: TakenCheckpoint,
    status: str,
    ended_ms: int,
    state_size: int,
    why: str | None = None,
) -> dict[str, Any]:
    """A checkpoint with what each subtask did for it."""
    latest = max(taken.acknowledged_ms.values(), default=-1)
    written = sum(p.size for p in taken.parts.values())
    entry: dict[str, Any] = {
        "className": status.lower(),
        "id": taken.checkpoint,
        "status": status,
        "is_savepoint": taken.savepoint,
        "savepointFormat": "CANONICAL" if taken.savepoint else None,
        "trigger_timestamp": taken.started_ms,
        "latest_ack_timestamp": latest,
        "checkpointed_size": written,
        "state_size": state_size,
        "end_to_end_duration": ended_ms - taken.started_ms,
        **_NOTHING_IN_FLIGHT,
        "num_subtasks": sum(v.parallelism for v in job_graph.vertices),
        "num_acknowledged_subtasks": len(taken.parts),
        "checkpoint_type": "SAVEPOINT" if taken.savepoint else "CHECKPOINT",
        "tasks": {v.id: _task(taken, v.id, v.parallelism, status) for v in job_graph.vertices},
        "external_path": taken.directory,
        "discarded": status == "FAILED",
        "failure_message": why,
    }
    if status == "FAILED":
        entry["failure_timestamp"] = ended_ms
    return entry


def _task(
    taken: TakenCheckpoint, vertex: VertexId, parallelism: int, status: str
) -> dict[str, Any]:
    done = [key for key in taken.parts if key[0] == vertex]
    subtasks = [_subtask(taken, vertex, index) for index in range(parallelism)]
    size = sum(taken.parts[key].size for key in done)
    latest = max((taken.acknowledged_ms[key] for key in done), default=-1)
    return {
        "id": taken.checkpoint,
        "status": status,
        "latest_ack_timestamp": latest,
        "checkpointed_size": size,
        "state_size": size,
        "end_to_end_duration": max(latest - taken.started_ms, 0) if done else -1,
        **_NOTHING_IN_FLIGHT,
        "num_subtasks": parallelism,
        "num_acknowledged_subtasks": len(done),
        "subtasks": subtasks,
    }


def _subtask(taken: TakenCheckpoint, vertex: VertexId, index: int) -> dict[str, Any]:
    key = (vertex, index)
    part = taken.parts.get(key)
    if part is None:
        return {"index": index, "status": "pending_or_failed"}
    took_ms = max(taken.acknowledged_ms[key] - taken.started_ms, 0)
    return {
        "index": index,
        "status": "completed",
        "ack_timestamp": taken.acknowledged_ms[key],
        "end_to_end_duration": took_ms,
        "checkpointed_size": part.size,
        "state_size": part.size,
        "checkpoint": {"sync": 0, "async": took_ms},
        "alignment": {"buffered": 0, "processed": 0, "persisted": 0, "duration": 0},
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
    }


def in_short(entry: Mapping[str, Any], *, tasks: bool = False) -> dict[str, Any]:
    """An entry without its subtasks, and if not wanted without its tasks."""
    shown = {
        vertex: {name: value for name, value in task.items() if name != "subtasks"}
        for vertex, task in entry["tasks"].items()
    }
    return {**entry, "tasks": shown if tasks else {}}


def subtasks_of(entry: Mapping[str, Any], vertex: str) -> dict[str, Any] | None:
    """What the subtasks of a vertex did for a checkpoint."""
    task = entry["tasks"].get(vertex)
    if task is None:
        return None
    done = [s for s in task["subtasks"] if s["status"] == "completed"]
    nothing = statistics([])
    summary = {
        name: statistics(s[name] for s in done)
        for name in ("checkpointed_size", "state_size", "end_to_end_duration", "start_delay")
    }
    parts = ("buffered", "processed", "persisted", "duration")
    return {
        **task,
        "summary": {
            **summary,
            "checkpoint_duration": {
                "sync": statistics(s["checkpoint"]["sync"] for s in done),
                "async": statistics(s["checkpoint"]["async"] for s in done),
            },
            "alignment": dict.fromkeys(parts, nothing),
        },
    }


def summary_of(completed: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sizes and durations over checkpoints."""
    names = ("checkpointed_size", "state_size", "end_to_end_duration", *_NOTHING_IN_FLIGHT)
    return {name: statistics(c[name] for c in completed) for name in names}


def statistics(values: Iterable[float]) -> dict[str, float]:
    """Smallest, largest, mean and percentiles; zeros without values, as in Flink."""
    ordered = sorted(values)
    if not ordered:
        return dict.fromkeys(("min", "max", "avg", "p50", "p90", "p95", "p99", "p999"), 0)
    last = len(ordered) - 1
    percentiles = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
    return {
        "min": ordered[0],
        "max": ordered[-1],
        "avg": sum(ordered) // len(ordered),
        **{name: ordered[round(share * last)] for name, share in percentiles.items()},
    }
