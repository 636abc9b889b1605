"""The state of a subtask taken out, and put into fresh ones: recovery and change of parallelism.

Taking it is quick: state stays where it is, as views, until `serialized` turns them into bytes.
That may happen in a forked child, whose memory stays as it was at the barrier, while the subtask
goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.graph.ids import CheckpointId
from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.operator import Operator
from headrace.runtime.state.operator_state import OperatorStateSnapshot
from headrace.runtime.state.snapshot import StateSnapshot
from headrace.runtime.subtask import Subtask

_TIMERS = ("event_timers", "processing_timers")


@dataclass(frozen=True)
class SubtaskSnapshot:
    """The state of one subtask by operator id: the operators' own, keyed, and operator state."""

    subtask: int
    parallelism: int
    operators: dict[str, dict[str, Any]]
    keyed: dict[str, StateSnapshot]
    operator_state: dict[str, OperatorStateSnapshot] = field(default_factory=dict)
    checkpoint: CheckpointId | None = None

    def serialized(self) -> SubtaskSnapshot:
        """The same with all views turned into bytes."""
        for snapshot in self.keyed.values():
            snapshot.serialize()
        for operator_state in self.operator_state.values():
            operator_state.serialized()
        return self

    def release(self) -> None:
        """A forked child serializes it: free what this process holds for it."""
        for snapshot in self.keyed.values():
            snapshot.release()

    def take_splits(self) -> list[Any] | None:
        """The source's splits with their positions, for the coordinator; None without a source."""
        for snapshot in self.operators.values():
            if "splits" in snapshot:
                splits: list[Any] = snapshot.pop("splits")
                return splits
        return None


def take_snapshot(subtask: Subtask, checkpoint: CheckpointId | None = None) -> SubtaskSnapshot:
    """Take a consistent view at the barrier.

    Nothing may run in the subtask before it is serialized or forked.
    """
    # A snapshot of its own has no number; functions see the one that a checkpoint would have had.
    subtask.last_checkpoint = number = checkpoint or CheckpointId(subtask.last_checkpoint + 1)
    for operator in reversed(subtask.operators.values()):
        operator.before_snapshot(number, operator.context.clock())
    # Operators before backends: some write what they hold to theirs.
    operators = {o.context.operator_id: o.snapshot() for o in subtask.operators.values()}
    keyed = {
        operator_id: backend.snapshot(checkpoint_id=checkpoint, deferred=True)
        for operator_id, backend in subtask.backends.items()
    }
    operator_state = {
        o.context.operator_id: state
        for o in subtask.operators.values()
        if (state := o.operator_state.snapshot())
    }
    return SubtaskSnapshot(
        subtask.task.subtask, subtask.task.parallelism, operators, keyed, operator_state, number
    )


def restore_subtask(subtask: Subtask, snapshots: Sequence[SubtaskSnapshot]) -> None:
    """Give a fresh subtask, before it is opened, its share of the snapshots of its operators.

    An operator that no snapshot knows starts empty; it knows that the job comes from a checkpoint.
    """
    task = subtask.task
    groups = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
    for operator_id, backend in subtask.backends.items():
        parts = [s.keyed[operator_id] for s in snapshots if operator_id in s.keyed]
        if parts:
            backend.restore(parts, groups)
    checkpoint = max((s.checkpoint for s in snapshots if s.checkpoint is not None), default=None)
    subtask.last_checkpoint = checkpoint or subtask.last_checkpoint
    for operator in subtask.operators.values():
        operator.restored, operator.restored_checkpoint = True, checkpoint
        operator_id = operator.context.operator_id
        own = [s for s in snapshots if operator_id in s.operators]
        if own:
            operator.restore(_share(operator, own, groups))
        saved = {
            s.subtask: s.operator_state[operator_id] for s in own if operator_id in s.operator_state
        }
        if saved:
            operator.operator_state.restore(
                saved, own[0].parallelism, task.subtask, task.parallelism
            )


def _share(operator: Operator, snapshots: list[SubtaskSnapshot], groups: range) -> dict[str, Any]:
    task, operator_id = operator.context.task, operator.context.operator_id
    states = [s.operators[operator_id] for s in snapshots]
    same = [s for s in snapshots if s.parallelism == task.parallelism and s.subtask == task.subtask]
    if same and not operator.context.keyed:
        return same[0].operators[operator_id]
    share = {**states[0], "watermark": min(s["watermark"] for s in states)}
    for kind in _TIMERS:
        share[kind] = [
            (timestamp, address)
            for state in states
            for timestamp, address in state[kind]
            if key_group_of(operator.key_of_timer(address), task.max_parallelism) in groups
        ]
    return share
