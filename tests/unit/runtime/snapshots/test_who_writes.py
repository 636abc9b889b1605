"""Who turns a snapshot into bytes: the slot itself, or a forked child where that takes long."""

from __future__ import annotations

import os
import queue
import time
from pathlib import Path
from typing import Any

import pytest

from headrace.graph.ids import CheckpointId, SlotId
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots import slots
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.snapshots.subtasks import FEW_ENTRIES
from tests.property.subtask_fleet import Fleet


class Writer:
    """A value that is restored as the process id of who wrote it."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __reduce__(self) -> Any:
        until = time.thread_time() + self.seconds
        while time.thread_time() < until:
            pass
        return int, (os.getpid(),)


class Snapshots:
    """Takes snapshots of a state, one after the other, and reads them back."""

    def __init__(self, directory: Path, backend: str) -> None:
        self._directory = directory
        self._backend = backend
        self._parts: queue.SimpleQueue[Snapshotted] = queue.SimpleQueue()
        self._slot = SlotSnapshots(SlotId(0), self._parts.put)
        self.fleet = Fleet(backend, 1)
        self.fleet.open()

    def take(self, number: int) -> dict[int, Any]:
        """What the state has after it was restored."""
        request = CheckpointRequest(CheckpointId(number), str(self._directory / str(number)))
        self._slot.take(self.fleet.subtasks[0], request)
        part = self._parts.get(timeout=60)
        assert part.error is None, part.error
        other = Fleet(self._backend, 1)
        operators = [o.context.operator_id for o in other.subtasks[0].operators.values()]
        ref = SnapshotRef(part.path, 0, frozenset(operators), part.seal)
        self._slot.restore(other.subtasks[0], {operator: [[ref]] for operator in operators})
        other.open()
        found = other.contents("value")
        other.close()
        return found


def test_the_slot_writes_a_small_state(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, "hashmap")
    snapshots.fleet.process(*((key, "put", Writer()) for key in range(9)))
    assert snapshots.take(1) == dict.fromkeys(range(9), os.getpid())


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_child_writes_a_large_state(backend: str, tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path, backend)
    snapshots.fleet.process(*((key, "put", key) for key in range(FEW_ENTRIES + 1)))
    snapshots.fleet.process((0, "put", Writer()))
    found = snapshots.take(1)
    assert found.pop(0) != os.getpid()
    assert found == {key: key for key in range(1, FEW_ENTRIES + 1)}


def test_a_child_writes_what_takes_long_and_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "_LONG_S", 0.01)
    snapshots = Snapshots(tmp_path, "hashmap")
    snapshots.fleet.process(*((key, "put", Writer(0.01)) for key in range(9)))
    for number in (1, 2):
        found = snapshots.take(number)
        assert found.keys() == set(range(9))
        assert len(set(found.values())) == 1
        assert os.getpid() not in found.values()
