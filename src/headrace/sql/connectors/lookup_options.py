"""Options of tables for lookup joins: `lookup.*`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from headrace.common.errors import SqlError
from headrace.sql.connectors.base import TableContext
from headrace.sql.lookups.full_cache import AllRows, FullTable, Reload, WholeTable
from headrace.sql.lookups.partial_cache import CachedTable, PartialCache
from headrace.sql.lookups.tables import (
    AskedTable,
    KeySource,
    LookupLimits,
    LookupTable,
    RetriedTable,
)

__all__ = ["LookupCaching"]

_PARTIAL = "lookup.partial-cache"
_FULL = "lookup.full-cache"


@dataclass(frozen=True)
class LookupCaching:
    """What a table's options say about keeping what was looked up.

    Attributes:
        full: Whether the table is read as a whole.
        partial: The cache of keys that were asked for, if there is one.
        reload: When a table that was read as a whole is read again.
        name: The table's name.
    """

    full: bool
    partial: PartialCache | None
    reload: Reload
    name: str

    @staticmethod
    def of(context: TableContext, default: str = "NONE") -> LookupCaching:
        """What the options of a table say."""
        kind = context.choice("lookup.cache", default, ("NONE", "PARTIAL", "FULL"))
        cache, legacy = _partial_cache(context), _legacy_cache(context)
        partial = {"PARTIAL": cache, "NONE": legacy}.get(kind)
        return LookupCaching(kind == "FULL", partial, _reload(context), context.name)

    def of_keys(
        self, source: KeySource, columns: Sequence[int], limits: LookupLimits
    ) -> LookupTable:
        """A table that asks a source, repeatedly if it has to, and remembers the answers."""
        table = _retried(AskedTable(source, columns, limits), limits)
        return table if self.partial is None else CachedTable(table, self.partial)

    def whole(self, rows: AllRows) -> WholeTable:
        """A table that is read as a whole."""
        return WholeTable(rows, self.reload, self.name)

    def of_all(
        self, table: WholeTable, columns: Sequence[int], limits: LookupLimits
    ) -> LookupTable:
        """The rows of keys of such a table."""
        return _retried(FullTable(table, columns), limits)


def _retried(table: LookupTable, limits: LookupLimits) -> LookupTable:
    return RetriedTable(table, limits) if limits.attempts > 1 else table


def _partial_cache(context: TableContext) -> PartialCache:
    return PartialCache(
        context.integer(f"{_PARTIAL}.max-rows"),
        _millis(context, f"{_PARTIAL}.expire-after-write"),
        _millis(context, f"{_PARTIAL}.expire-after-access"),
        context.boolean(f"{_PARTIAL}.cache-missing-key", True),
    )


def _legacy_cache(context: TableContext) -> PartialCache | None:
    """What tables said before there was `lookup.cache`."""
    most, ttl = context.integer("lookup.cache.max-rows"), _millis(context, "lookup.cache.ttl")
    missing = context.boolean("lookup.cache.caching-missing-key", True)
    return PartialCache(most, ttl, None, missing) if most and ttl else None


def _reload(context: TableContext) -> Reload:
    strategy = context.choice(f"{_FULL}.reload-strategy", "PERIODIC", ("PERIODIC", "TIMED"))
    interval = _millis(context, f"{_FULL}.periodic-reload.interval")
    modes = ("FIXED_DELAY", "FIXED_RATE")
    mode = context.choice(f"{_FULL}.periodic-reload.schedule-mode", "FIXED_DELAY", modes)
    at = context.option(f"{_FULL}.timed-reload.iso-time")
    days = context.integer(f"{_FULL}.timed-reload.interval-in-days", 1) or 1
    if strategy == "PERIODIC":
        return Reload(interval, mode == "FIXED_RATE")
    try:
        return Reload(at=datetime.time.fromisoformat(at or ""), days=days)
    except ValueError:
        given = "it is missing" if at is None else f"not '{at}'"
        raise SqlError(
            f"option '{_FULL}.timed-reload.iso-time' of table {context.name} is a time such as "
            f"'03:30Z', {given}"
        ) from None


def _millis(context: TableContext, key: str) -> int | None:
    found = context.duration(key)
    return None if found is None else found // timedelta(milliseconds=1)
