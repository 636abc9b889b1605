"""Snapshots in storage, of this format and the one before it.

Format 1 was a magic line, the CRC-32 of the rest as eight hexadecimal digits, a newline, and one
pickle with everything. It is read, and not written any more.
"""

from __future__ import annotations

import pickle
import zlib

from headrace.runtime.snapshot_reader import SnapshotFile, unreadable, unusable
from headrace.runtime.snapshot_writer import FORMAT, MAGIC, write_to
from headrace.runtime.snapshots import SubtaskSnapshot
from headrace.runtime.storage import Storage

__all__ = ["FORMAT", "read_snapshot", "write_snapshot"]

_MAGIC_1 = b"headrace snapshot 1\n"


def write_snapshot(
    storage: Storage, path: str, snapshot: SubtaskSnapshot, *, compress: bool = False
) -> int:
    """Write a snapshot; its size in bytes."""
    with storage.create(path) as file:
        return write_to(file, snapshot, compress=compress)


def read_snapshot(storage: Storage, path: str) -> SubtaskSnapshot:
    """Read a snapshot back; what it has of keyed state and timers is read when it is needed.

    Raises:
        CheckpointError: The file is missing or damaged; other pieces may raise it later.
    """
    try:
        head = storage.read_range(path, 0, len(MAGIC))
        if head == _MAGIC_1:
            return _read_format_1(path, storage.read(path))
    except OSError as error:
        raise unreadable(path, error) from error
    return SnapshotFile(storage, path).snapshot()


def _read_format_1(path: str, data: bytes) -> SubtaskSnapshot:
    checksum, _, body = data[len(_MAGIC_1) :].partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise unusable(path, "is damaged: its checksum does not match")
    snapshot: SubtaskSnapshot = pickle.loads(body)
    # It did not have the fields that came later.
    return SubtaskSnapshot(
        snapshot.subtask,
        snapshot.parallelism,
        snapshot.operators,
        snapshot.keyed,
        snapshot.operator_state,
        snapshot.checkpoint,
    )
