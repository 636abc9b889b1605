"""What is kept of the checkpoints that a job took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headrace.coordination.bodies.checkpoints import (
    Checkpoint,
    CheckpointSubtask,
    CheckpointTask,
    SubtaskAlignment,
)
from headrace.graph.ids import VertexId
from headrace.graph.job_graph import JobGraph
from headrace.runtime.epoch import SubtaskKey
from headrace.runtime.slot.messages import Snapshotted

__all__ = ["checkpoint_entry"]


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
) -> Checkpoint:
    """A checkpoint with what each subtask did for it."""
    failed = status == "FAILED"
    return Checkpoint(
        class_name=status.lower(),
        id=taken.checkpoint,
        status=status,
        is_savepoint=taken.savepoint,
        savepoint_format="CANONICAL" if taken.savepoint else None,
        trigger_timestamp=taken.started_ms,
        latest_ack_timestamp=max(taken.acknowledged_ms.values(), default=-1),
        checkpointed_size=sum(p.size for p in taken.parts.values()),
        state_size=state_size,
        end_to_end_duration=ended_ms - taken.started_ms,
        num_subtasks=sum(v.parallelism for v in job_graph.vertices),
        num_acknowledged_subtasks=len(taken.parts),
        checkpoint_type="SAVEPOINT" if taken.savepoint else "CHECKPOINT",
        tasks={v.id: _task(taken, v.id, v.parallelism, status) for v in job_graph.vertices},
        external_path=taken.directory,
        discarded=failed,
        failure_message=why,
        failure_timestamp=ended_ms if failed else None,
        processed_data=sum(p.alignment_bytes for p in taken.parts.values()),
        persisted_data=sum(p.carried_bytes for p in taken.parts.values()),
    )


def _task(
    taken: TakenCheckpoint, vertex: VertexId, parallelism: int, status: str
) -> CheckpointTask:
    done = [key for key in taken.parts if key[0] == vertex]
    size = sum(taken.parts[key].size for key in done)
    latest = max((taken.acknowledged_ms[key] for key in done), default=-1)
    return CheckpointTask(
        id=taken.checkpoint,
        status=status,
        latest_ack_timestamp=latest,
        checkpointed_size=size,
        state_size=size,
        end_to_end_duration=max(latest - taken.started_ms, 0) if done else -1,
        num_subtasks=parallelism,
        num_acknowledged_subtasks=len(done),
        processed_data=sum(taken.parts[key].alignment_bytes for key in done),
        persisted_data=sum(taken.parts[key].carried_bytes for key in done),
        subtasks=tuple(_subtask(taken, vertex, index) for index in range(parallelism)),
    )


def _subtask(taken: TakenCheckpoint, vertex: VertexId, index: int) -> CheckpointSubtask:
    part = taken.parts.get((vertex, index))
    if part is None:
        return CheckpointSubtask(index)
    at_ms = taken.acknowledged_ms[vertex, index]
    alignment = SubtaskAlignment(
        processed=part.alignment_bytes,
        persisted=part.carried_bytes,
        duration=round(part.alignment_ms),
    )
    took_ms = max(at_ms - taken.started_ms, 0)
    return CheckpointSubtask.completed(
        index, at_ms, took_ms, part.size, alignment, unaligned=part.unaligned
    )
