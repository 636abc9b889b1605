"""A cache of the keys that were looked up last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.runtime.operator import Operator
from headrace.sql.lookups.tables import Found, Key, LookupTable, Row

__all__ = ["CachedTable", "PartialCache"]


@dataclass(frozen=True)
class PartialCache:
    """What `lookup.partial-cache.*` says.

    Attributes:
        max_rows: How many keys are kept; those not used for longest go first.
        expire_after_write_ms: How long the rows of a key are believed.
        expire_after_access_ms: How long a key is kept that no row asks for.
        cache_missing_key: Whether keys without rows are kept as well.
    """

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    cache_missing_key: bool = True


@dataclass(slots=True)
class _Entry:
    rows: list[Row]
    written_ms: int
    used_ms: int


class CachedTable(LookupTable):
    """Asks a table only for keys that it does not know."""

    def __init__(self, table: LookupTable, cache: PartialCache) -> None:
        self._table = table
        self._cache = cache
        self._entries: OrderedDict[Key, _Entry] = OrderedDict()

    def open(self, operator: Operator) -> None:
        self._clock = operator.context.clock
        self._table.open(operator)

    def find(self, keys: Sequence[Key]) -> Found:
        now, entries = self._clock(), self._entries
        found: Found = {}
        missing: list[Key] = []
        for key in keys:
            entry = entries.get(key)
            if entry is None or self._is_old(entry, now):
                missing.append(key)
            else:
                entry.used_ms = now
                entries.move_to_end(key)
                found[key] = entry.rows
        if missing:
            asked = self._table.find(missing)
            self._keep(missing, asked, now)
            found |= asked
        return found

    def probe(self) -> str:
        return self._table.probe()

    def _is_old(self, entry: _Entry, now: int) -> bool:
        write, access = self._cache.expire_after_write_ms, self._cache.expire_after_access_ms
        if write is not None and now - entry.written_ms >= write:
            return True
        return access is not None and now - entry.used_ms >= access

    def _keep(self, keys: Sequence[Key], found: Found, now: int) -> None:
        entries, most = self._entries, self._cache.max_rows
        for key in keys:
            rows = found.get(key, [])
            entries.pop(key, None)
            if rows or self._cache.cache_missing_key:
                entries[key] = _Entry(rows, now, now)
        while most is not None and len(entries) > most:
            entries.popitem(last=False)

    def close(self) -> None:
        self._entries.clear()
        self._table.close()
