"""The state of a subtask taken out, and put into fresh subtasks, as a recovery or a change of parallelism does.

Taking it is quick: keyed state stays where it is, as views, until `serialized` turns them into bytes. That may
happen in a forked child, whose memory stays as it was at the barrier, while the subtask goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.graph.ids import CheckpointId
from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.operator import Operator
from headrace.runtime.state.snapshot import StateSnapshot
from headrace.runtime.subtask import Subtask

_TIMERS = ("event_timers", "processing_timers")


@dataclass(frozen=True)
class SubtaskSnapshot:
    """The state of one subtask: that of its operators by operator id, and their keyed state."""

    subtask: int
    parallelism: int
    operators: dict[str, dict[str, Any]]
    keyed: dict[str, StateSnapshot]

    def serialized(self) -> SubtaskSnapshot:
        """The same with all views turned into bytes."""
        for snapshot in self.keyed.values():
            snapshot.serialize()
        return self

    def take_splits(self) -> list[Any] | None:
        """The source's splits with their positions, which the coordinator keeps; None without a source."""
        for snapshot in self.operators.values():
            if "splits" in snapshot:
                splits: list[Any] = snapshot.pop("splits")
                return splits
        return None


def take_snapshot(subtask: Subtask, checkpoint: CheckpointId | None = None) -> SubtaskSnapshot:
    """Take a consistent view at the barrier; nothing may run in the subtask before it is serialized or forked."""
    # Operators first: some write what they hold to their backend.
    operators = {o.context.operator_id: o.snapshot() for o in subtask.operators.values()}
    keyed = {
        operator_id: backend.snapshot(checkpoint_id=checkpoint, deferred=True)
        for operator_id, backend in subtask.backends.items()
    }
    return SubtaskSnapshot(subtask.task.subtask, subtask.task.parallelism, operators, keyed)


def restore_subtask(subtask: Subtask, snapshots: Sequence[SubtaskSnapshot]) -> None:
    """Give a fresh subtask, before it is opened, its share of the snapshots of its operators.

    An operator that no snapshot knows starts empty.
    """
    task = subtask.task
    groups = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
    for operator_id, backend in subtask.backends.items():
        parts = [s.keyed[operator_id] for s in snapshots if operator_id in s.keyed]
        if parts:
            backend.restore(parts, groups)
    for operator in subtask.operators.values():
        operator_id = operator.context.operator_id
        own = [s for s in snapshots if operator_id in s.operators]
        if own:
            operator.restore(_share(operator, own, groups))


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
