"""More state than memory: run as a program, with a real limit on the process.

`python large_state.py BACKEND DIRECTORY` fills a subtask, takes a checkpoint and restores it, each
within the limit, and prints what it found.
"""

from __future__ import annotations

import os
import resource
import sys
import threading

from headrace.graph.ids import CheckpointId, SlotId
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.state.factory import StateBackendSettings
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from tests.property import subtask_fleet
from tests.property.subtask_fleet import Fleet

KEYS, VALUE_BYTES = 45_000, 8_192
ROOM_BYTES = 240 << 20
"""For what comes on top of a process that has loaded everything; the values are 350 MiB."""


def limit_memory() -> None:
    """Allow so much address space beyond what is there."""
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM_BYTES, now + ROOM_BYTES))


def main(backend: str, directory: str) -> None:
    """Fill, save, restore."""
    subtask_fleet.SETTINGS["rocksdb"] = StateBackendSettings(
        "rocksdb", RocksDBSettings(local_directories=(directory,), object_cache_size=500)
    )
    fleet, other = Fleet(backend, 1), Fleet(backend, 1)
    fleet.open()
    fleet.process((-1, "put", b""))
    limit_memory()
    for key in range(KEYS):
        fleet.process((key, "put", os.urandom(VALUE_BYTES)))
    print("filled", flush=True)
    arrived = threading.Event()
    parts: list[Snapshotted] = []
    snapshots = SlotSnapshots(SlotId(0), lambda part: (parts.append(part), arrived.set()))
    snapshots.take(fleet.subtasks[0], CheckpointRequest(CheckpointId(1), directory))
    arrived.wait()
    assert parts[0].error is None, parts[0].error
    print("saved", flush=True)
    fleet.close()
    operators = [o.context.operator_id for o in other.subtasks[0].operators.values()]
    ref = SnapshotRef(parts[0].path, 0, frozenset(operators), parts[0].seal)
    snapshots.restore(other.subtasks[0], {operator: [[ref]] for operator in operators})
    other.open()
    entries = sum(b.number_of_entries("value") for b in other.subtasks[0].backends.values())
    other.close()
    print("restored", entries, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
