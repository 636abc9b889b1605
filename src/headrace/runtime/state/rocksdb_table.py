"""A table whose entries are in RocksDB, behind a bounded write-back cache of decoded objects.

`CachedEntries` is a dict of the cached entries, so that reading and writing one of them costs what
it costs in a dict. A missing key is looked up in the database and stays in the cache, as None if
the database has no such entry. State objects report each change to `dirty`, a set; this is also how
entries that were changed in place become known. When the cache is full, its oldest part is written,
as far as it is dirty, and dropped. A barrier writes nothing: the dirty entries become `unwritten`
ones, and a snapshot has them on top of what is in the database.

As long as a backend's entries all fit into the cache there is no database: the cache is everything.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from struct import Struct
from typing import Any
from zlib import crc32

from headrace.common.errors import StateError, shorten_repr
from headrace.graph.ids import KeyGroup
from headrace.runtime.key_groups import HASH_MASK, HASH_MULTIPLIER, stable_hash
from headrace.runtime.pickling import dumps
from headrace.runtime.state.declaration import StateKind, StateMeta
from headrace.runtime.state.entry_codec import (
    NO_TRAILER,
    SELF_DESCRIBING,
    address_bytes,
    address_of,
    has_address,
    is_gone,
    is_record_block,
    oldest_of,
    read_records,
    value_bytes,
)
from headrace.runtime.state.rocksdb_store import ObjectBudget, RocksDBStore, Row
from headrace.runtime.state.snapshot import decode_block, unpicklable, unreadable
from headrace.runtime.state.table_backend import StateTable
from headrace.runtime.state.ttl_cleanup import IncrementalCleaner, trim_for

__all__ = ["CachedEntries", "RocksDBTable", "TableCodec"]

_PREFIX = Struct(">HH")
PREFIX_SIZE = _PREFIX.size
_PAGE = 500

_set_add = set.add
_dict_get = dict.get
_dict_remove = dict.__delitem__


class TableCodec:
    """Turns entries of one table into keys and values of the database, and back.

    A key is the number of the table, the key group (two bytes each) and the bytes of the address,
    so a key group is one range.
    """

    __slots__ = ("_groups", "_is_plain", "_prefixes", "end", "meta", "namespaced", "start")

    def __init__(self, number: int, meta: StateMeta, max_parallelism: int) -> None:
        self.meta = meta
        self.namespaced = meta.namespaced
        self._is_plain = not meta.namespaced and meta.ttl is None
        self.start = number.to_bytes(2, "big")
        self.end = (number + 1).to_bytes(2, "big")
        self._groups = max_parallelism
        self._prefixes = [_PREFIX.pack(number, group) for group in range(max_parallelism)]

    def key(self, address: Any) -> bytes:
        """The key of an address."""
        if self.namespaced:
            prefix = self._prefixes[stable_hash(address[0]) % self._groups]
            return prefix + address_bytes(address, True)
        # The most common types without a call: this is most of what a lookup costs in Python.
        if type(address) is int:
            group = (address * HASH_MULTIPLIER >> 32 & HASH_MASK) % self._groups
            return self._prefixes[group] + b"i%d" % address
        if type(address) is str:
            data = address.encode("utf-8", "surrogatepass")
            return self._prefixes[crc32(data) % self._groups] + b"s" + data
        return self._prefixes[stable_hash(address) % self._groups] + address_bytes(address, False)

    def key_in(self, key_group: int, address: bytes) -> bytes:
        """The key of address bytes in a key group."""
        return self._prefixes[key_group] + address

    def value(self, address: Any, stored: Any) -> bytes:
        """The value of an entry."""
        oldest = None if self.meta.ttl is None else _oldest(self.meta.kind, stored)
        try:
            if self._is_plain and type(address) in SELF_DESCRIBING:
                return dumps(stored) + NO_TRAILER
            return value_bytes(address, stored, self.namespaced, oldest)
        except Exception as error:
            raise unpicklable(self.meta, address, stored, error) from error

    def row(self, address: Any, stored: Any) -> Row:
        """Key and value; None as the stored object deletes the key."""
        return self.key(address), None if stored is None else self.value(address, stored)

    def stored(self, address: Any, value: bytes) -> Any:
        """The stored object of an entry that was found under an address."""
        try:
            if value[-1] and has_address(value):
                self._require_same(address, address_of(b"", value, self.namespaced))
            return pickle.loads(value)
        except StateError:
            raise
        except Exception as error:
            raise unreadable(self.meta, f"key {shorten_repr(address)}", error) from error

    def address(self, key: bytes, value: bytes) -> Any:
        """The address of an entry."""
        return address_of(key[PREFIX_SIZE:], value, self.namespaced)

    def _require_same(self, address: Any, found: Any) -> None:
        if found != address:
            raise StateError(
                f"state {self.meta.name!r} has two different keys with the same canonical form, "
                f"{shorten_repr(address)} and {shorten_repr(found)}; use keys made of strings, "
                "numbers, bytes, tuples or dataclasses with distinct names"
            )


def _oldest(kind: StateKind, stored: Any) -> int:
    pairs = stored if kind is StateKind.LIST else (stored,)
    if kind is StateKind.MAP:
        pairs = stored.values()
    oldest: int = min(pair[1] for pair in pairs)
    return oldest


class _Dirty(set[Any]):
    """Addresses of cached entries that the database does not have, or not like this."""

    __slots__ = ("_entries",)

    def __init__(self, entries: CachedEntries) -> None:
        super().__init__()
        self._entries = entries

    def add(self, address: Any) -> None:
        _set_add(self, address)
        entries = self._entries
        if len(entries) > entries.limit:
            entries.evict()


class CachedEntries(dict[Any, Any]):
    """The cached entries of a table, and through them all others.

    `len` and iteration are about the cache. Who writes adds the address to `dirty` afterwards; what
    removes an entry is `pop`, not `del`.

    Args:
        codec: Makes keys and values.
        store: The database.
        open_store: Opens it and writes what all its tables have in their caches.
        report: Takes the addresses of changed entries as they are written.
    """

    __slots__ = (
        "__weakref__", "_codec", "_open_store", "_report", "_store", "dirty", "get", "limit",
        "unwritten",
    )  # fmt: skip

    def __init__(
        self,
        codec: TableCodec,
        store: RocksDBStore,
        open_store: Callable[[], None],
        report: Callable[[Iterable[Any]], object],
    ) -> None:
        super().__init__()
        self.limit = 1
        self.dirty = _Dirty(self)
        self.unwritten: set[Any] = set()
        # Of a cached entry this is dict's own code; `__missing__` sees the others.
        self.get = super().__getitem__  # type: ignore[assignment]
        self._codec = codec
        self._store = store
        self._open_store = open_store
        self._report = report

    def __missing__(self, address: Any) -> Any:
        stored = None
        if self._store.is_open:
            value = self._store.get(self._codec.key(address))
            if value is not None:
                stored = self._codec.stored(address, value)
        self[address] = stored
        if len(self) > self.limit:
            self.evict()
        return stored

    def __contains__(self, address: Any) -> bool:
        return self[address] is not None

    # No `__delitem__`: a class that has one also pays for each `entries[address] = stored`.

    def pop(self, address: Any, *default: Any) -> Any:
        """Removes an entry; the cache remembers that it is gone."""
        stored = self[address]
        if stored is None:
            if default:
                return default[0]
            raise KeyError(address)
        self[address] = None
        self.dirty.add(address)
        return stored

    def evict(self) -> None:
        """Makes room: drops the entries that have been in the cache for longest."""
        if not self._store.is_open:
            self._open_store()
        count = len(self) - self.limit + self.limit // 8
        victims = list(islice(self, count))
        dirty, unwritten = self.dirty, self.unwritten
        self._write([v for v in victims if v in dirty or v in unwritten])
        for victim in victims:
            _dict_remove(self, victim)

    def flush(self) -> None:
        """Brings the database up to date."""
        self._write(list(self.dirty | self.unwritten))

    def report_dirty(self) -> None:
        """Tell of all changes; those that the database does not have stay where they are."""
        self._report(self.dirty)
        if self._store.is_open:
            self.unwritten |= self.dirty
        self.dirty.clear()

    def _write(self, addresses: list[Any]) -> None:
        row = self._codec.row
        # All of them are encoded first: one that cannot be leaves everything as it was.
        self._store.write([row(address, _dict_get(self, address)) for address in addresses])
        self._report(self.dirty.intersection(addresses))
        self.dirty.difference_update(addresses)
        self.unwritten.difference_update(addresses)

    def rows(self) -> list[Row]:
        """All cached entries, for a database that has just been opened."""
        row = self._codec.row
        return [row(address, stored) for address, stored in self.live()]

    def live(self) -> list[tuple[Any, Any]]:
        """The cached entries that exist."""
        return [(address, stored) for address, stored in self.items() if stored is not None]


class RocksDBTable(StateTable):
    """A table in a database.

    Args:
        meta: What the table is.
        number: The number of the table in its database.
        max_parallelism: Number of key groups.
        store: The database.
        open_store: Opens it and writes what all its tables have in their caches.
        budget: Says how many entries may be cached.
        track_changes: Whether incremental checkpoints are taken.
    """

    __slots__ = ("cache", "codec", "store", "track_changes")

    def __init__(
        self,
        meta: StateMeta,
        number: int,
        max_parallelism: int,
        store: RocksDBStore,
        open_store: Callable[[], None],
        budget: ObjectBudget,
        track_changes: bool,
    ) -> None:
        self.codec = TableCodec(number, meta, max_parallelism)
        self.cache = CachedEntries(self.codec, store, open_store, self._report)
        self.store = store
        self.track_changes = track_changes
        super().__init__(meta, self.cache, track_changes)
        # Whether or not changes are tracked: the cache must know what to write.
        self.changed = self.cache.dirty
        budget.join(self.cache)

    def _report(self, addresses: Iterable[Any]) -> None:
        if self.track_changes:
            self.tracker.changed.update(addresses)

    def sync(self) -> None:
        self.cache.report_dirty()

    def addresses(self) -> Iterator[Any]:
        if not self.store.is_open:
            return iter([address for address, _ in self.cache.live()])
        self.cache.flush()
        rows = self.store.scan(self.codec.start, self.codec.end)
        return (self.codec.address(key, value) for key, value in rows)

    def count(self) -> int:
        if not self.store.is_open:
            return len(self.cache.live())
        self.cache.flush()
        return sum(1 for _ in self.store.scan(self.codec.start, self.codec.end))

    def cached_among(self, addresses: set[Any]) -> set[Any]:
        """Those of some addresses that the cache knows; of all others the database is right."""
        # `in` of the cache itself would look in the database.
        return addresses & self.cache.keys()

    def known_size(self) -> int | None:
        return None if self.store.is_open else len(self.cache)

    def new_cleaner(self, clock: Callable[[], int]) -> IncrementalCleaner:
        return _StoreCleaner(self, clock)

    def decode(self) -> None:
        for key_group, data in chain.from_iterable(self.blocks):
            if self.store.is_open:
                self.store.write(self._restored_rows(key_group, data))
                continue
            present, gone = decode_block(self.meta, key_group, data)
            self.cache.update(present)
            for address in gone:
                dict.pop(self.cache, address, None)
            if len(self.cache) > self.cache.limit:
                self.cache.evict()
                # From here on entries go past the cache, which must not hide them.
                self.cache.clear()
        self.blocks.clear()

    def _restored_rows(self, key_group: KeyGroup, data: bytes) -> Iterator[Row]:
        """The rows of a block; those of a block of records are written as they are."""
        codec = self.codec
        if not is_record_block(data):
            present, gone = decode_block(self.meta, key_group, data)
            yield from (codec.row(address, stored) for address, stored in present.items())
            yield from ((codec.key(address), None) for address in gone)
            return
        try:
            for address, value in read_records(data):
                yield codec.key_in(key_group, address), None if is_gone(value) else value
        except Exception as error:
            raise unreadable(self.meta, f"key group {key_group}", error) from error


class _StoreCleaner(IncrementalCleaner):
    """Walks through the cache and then the database, where most entries need not be decoded.

    RocksDB's own filter for compactions is out of reach of its Python library. The walk does its
    work: each value says how old the oldest thing in it is.
    """

    __slots__ = ("_store_walk", "_table")

    def __init__(self, table: RocksDBTable, clock: Callable[[], int]) -> None:
        assert table.meta.ttl is not None
        super().__init__(
            table.cache, trim_for(table.meta.kind), table.meta.ttl, clock, table.cache.dirty.add
        )
        self._table = table
        self._store_walk: Iterator[tuple[Any] | None] = iter(())

    def _next(self, count: int) -> list[Any]:
        if not self._table.store.is_open:
            return super()._next(count)
        found = list(islice(self._store_walk, count))
        if len(found) < count:
            self._store_walk = self._start()
            found.extend(islice(self._store_walk, count - len(found)))
        return [some[0] for some in found if some is not None]

    def _start(self) -> Iterator[tuple[Any] | None]:
        """Addresses of entries that may have expired, each in a tuple; None for each other one."""
        table = self._table
        codec, cache = table.codec, table.cache
        yield from [(address,) for address in list(cache)]
        start = codec.start
        while rows := table.store.page(start, codec.end, _PAGE):
            for key, value in rows:
                oldest = oldest_of(value)
                if oldest is None or oldest <= self._clock() - self._policy.ttl_ms:
                    yield (codec.address(key, value),)
                else:
                    yield None
            start = rows[-1][0] + b"\x00"
