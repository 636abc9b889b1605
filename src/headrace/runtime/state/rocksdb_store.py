"""A RocksDB in a directory of its own, which goes away with its owner."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from headrace.common.errors import StateError
from headrace.common.files.scratch import ScratchDirectory
from headrace.runtime.state.rocksdb_settings import RocksDBSettings, require_rocksdict

__all__ = ["ObjectBudget", "RocksDBResources", "RocksDBStore"]

_BATCH_ENTRIES = 10_000
_BATCH_BYTES = 8 << 20

Row = tuple[bytes, bytes | None]
"""Key and value; no value deletes the key."""


class _Limited(Protocol):
    limit: int


class ObjectBudget:
    """Divides a number of cached objects evenly among tables."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._members: list[weakref.ref[_Limited]] = []

    def join(self, member: _Limited) -> None:
        self._members.append(weakref.ref(member))
        self._divide()

    def leave(self, member: _Limited) -> None:
        self._members = [m for m in self._members if m() is not member]
        self._divide()

    def _divide(self) -> None:
        members = [member for known in self._members if (member := known()) is not None]
        for member in members:
            member.limit = max(1, self._capacity // len(members))


class RocksDBResources:
    """What the databases of one slot share: the block cache and the number of cached objects."""

    def __init__(self, settings: RocksDBSettings) -> None:
        self.settings = settings
        self.budget = ObjectBudget(settings.object_cache_size)
        self._rocksdict = require_rocksdict()
        self._block_cache: Any = None

    def database_options(self) -> Any:
        if self._block_cache is None:
            size = self.settings.effective["block.cache-size"]
            self._block_cache = self._rocksdict.Cache(size)
        return self.settings.database_options(self._block_cache)

    def new_directory(self, subtask: int) -> ScratchDirectory:
        """A new directory."""
        directories = self.settings.local_directories or (tempfile.gettempdir(),)
        base = directories[subtask % len(directories)]
        try:
            os.makedirs(base, exist_ok=True)
            return ScratchDirectory("rocksdb", base)
        except OSError as error:
            raise StateError(
                f"cannot create a directory for RocksDB in {base!r} ({error}); set "
                "'state.backend.rocksdb.localdir' to a writable local directory"
            ) from error


class RocksDBStore:
    """One database; it comes into being when it is opened, and `close` leaves nothing of it."""

    def __init__(self, resources: RocksDBResources, subtask: int = 0) -> None:
        self.is_open = False
        self._resources = resources
        self._subtask = subtask
        self._rocksdict = require_rocksdict()
        self._db: Any = None
        self._directory: ScratchDirectory | None = None
        self._owner = os.getpid()

    def open(self) -> None:
        """Creates the database."""
        self._directory = directory = self._resources.new_directory(self._subtask)
        try:
            self._db = self._rocksdict.Rdict(
                str(directory.path / "db"), self._resources.database_options()
            )
        except Exception as error:
            self._remove_directory()
            raise StateError(
                f"RocksDB cannot be opened in {directory}: {error}; check the disk and the "
                "settings that begin with 'state.backend.rocksdb.'"
            ) from error
        self._write_options = self._rocksdict.WriteOptions()
        # After a crash state comes from a checkpoint, so a log of writes would serve nobody.
        self._write_options.disable_wal = True
        self.get = self._db.get  # type: ignore[method-assign]
        self.is_open = True

    def get(self, key: bytes) -> Any:
        """The value of a key; None if there is none."""
        raise StateError("the database is not open")

    def write(self, rows: Iterable[Row]) -> None:
        """Puts and deletes, in order."""
        batch = self._rocksdict.WriteBatch(raw_mode=True)
        entries = size = 0
        for key, value in rows:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
                size += len(value)
            entries += 1
            if entries >= _BATCH_ENTRIES or size >= _BATCH_BYTES:
                self._commit(batch)
                batch = self._rocksdict.WriteBatch(raw_mode=True)
                entries = size = 0
        if entries:
            self._commit(batch)

    def _commit(self, batch: Any) -> None:
        try:
            self._db.write(batch, self._write_options)
        except Exception as error:
            raise StateError(
                f"RocksDB cannot write to {self._directory}: {error}; is the disk full?"
            ) from error

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys from `start` up to but not including `end`, with their values, in order.

        It shows the database as it is at the time of this call, whatever is written later, and may
        be used by another thread.
        """
        read_options = self._rocksdict.ReadOptions()
        read_options.set_iterate_upper_bound(end)
        # What is read once, in order, must not push out what is read again and again.
        read_options.fill_cache(False)
        rows: Iterator[tuple[bytes, bytes]] = self._db.items(from_key=start, read_opt=read_options)
        return rows

    def cursor(self) -> Any:
        """An iterator to look up keys, over the database as it is at the time of this call."""
        return self._db.iter()

    def page(self, start: bytes, end: bytes, size: int) -> list[tuple[bytes, bytes]]:
        """The first rows of a range; no iterator stays open."""
        return list(islice(self.scan(start, end), size))

    def close(self) -> None:
        """Closes the database and removes its directory; in a forked child it does nothing."""
        if os.getpid() != self._owner:
            return
        self.is_open = False
        if self._db is not None:
            # What it cannot write any more goes with its directory.
            with contextlib.suppress(Exception):
                self._db.close()
            self._db = None
            del self.get
        self._remove_directory()

    def _remove_directory(self) -> None:
        if self._directory is not None:
            self._directory.remove()
            self._directory = None
