"""Taking a subtask's state out, and putting it into fresh subtasks, as a recovery does."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle

from headrace.runtime.key_groups import key_group_of, key_group_range
from headrace.runtime.operator import Operator
from headrace.runtime.state.snapshot import StateSnapshot
from headrace.runtime.subtask import Subtask

_TIMERS = ("event_timers", "processing_timers")


@dataclass(frozen=True)
class SubtaskSnapshot:
    """The state of one subtask: that of its operators by id, and their keyed state."""

    operators: dict[str, dict[str, Any]]
    keyed: dict[str, StateSnapshot]


def snapshot_subtask(subtask: Subtask) -> SubtaskSnapshot:
    """Take a snapshot; it went through bytes, so that nothing in it is shared with the subtask."""
    snapshot = SubtaskSnapshot(
        {o.context.operator_id: o.snapshot() for o in subtask.operators.values()},
        {operator_id: b.snapshot() for operator_id, b in subtask.backends.items()},
    )
    restored: SubtaskSnapshot = pickle.loads(cloudpickle.dumps(snapshot))
    return restored


def restore_subtask(subtask: Subtask, snapshots: Sequence[SubtaskSnapshot]) -> None:
    """Give a fresh subtask, before it is opened, its share of the snapshots of its vertex."""
    task = subtask.task
    groups = key_group_range(task.subtask, task.parallelism, task.max_parallelism)
    for operator_id, backend in subtask.backends.items():
        backend.restore([s.keyed[operator_id] for s in snapshots], groups)
    for operator in subtask.operators.values():
        own = [s.operators[operator.context.operator_id] for s in snapshots]
        operator.restore(_share(operator, own, groups))


def _share(operator: Operator, snapshots: list[dict[str, Any]], groups: range) -> dict[str, Any]:
    task = operator.context.task
    if len(snapshots) == task.parallelism and not operator.context.keyed:
        return snapshots[task.subtask]
    share = {**snapshots[0], "watermark": min(s["watermark"] for s in snapshots)}
    for kind in _TIMERS:
        share[kind] = [
            (timestamp, address)
            for snapshot in snapshots
            for timestamp, address in snapshot[kind]
            if key_group_of(operator.key_of_timer(address), task.max_parallelism) in groups
        ]
    return share
