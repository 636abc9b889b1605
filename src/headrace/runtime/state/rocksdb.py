"""The `rocksdb` backend: entries in a RocksDB on local disk, so that state may outgrow memory.

Each operator and subtask has a database of its own, in a directory that lives as long as the
subtask does; what survives is in checkpoints. In front of it is a cache of decoded objects (see
`rocksdb_table`), which is written when it overflows. While everything fits into
the cache there is no database at all, and a snapshot is one of Python objects, as in the `hashmap`
backend. Snapshots of both backends can be restored by either.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.runtime.state.declaration import StateMeta
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from headrace.runtime.state.rocksdb_store import RocksDBResources, RocksDBStore
from headrace.runtime.state.rocksdb_table import CachedEntries, RocksDBTable
from headrace.runtime.state.rocksdb_view import PipedView, StoreView, TablePart
from headrace.runtime.state.snapshot import TableView, View
from headrace.runtime.state.table_backend import TableStateBackend

__all__ = ["RocksDBStateBackend"]

_STOP_S = 5.0


class RocksDBStateBackend(TableStateBackend[RocksDBTable]):
    """Keeps the keyed state of an operator in RocksDB.

    Args:
        max_parallelism: Number of key groups.
        clock: Processing time in milliseconds, for time-to-live.
        track_changes: Whether incremental checkpoints are taken.
        operator_uid: Names the operator in errors.
        resources: What the backends of a slot share; by default nothing is shared.
        subtask: Chooses one of several local directories.
    """

    encodes_values = True

    def __init__(
        self,
        max_parallelism: int,
        clock: Callable[[], int],
        track_changes: bool = False,
        *,
        operator_uid: str | None = None,
        resources: RocksDBResources | None = None,
        subtask: int = 0,
    ) -> None:
        super().__init__(max_parallelism, clock, track_changes, operator_uid=operator_uid)
        self._resources = resources or RocksDBResources(RocksDBSettings())
        self._store = RocksDBStore(self._resources, subtask)
        self._piped: weakref.WeakSet[PipedView] = weakref.WeakSet()
        # A process that simply drops its backend leaves no files behind either.
        self._finalizer = weakref.finalize(self, self._store.close)

    def _new_table(self, meta: StateMeta) -> RocksDBTable:
        return RocksDBTable(
            meta,
            len(self._tables),
            self.max_parallelism,
            self._store,
            self._open_store,
            self._resources.budget,
            self._track_changes,
        )

    def _open_store(self) -> None:
        # Encoded before there is a database: if that fails, the caches are still everything.
        rows = [row for table in self._tables.values() for row in table.cache.rows()]
        self._store.open()
        self._store.write(rows)

    def _views(
        self,
        tables: Sequence[RocksDBTable],
        changes: Sequence[set[Any]] | None,
        now: int,
        deferred: bool,
    ) -> list[View]:
        chosen: Sequence[set[Any] | None] = [None] * len(tables) if changes is None else changes
        trims = [t.trim_at(now) if c is None else None for t, c in zip(tables, chosen, strict=True)]
        cached: list[View] = []
        parts: list[TablePart] = []
        for table, changed, trim in zip(tables, chosen, trims, strict=True):
            live: Any = _Live(table.cache)
            if not self._store.is_open:
                cached.append(TableView(table.meta, live, changed, trim))
                continue
            if not deferred:
                table.cache.flush()
            in_cache = table.cached_among(table.cache.unwritten if changed is None else changed)
            stored = None if changed is None else changed - in_cache
            if stored is None or stored:
                parts.append(TablePart(table.codec, stored, trim, _horizon(table.meta, now)))
            if in_cache:
                cached.append(TableView(table.meta, live, in_cache, trim))
        if not parts:
            return cached
        view = StoreView(self._store, parts)
        # What is in the cache comes last, because it counts.
        return [self._piped_view(view) if deferred else view, *cached]

    def _piped_view(self, view: StoreView) -> PipedView:
        piped = PipedView(view)
        self._piped.add(piped)
        return piped

    def _free(self) -> None:
        for piped in list(self._piped):
            piped.stop(_STOP_S)
        for table in self._tables.values():
            self._resources.budget.leave(table.cache)
            table.cache.dirty.clear()
            table.cache.unwritten.clear()
            table.cache.clear()
        self._finalizer()


def _horizon(meta: StateMeta, now: int) -> int:
    return 0 if meta.ttl is None else now - meta.ttl.ttl_ms


class _Live:
    """The entries of a cache that is everything, for a snapshot of it."""

    def __init__(self, cache: CachedEntries) -> None:
        self._cache = cache

    def get(self, address: Any) -> Any:
        return dict.get(self._cache, address)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._cache.live())
