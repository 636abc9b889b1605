"""Snapshots in storage, of this layout and the one before it.

The first layout was a magic line, the CRC-32 of the rest as eight hexadecimal digits, a newline,
and one pickle with everything. It is read, and not written any more.
"""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass

from headrace.graph.ids import CheckpointId
from headrace.runtime.snapshots.reader import SnapshotFile, reading, unusable
from headrace.runtime.snapshots.subtasks import SubtaskSnapshot
from headrace.runtime.snapshots.writer import MAGIC, Seal, write_to
from headrace.runtime.storage import Storage

__all__ = ["SnapshotRef", "read_snapshot", "seal_of", "write_snapshot"]

_MAGIC_1 = b"headrace snapshot 1\n"


@dataclass(frozen=True)
class SnapshotRef:
    """A snapshot file as the metadata of a checkpoint names it.

    An intact file in the place of another one is as bad as a damaged one, so it is compared.

    Attributes:
        path: The file.
        subtask: The subtask that wrote it.
        operators: Ids of operators whose state it has.
        seal: None in checkpoints of older formats.
    """

    path: str
    subtask: int
    operators: frozenset[str]
    seal: Seal | None = None

    def read(self, storage: Storage) -> SubtaskSnapshot:
        """The snapshot, as `read_snapshot` reads it.

        Raises:
            CheckpointError: The file is missing or damaged, or it is another one.
        """
        snapshot, seal = _opened(storage, self.path)
        if snapshot.subtask != self.subtask:
            raise self._other(f"subtask {snapshot.subtask}", f"subtask {self.subtask}")
        if not self.operators <= snapshot.operators.keys():
            raise self._other("other operators", f"operators {', '.join(sorted(self.operators))}")
        if self.seal is not None and seal != self.seal:
            raise self._other(_described(seal), _described(self.seal))
        return snapshot

    def _other(self, found: str, wanted: str) -> Exception:
        return unusable(self.path, f"is not the one of this checkpoint: {found}, not {wanted}")


def _described(seal: Seal) -> str:
    return f"checkpoint {seal.checkpoint} with {seal.size} bytes and checksum {seal.checksum:08x}"


def write_snapshot(
    storage: Storage, path: str, snapshot: SubtaskSnapshot, *, compress: bool = False
) -> Seal:
    """Write a snapshot."""
    with storage.create(path) as file:
        return write_to(file, snapshot, compress=compress)


def read_snapshot(storage: Storage, path: str) -> SubtaskSnapshot:
    """Read a snapshot back; what it has of keyed state and timers is read when it is needed.

    Raises:
        CheckpointError: The file is missing or damaged; other pieces may raise it later.
    """
    return _opened(storage, path)[0]


def seal_of(storage: Storage, path: str) -> Seal:
    """What tells a file from any other."""
    return _opened(storage, path)[1]


def _opened(storage: Storage, path: str) -> tuple[SubtaskSnapshot, Seal]:
    with reading(path):
        if storage.read_range(path, 0, len(MAGIC)) == _MAGIC_1:
            return _opened_format_1(path, storage.read(path))
    return SnapshotFile(storage, path).opened()


def _opened_format_1(path: str, data: bytes) -> tuple[SubtaskSnapshot, Seal]:
    checksum, _, body = data[len(_MAGIC_1) :].partition(b"\n")
    if checksum != b"%08x" % zlib.crc32(body):
        raise unusable(path, "is damaged: its checksum does not match")
    saved: SubtaskSnapshot = pickle.loads(body)
    # It did not have the fields that came later.
    snapshot = SubtaskSnapshot(
        saved.subtask,
        saved.parallelism,
        saved.operators,
        saved.keyed,
        saved.operator_state,
        saved.checkpoint,
    )
    number = None if saved.checkpoint is None else CheckpointId(saved.checkpoint)
    return snapshot, Seal(len(data), int(checksum, 16), number)
