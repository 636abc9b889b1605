"""Snapshots of tables in RocksDB: rows are copied into blocks without decoding them.

A forked child must not touch the database: RocksDB's threads do not exist there, and a lock that
one of them held at the fork stays held for ever. So a deferred snapshot is read by a thread of the
process that owns the database, and goes through a pipe to whoever serializes it, as a rule the
child. It reads with iterators that are made at the barrier: an iterator of RocksDB shows the
database as it was when it was made. (The library's `Snapshot` does not help: its iterators show the
present.)

The alternative was a checkpoint with hard links, which has to write out the memory tables while the
subtask waits, and to open that in the child, which starts RocksDB's machinery in a forked process.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from struct import Struct
from typing import Any

from headrace.common.errors import StateError
from headrace.graph.ids import KeyGroup
from headrace.runtime.state.entry_codec import BLOCK_MAGIC, gone_bytes, oldest_of, record
from headrace.runtime.state.rocksdb_store import RocksDBStore
from headrace.runtime.state.rocksdb_table import PREFIX_SIZE, TableCodec

__all__ = ["PipedView", "StoreView", "TablePart"]

_CHUNK_BYTES = 256 << 10
_FRAME = Struct(">HHI")
_END, _FAILED = 0xFFFF, 0xFFFE

Chunk = tuple[int, int, bytes]
"""Number of the part, key group, and some records of that key group."""


@dataclass(frozen=True)
class TablePart:
    """What a snapshot takes of one table.

    Attributes:
        codec: Knows the table.
        changed: The addresses to take, or None for all.
        trim: Takes a stored value without its expired parts; None if nothing is left of it.
        horizon: Only values with a timestamp up to this one need to be trimmed.
    """

    codec: TableCodec
    changed: Iterable[Any] | None = None
    trim: Callable[[Any], Any] | None = None
    horizon: int = 0

    def rows(self, store: RocksDBStore) -> Iterator[tuple[bytes, bytes]]:
        """Key and value in the order of keys, as they are at the time of this call."""
        if self.changed is not None:
            return self._changed_rows(store.cursor(), self.changed)
        rows = store.scan(self.codec.start, self.codec.end)
        return rows if self.trim is None else self._trimmed_rows(rows)

    def _changed_rows(self, cursor: Any, changed: Iterable[Any]) -> Iterator[tuple[bytes, bytes]]:
        rows = sorted(((self.codec.key(a), a) for a in changed), key=lambda row: row[0])
        for key, address in rows:
            cursor.seek(key)
            if cursor.valid() and cursor.key() == key:
                yield key, cursor.value()
            else:
                cursor.status()  # raises if there was an error
                yield key, gone_bytes(address, self.codec.namespaced)

    def _trimmed_rows(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        for key, value in rows:
            kept = self._trimmed(key, value)
            if kept is not None:
                yield key, kept

    def _trimmed(self, key: bytes, value: bytes) -> bytes | None:
        assert self.trim is not None
        oldest = oldest_of(value)
        if oldest is not None and oldest > self.horizon:
            return value
        address = self.codec.address(key, value)
        stored = self.codec.stored(address, value)
        kept = self.trim(stored)
        if kept is stored:
            return value
        return None if kept is None else self.codec.value(address, kept)


class StoreView:
    """Some tables of a database at the barrier."""

    def __init__(self, store: RocksDBStore, parts: list[TablePart]) -> None:
        self.names = [part.codec.meta.name for part in parts]
        self._rows = [part.rows(store) for part in parts]

    def blocks(
        self, max_parallelism: int, whole: bool = True
    ) -> Iterator[tuple[str, KeyGroup, bytes]]:
        return _join(self.names, self.chunks(), whole)

    def release(self) -> None:
        self._rows = []

    def chunks(self) -> Iterator[Chunk]:
        """All records, in pieces of a moderate size, key group by key group."""
        for number, rows in enumerate(self._rows):
            group = b""
            records: list[bytes] = []
            size = 0
            for key, value in rows:
                if key[2:PREFIX_SIZE] != group or size > _CHUNK_BYTES:
                    if records:
                        yield number, int.from_bytes(group, "big"), b"".join(records)
                    group, records, size = key[2:PREFIX_SIZE], [], 0
                records.append(record(key[PREFIX_SIZE:], value))
                size += len(value)
            if records:
                yield number, int.from_bytes(group, "big"), b"".join(records)


def _join(
    names: list[str], chunks: Iterable[Chunk], whole: bool
) -> Iterator[tuple[str, KeyGroup, bytes]]:
    if not whole:
        for number, group, records in chunks:
            yield names[number], KeyGroup(group), BLOCK_MAGIC + records
        return
    for (number, group), pieces in groupby(chunks, key=lambda chunk: chunk[:2]):
        block = b"".join([BLOCK_MAGIC, *(piece for _, _, piece in pieces)])
        yield names[number], KeyGroup(group), block


class _Pipe:
    """A pipe of this process, shared by a view and the thread that writes to it.

    The writing end stays open until both are through with it, also if there is nothing left to
    write: a child that is forked in between closes its copy, and must not close another file.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.reading, self.writing = os.pipe()
        self._lock = threading.Lock()
        self._users = {"reader", "writer"}

    @property
    def is_own(self) -> bool:
        """Whether this process made the pipe, and not one that it was forked from."""
        return os.getpid() == self.owner

    def leave(self, user: str) -> None:
        """The reader or the writer is through; without a reader a writer ends at its next write."""
        with self._lock:
            if not self.is_own or user not in self._users:
                return
            self._users.remove(user)
            if user == "reader":
                os.close(self.reading)
            if not self._users:
                os.close(self.writing)


class PipedView:
    """A view that a thread of this process reads, and this or a forked process serializes."""

    def __init__(self, view: StoreView) -> None:
        self._names = view.names
        self._pipe = _Pipe()
        self._stop = threading.Event()
        # The thread does not know this object, so it ends when nobody wants the view any more.
        self._thread = threading.Thread(
            target=_pump, args=(view, self._pipe, self._stop), daemon=True, name="rocksdb-snapshot"
        )
        self._thread.start()

    def blocks(
        self, max_parallelism: int, whole: bool = True
    ) -> Iterator[tuple[str, KeyGroup, bytes]]:
        if not self._pipe.is_own:
            # So that the end of the owner is the end of the pipe.
            os.close(self._pipe.writing)
        with os.fdopen(self._pipe.reading, "rb", closefd=False) as file:
            yield from _join(self._names, _received(file), whole)
        self.release()

    def release(self) -> None:
        self._pipe.leave("reader")

    def stop(self, timeout: float) -> None:
        """The database goes away; what is not sent yet is lost."""
        self._stop.set()
        self._thread.join(timeout)

    def __del__(self) -> None:
        self.release()


def _pump(view: StoreView, pipe: _Pipe, stop: threading.Event) -> None:
    try:
        for number, group, records in view.chunks():
            if stop.is_set():
                raise StateError("the subtask was closed before its snapshot was written")
            _send(pipe.writing, number, group, records)
        _send(pipe.writing, _END, 0, b"")
    except BrokenPipeError:
        pass
    except Exception as error:  # noqa: BLE001 - a thread's top: the child is told
        with contextlib.suppress(OSError):
            _send(pipe.writing, _FAILED, 0, f"{type(error).__name__}: {error}".encode())
    finally:
        view.release()
        pipe.leave("writer")


def _send(descriptor: int, number: int, group: int, records: bytes) -> None:
    data = memoryview(_FRAME.pack(number, group, len(records)) + records)
    while data:
        data = data[os.write(descriptor, data) :]


def _received(pipe: Any) -> Iterator[Chunk]:
    while True:
        number, group, size = _FRAME.unpack(_exactly(pipe, _FRAME.size))
        data = _exactly(pipe, size)
        if number == _END:
            return
        if number == _FAILED:
            raise StateError(f"the state could not be read from RocksDB: {data.decode()}")
        yield number, group, data


def _exactly(pipe: Any, size: int) -> bytes:
    data: bytes = pipe.read(size)
    if len(data) < size:
        raise StateError("the slot ended before its state was written")
    return data
