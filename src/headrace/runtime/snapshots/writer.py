"""Writes a snapshot as it is made: a chunk at a time, and an index at the end.

The layout is in docs/snapshot-format.md. Neither the whole state nor the whole file is ever in
memory, and nothing is written twice, so the file may as well be a pipe or an upload.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from struct import Struct
from typing import Any, Protocol

import cloudpickle

from headrace.graph.ids import CheckpointId, KeyGroup
from headrace.runtime.exchange.carry_over import CarriedFrames
from headrace.runtime.snapshots.subtasks import SubtaskSnapshot
from headrace.runtime.state.declaration import StateMeta
from headrace.runtime.state.operator_state import OperatorStateSnapshot, SavedOperatorState
from headrace.runtime.state.snapshot import StateSnapshot

__all__ = [
    "BLOCK",
    "END",
    "FRAME",
    "MAGIC",
    "MAGIC_CARRIED",
    "TRAILER",
    "Output",
    "Seal",
    "write_to",
]

MAGIC = b"headrace snapshot 2\n"
MAGIC_CARRIED = b"headrace snapshot 3\n"
END = b"hr-end2\n"
BLOCK = Struct(">HI")
"""In front of each block in a chunk: its key group and its length."""
FRAME = Struct(">I")
"""In front of each frame that was carried over: its length."""
TRAILER = Struct(">QII8s")
"""The last bytes of the file: where the index begins, its length, its checksum, and END."""

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Seal:
    """What tells a snapshot file from any other.

    Attributes:
        size: Its size in bytes.
        checksum: That of its index, which has the checksums of everything else in it.
        checkpoint: The number of the checkpoint that it was written for.
    """

    size: int
    checksum: int
    checkpoint: CheckpointId | None


class Output(Protocol):
    """Where bytes go, in order."""

    def write(self, data: bytes, /) -> Any: ...


class _Counted:
    """Knows how much was written, which is where the next thing begins."""

    def __init__(self, output: Output) -> None:
        self._write = output.write
        self.position = 0

    def write(self, data: bytes) -> None:
        self._write(data)
        self.position += len(data)

    def place(self, data: bytes) -> tuple[int, int, int]:
        """Write something; its offset, length and checksum."""
        offset = self.position
        self.write(data)
        return offset, len(data), zlib.crc32(data)


def write_to(output: Output, snapshot: SubtaskSnapshot, *, compress: bool = False) -> Seal:
    """Write a snapshot, whose views are used up."""
    file = _Counted(output)
    # A version that knows nothing of carried frames must not lose them.
    file.write(MAGIC if snapshot.carried is None else MAGIC_CARRIED)
    pack = _compressed if compress else bytes
    index = {
        "subtask": snapshot.subtask,
        "parallelism": snapshot.parallelism,
        "checkpoint": snapshot.checkpoint,
        "compression": "zlib" if compress else None,
        "operators": {
            operator_id: file.place(pack(cloudpickle.dumps(own, protocol=5)))
            for operator_id, own in snapshot.operators.items()
        },
        "operator_state": {
            operator_id: _operator_state(file, state, pack)
            for operator_id, state in snapshot.operator_state.items()
        },
        "keyed": {i: _keyed(file, state, pack) for i, state in snapshot.keyed.items()},
        "timers": {i: _keyed(file, state, pack) for i, state in snapshot.timers.items()},
    }
    if snapshot.carried is not None:
        index["carried"] = _carried(file, snapshot.carried, pack)
    offset, length, checksum = file.place(cloudpickle.dumps(index, protocol=5))
    file.write(TRAILER.pack(offset, length, checksum, END))
    return Seal(file.position, checksum, snapshot.checkpoint)


def _compressed(data: bytes) -> bytes:
    # The fastest level: a checkpoint waits for it.
    return zlib.compress(data, 1)


def _operator_state(file: _Counted, state: OperatorStateSnapshot, pack: Any) -> dict[str, Any]:
    def placed(parts: Iterable[SavedOperatorState]) -> list[dict[str, Any]]:
        entries = []
        for part in parts:
            part.serialize()
            entries.append(
                {
                    "meta": _described(part.meta),
                    "mode": part.mode.value,
                    "size": part.size,
                    "chunk": file.place(pack(part.data)),
                }
            )
        return entries

    return {"lists": placed(state.lists.values()), "broadcasts": placed(state.broadcasts.values())}


def _keyed(file: _Counted, state: StateSnapshot, pack: Any) -> dict[str, Any]:
    chunks: list[tuple[Any, ...]] = []
    chunk = bytearray()
    name, first, last = "", 0, 0

    def flush() -> None:
        if chunk:
            chunks.append((name, first, last, *file.place(pack(bytes(chunk)))))
            chunk.clear()

    for state_name, group, block in state.stream():
        # Key groups of a chunk are a range, so that a reader knows which chunks it needs.
        if state_name != name or group < last or len(chunk) + len(block) > _CHUNK_BYTES:
            flush()
            name, first = state_name, group
        last = group
        chunk += BLOCK.pack(group, len(block))
        chunk += block
    flush()
    return {
        "kind": state.kind.value,
        "max_parallelism": state.max_parallelism,
        "checkpoint": state.checkpoint_id,
        "base": state.base,
        "version": state.version,
        "states": [_described(meta) for meta in state.states.values()],
        "chunks": chunks,
    }


def _carried(file: _Counted, carried: CarriedFrames, pack: Any) -> dict[str, Any]:
    places: list[tuple[int, int, int]] = []
    chunk = bytearray()
    for frame in carried.frames():
        chunk += FRAME.pack(len(frame))
        chunk += frame
        if len(chunk) > _CHUNK_BYTES:
            places.append(file.place(pack(bytes(chunk))))
            chunk.clear()
    if chunk:
        places.append(file.place(pack(bytes(chunk))))
    return {
        "operator": carried.operator,
        "edges": {index: asdict(edge) for index, edge in carried.edges.items()},
        "count": carried.count,
        "size": carried.size,
        "chunks": places,
    }


def _described(meta: StateMeta) -> dict[str, Any]:
    """A state's metadata in plain values: what a later version reads must not be our classes."""
    ttl = meta.ttl
    return {
        "name": meta.name,
        "kind": meta.kind.value,
        "type": meta.type_repr,
        "type_info": getattr(meta, "type_info", None),
        "namespaced": meta.namespaced,
        "version": meta.version,
        "ttl": None if ttl is None else {name: getattr(ttl, name) for name in ttl.__slots__},
    }


def key_group_range_of(chunk: tuple[Any, ...]) -> range:
    """The key groups that a chunk of the index may have."""
    return range(KeyGroup(chunk[1]), chunk[2] + 1)
