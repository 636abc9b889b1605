"""Snapshots that went through bytes: nothing in them is shared with the subtask they are of."""

from __future__ import annotations

import pickle

import cloudpickle

from headrace.runtime.snapshots.subtasks import SubtaskSnapshot, restore_subtask, take_snapshot
from headrace.runtime.subtask import Subtask

__all__ = ["SubtaskSnapshot", "restore_subtask", "snapshot_subtask"]


def snapshot_subtask(subtask: Subtask) -> SubtaskSnapshot:
    """Take a snapshot of a subtask."""
    snapshot: SubtaskSnapshot = pickle.loads(cloudpickle.dumps(take_snapshot(subtask).serialized()))
    return snapshot
