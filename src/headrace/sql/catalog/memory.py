"""The catalog that ends with its session: `'type' = 'generic_in_memory'`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.sql.catalog.entries import DatabaseEntry
from headrace.sql.catalog.keeping import KINDS, KeepingCatalog, Kind, Shelf
from headrace.sql.catalog.store import CatalogStore

__all__ = ["InMemoryCatalog"]


@dataclass
class _Database:
    entry: DatabaseEntry
    objects: dict[Kind, dict[str, Any]] = field(default_factory=lambda: {k: {} for k in KINDS})


class _Dictionaries(Shelf):
    def __init__(self, default_database: str) -> None:
        self._databases = {default_database: _Database(DatabaseEntry())}

    def databases(self) -> list[str]:
        return list(self._databases)

    def database(self, name: str) -> DatabaseEntry | None:
        found = self._databases.get(name)
        return None if found is None else found.entry

    def put_database(self, name: str, entry: DatabaseEntry) -> None:
        self._databases.setdefault(name, _Database(entry)).entry = entry

    def remove_database(self, name: str) -> None:
        del self._databases[name]

    def names(self, database: str, kind: Kind) -> list[str]:
        return list(self._databases[database].objects[kind])

    def get(self, database: str, kind: Kind, name: str) -> Any:
        found = self._databases.get(database)
        return None if found is None else found.objects[kind].get(name)

    def put(self, database: str, kind: Kind, name: str, kept: Any) -> None:
        self._databases[database].objects[kind][name] = kept

    def add(self, database: str, kind: Kind, name: str, kept: Any) -> bool:
        return self._databases[database].objects[kind].setdefault(name, kept) is kept

    def remove(self, database: str, kind: Kind, name: str) -> None:
        del self._databases[database].objects[kind][name]


class InMemoryCatalog(KeepingCatalog):
    """Keeps everything in dictionaries."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, default_database, _Dictionaries(default_database))

    def replaced_by(self, changed: CatalogStore) -> CatalogStore:
        self.default_database = changed.default_database
        return self
