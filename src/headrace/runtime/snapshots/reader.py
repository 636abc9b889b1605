"""Reads a snapshot in pieces: first its index, and state when somebody asks for it.

Every piece has a checksum. Whatever goes wrong is a `CheckpointError` that names the file.
"""

from __future__ import annotations

import contextlib
import pickle
import zlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.graph.ids import CheckpointId, KeyGroup
from headrace.runtime.exchange.carry_over import CarriedEdge, CarriedFrames
from headrace.runtime.snapshots.subtasks import SubtaskSnapshot
from headrace.runtime.snapshots.writer import (
    BLOCK,
    END,
    FRAME,
    MAGIC,
    MAGIC_CARRIED,
    TRAILER,
    Seal,
    key_group_range_of,
)
from headrace.runtime.state.declaration import StateKind, StateMeta, TtlPolicy
from headrace.runtime.state.operator_state import (
    OperatorStateSnapshot,
    Redistribution,
    SavedOperatorState,
)
from headrace.runtime.state.snapshot import Blocks, SnapshotKind
from headrace.runtime.storage import Storage

__all__ = ["SnapshotFile", "StoredState", "reading", "unusable"]

Place = tuple[int, int, int]
"""Offset, length and checksum."""


def unusable(path: str, why: str) -> CheckpointError:
    """The error for a file that cannot be restored from."""
    return CheckpointError(
        f"the snapshot file {path} {why}; restore from another checkpoint or savepoint",
        CheckpointFailureReason.RESTORE_FAILURE,
    )


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever goes wrong with a file is a `CheckpointError`."""
    try:
        yield
    except (CheckpointError, MemoryError):
        raise
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise unusable(path, "is missing") from error
    except OSError as error:
        # The storage cannot be reached now: that says nothing about the file.
        raise CheckpointError(
            f"the snapshot file {path} cannot be read now: {error.strerror or error}",
            CheckpointFailureReason.IO_ERROR,
        ) from error
    except Exception as error:
        raise unusable(path, f"is damaged: {type(error).__name__}: {error}") from error


class SnapshotFile:
    """A file in storage; it is opened for each piece, since pieces may be wanted much later."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self.path = path
        self._compressed = False

    def opened(self) -> tuple[SubtaskSnapshot, Seal]:
        """The snapshot; its keyed state and timers stay in the file until they are asked for."""
        with reading(self.path):
            index, size, checksum = self._index()
            self._compressed = index["compression"] == "zlib"
            return self._snapshot(index), Seal(size, checksum, index["checkpoint"])

    def _snapshot(self, index: dict[str, Any]) -> SubtaskSnapshot:
        return SubtaskSnapshot(
            index["subtask"],
            index["parallelism"],
            {i: self._unpickled(place) for i, place in index["operators"].items()},
            {i: StoredState.of(self, entry) for i, entry in index["keyed"].items()},
            {i: self._operator_state(entry) for i, entry in index["operator_state"].items()},
            index["checkpoint"],
            {i: StoredState.of(self, entry) for i, entry in index["timers"].items()},
            carried=self._carried(index.get("carried")),
        )

    def _carried(self, entry: dict[str, Any] | None) -> CarriedFrames | None:
        if entry is None:
            return None
        return CarriedFrames(
            entry["operator"],
            {number: CarriedEdge(**edge) for number, edge in entry["edges"].items()},
            partial(self._frames, entry["chunks"]),
            entry["count"],
            entry["size"],
        )

    def _frames(self, chunks: list[Place]) -> Iterator[bytes]:
        for place in chunks:
            data = self.read(place)
            at = 0
            while at < len(data):
                (length,) = FRAME.unpack_from(data, at)
                at += FRAME.size
                yield data[at : at + length]
                at += length

    def _index(self) -> tuple[Any, int, int]:
        """The index, and size and checksum of the file as its last bytes have them."""
        head = self._range(0, len(MAGIC))
        if head not in (MAGIC, MAGIC_CARRIED):
            raise unusable(self.path, "is not a snapshot in a format that this version knows")
        trailer = self._range(-TRAILER.size, None)
        if len(trailer) < TRAILER.size or not trailer.endswith(END):
            raise unusable(self.path, "is damaged: its end is missing")
        offset, length, checksum, _ = TRAILER.unpack(trailer)
        # From the end, too: an offset that is damaged may lead anywhere.
        index = self._range(-(length + TRAILER.size), None)[: -TRAILER.size]
        self._check(index, length, checksum)
        return pickle.loads(index), offset + length + TRAILER.size, checksum

    def read(self, place: Place) -> bytes:
        """A piece, after its checksum was compared."""
        offset, length, checksum = place
        with reading(self.path):
            data = self._range(offset, offset + length)
            self._check(data, length, checksum)
            return zlib.decompress(data) if self._compressed else data

    def _unpickled(self, place: Place) -> Any:
        data = self.read(place)
        try:
            return pickle.loads(data)
        except Exception as error:
            # It is what was written, so an older checkpoint would not help.
            raise CheckpointError(
                f"the snapshot file {self.path} has objects that cannot be loaded: "
                f"{type(error).__name__}: {error}; the program needs the classes that it had",
                CheckpointFailureReason.STATE_MISMATCH,
            ) from error

    def _check(self, data: bytes, length: int, checksum: int) -> None:
        if len(data) != length or zlib.crc32(data) != checksum:
            raise unusable(self.path, "is damaged: a checksum does not match")

    def _range(self, start: int, end: int | None) -> bytes:
        return self._storage.read_range(self.path, start, end)

    def _operator_state(self, entry: dict[str, Any]) -> OperatorStateSnapshot:
        def loaded(parts: list[dict[str, Any]]) -> dict[str, SavedOperatorState]:
            return {
                part["meta"]["name"]: SavedOperatorState(
                    meta=_meta(part["meta"]),
                    mode=Redistribution(part["mode"]),
                    size=part["size"],
                    data=self.read(part["chunk"]),
                )
                for part in parts
            }

        return OperatorStateSnapshot(loaded(entry["lists"]), loaded(entry["broadcasts"]))


@dataclass(frozen=True)
class StoredState:
    """Keyed state in a file: a `RestorableState` of which only the index is in memory."""

    file: SnapshotFile
    kind: SnapshotKind
    max_parallelism: int
    checkpoint_id: CheckpointId | None
    base: CheckpointId | None
    version: int
    states: dict[str, StateMeta]
    chunks: list[tuple[Any, ...]]

    @staticmethod
    def of(file: SnapshotFile, entry: dict[str, Any]) -> StoredState:
        """What an entry of the index describes."""
        return StoredState(
            file,
            SnapshotKind(entry["kind"]),
            entry["max_parallelism"],
            entry["checkpoint"],
            entry["base"],
            entry["version"],
            {meta["name"]: _meta(meta) for meta in entry["states"]},
            entry["chunks"],
        )

    def places(self) -> Collection[tuple[str, KeyGroup]]:
        return {(c[0], KeyGroup(group)) for c in self.chunks for group in key_group_range_of(c)}

    def pieces(self, key_groups: range) -> Iterator[tuple[str, Blocks]]:
        for chunk in self.chunks:
            mine = key_group_range_of(chunk)
            if mine.start < key_groups.stop and key_groups.start < mine.stop:
                yield chunk[0], _Chunk(self.file, chunk[3:], key_groups)

    def release(self) -> None:
        """There is nothing to free."""


@dataclass(frozen=True)
class _Chunk:
    """Blocks that are read again on every iteration."""

    file: SnapshotFile
    place: Any
    key_groups: range

    def __iter__(self) -> Iterator[tuple[KeyGroup, bytes]]:
        data = self.file.read(self.place)
        at = 0
        while at < len(data):
            group, length = BLOCK.unpack_from(data, at)
            at += BLOCK.size
            if group in self.key_groups:
                yield KeyGroup(group), data[at : at + length]
            at += length


def _meta(described: dict[str, Any]) -> StateMeta:
    ttl = described["ttl"]
    return StateMeta(
        name=described["name"],
        kind=StateKind(described["kind"]),
        type_repr=described["type"],
        namespaced=described["namespaced"],
        ttl=None if ttl is None else TtlPolicy(**ttl),
        version=described["version"],
        type_info=described["type_info"],
    )
