"""What catalogs do that keep whole entries, wherever they keep them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, cast

from headrace.sql.catalog.entries import (
    ColumnStatistics,
    DatabaseEntry,
    FunctionEntry,
    ModelEntry,
    PartitionEntry,
    PartitionSpec,
    TableEntry,
    TableStatistics,
)
from headrace.sql.catalog.procedures import BUILT_IN, Procedure
from headrace.sql.catalog.store import CatalogStore
from headrace.util.exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
)

__all__ = ["KINDS", "KeepingCatalog", "KeptTable", "Kind", "Shelf"]

Kind = Literal["tables", "functions", "models"]
KINDS: tuple[Kind, ...] = ("tables", "functions", "models")


@dataclass(frozen=True)
class KeptTable:
    """A table or view, with its partitions and statistics."""

    entry: TableEntry
    partitions: dict[PartitionSpec, PartitionEntry] = field(default_factory=dict)
    sizes: dict[PartitionSpec, TableStatistics] = field(default_factory=dict)
    columns: dict[PartitionSpec, ColumnStatistics] = field(default_factory=dict)


class Shelf(ABC):
    """Where a catalog keeps its databases, and in each of them objects of some kinds by name."""

    @abstractmethod
    def databases(self) -> list[str]:
        """Their names."""

    @abstractmethod
    def database(self, name: str) -> DatabaseEntry | None:
        """The database of a name."""

    @abstractmethod
    def put_database(self, name: str, entry: DatabaseEntry) -> None:
        """Add or replace a database."""

    @abstractmethod
    def remove_database(self, name: str) -> None:
        """Forget a database, and what is in it."""

    @abstractmethod
    def names(self, database: str, kind: Kind) -> list[str]:
        """Names of the objects of a database."""

    @abstractmethod
    def get(self, database: str, kind: Kind, name: str) -> Any:
        """An object; None if there is none, or no such database."""

    @abstractmethod
    def put(self, database: str, kind: Kind, name: str, kept: Any) -> None:
        """Add or replace an object."""

    @abstractmethod
    def add(self, database: str, kind: Kind, name: str, kept: Any) -> bool:
        """Add an object; False if there is one already, which stays."""

    @abstractmethod
    def remove(self, database: str, kind: Kind, name: str) -> None:
        """Forget an object."""


class KeepingCatalog(CatalogStore):
    """A catalog that keeps what it is given on a shelf."""

    holds_materialized_tables = True

    def __init__(self, name: str, default_database: str, shelf: Shelf) -> None:
        super().__init__(name, default_database)
        self._shelf = shelf

    def _check_database(self, name: str) -> None:
        if self.find_database(name) is None:
            self._no_database(name)

    def _no_database(self, name: str) -> NoReturn:
        raise DatabaseNotExistException(f"Database {name} does not exist in Catalog {self.name}.")

    def _find(self, database: str, name: str) -> KeptTable | None:
        return cast("KeptTable | None", self._shelf.get(database, "tables", name))

    def _table(self, database: str, name: str) -> KeptTable:
        # A missing database is not worth an error of its own: Flink's catalog says the same.
        found = self._find(database, name)
        if found is None:
            raise TableNotExistException(
                f"Table (or view) {database}.{name} does not exist in Catalog {self.name}."
            )
        return found

    def _change(self, database: str, name: str, **changes: Any) -> None:
        changed = replace(self._table(database, name), **changes)
        self._shelf.put(database, "tables", name, changed)

    # Databases.

    def list_databases(self) -> list[str]:
        return sorted(self._shelf.databases())

    def find_database(self, name: str) -> DatabaseEntry | None:
        return self._shelf.database(name)

    def create_database(self, name: str, entry: DatabaseEntry, ignore_if_exists: bool) -> None:
        if self.find_database(name) is None:
            self._shelf.put_database(name, entry)
        elif not ignore_if_exists:
            raise DatabaseAlreadyExistException(
                f"Database {name} already exists in Catalog {self.name}."
            )

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None:
        if self.find_database(name) is None:
            if ignore_if_not_exists:
                return
            self._no_database(name)
        if not cascade and any(self._shelf.names(name, kind) for kind in KINDS):
            raise DatabaseNotEmptyException(f"Database {name} in catalog {self.name} is not empty.")
        self._shelf.remove_database(name)

    def alter_database(self, name: str, entry: DatabaseEntry, ignore_if_not_exists: bool) -> None:
        if self.find_database(name) is not None:
            self._shelf.put_database(name, entry)
        elif not ignore_if_not_exists:
            self._no_database(name)

    # Tables and views.

    def list_tables(self, database: str) -> list[str]:
        return self._names(database, "tables")

    def _names(self, database: str, kind: Kind) -> list[str]:
        self._check_database(database)
        return sorted(self._shelf.names(database, kind))

    def find_table(self, database: str, name: str) -> TableEntry | None:
        found = self._find(database, name)
        return None if found is None else found.entry

    def create_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_exists: bool
    ) -> bool:
        self._check_database(database)
        if self._shelf.add(database, "tables", name, KeptTable(entry)):
            return True
        if not ignore_if_exists:
            self._table_exists(database, name)
        return False

    def _table_exists(self, database: str, name: str) -> NoReturn:
        raise TableAlreadyExistException(
            f"Table (or view) {database}.{name} already exists in Catalog {self.name}."
        )

    def alter_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and self._find(database, name) is None:
            return
        kinds = [e.kind for e in (self._table(database, name).entry, entry)]
        if kinds[0] != kinds[1]:
            raise CatalogException(
                f"Table types don't match. Existing table is '{kinds[0]}' and new table is "
                f"'{kinds[1]}'."
            )
        self._change(database, name, entry=entry)

    def rename_table(
        self, database: str, name: str, new_name: str, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and self._find(database, name) is None:
            return
        if not self._shelf.add(database, "tables", new_name, self._table(database, name)):
            self._table_exists(database, new_name)
        self._shelf.remove(database, "tables", name)

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and self._find(database, name) is None:
            return
        self._table(database, name)
        self._shelf.remove(database, "tables", name)

    # Partitions.

    def list_partitions(self, database: str, table: str) -> list[PartitionSpec]:
        return list(self._table(database, table).partitions)

    def find_partition(
        self, database: str, table: str, spec: PartitionSpec
    ) -> PartitionEntry | None:
        return self._table(database, table).partitions.get(spec)

    def put_partition(
        self, database: str, table: str, spec: PartitionSpec, entry: PartitionEntry
    ) -> None:
        known = self._table(database, table).partitions
        self._change(database, table, partitions={**known, spec: entry})

    def drop_partition(self, database: str, table: str, spec: PartitionSpec) -> None:
        known = self._table(database, table).partitions
        left = {other: entry for other, entry in known.items() if other != spec}
        self._change(database, table, partitions=left)

    # Functions and models.

    def list_functions(self, database: str) -> list[str]:
        return self._names(database, "functions")

    def find_function(self, database: str, name: str) -> FunctionEntry | None:
        return cast("FunctionEntry | None", self._shelf.get(database, "functions", name))

    def put_function(self, database: str, name: str, entry: FunctionEntry) -> None:
        self._check_database(database)
        self._shelf.put(database, "functions", name, entry)

    def drop_function(self, database: str, name: str) -> None:
        self.function(database, name)
        self._shelf.remove(database, "functions", name)

    def list_models(self, database: str) -> list[str]:
        return self._names(database, "models")

    def find_model(self, database: str, name: str) -> ModelEntry | None:
        return cast("ModelEntry | None", self._shelf.get(database, "models", name))

    def put_model(self, database: str, name: str, entry: ModelEntry) -> None:
        self._check_database(database)
        self._shelf.put(database, "models", name, entry)

    def drop_model(self, database: str, name: str) -> None:
        self._shelf.remove(database, "models", name)

    # Procedures.

    def list_procedures(self, database: str) -> list[str]:
        return list(BUILT_IN) if database == "sys" else []

    def find_procedure(self, database: str, name: str) -> Procedure | None:
        return BUILT_IN.get(name) if database == "sys" else None

    # Statistics.

    def table_statistics(
        self, database: str, table: str, spec: PartitionSpec = ()
    ) -> TableStatistics:
        return self._table(database, table).sizes.get(spec, TableStatistics())

    def put_table_statistics(
        self, database: str, table: str, statistics: TableStatistics, spec: PartitionSpec = ()
    ) -> None:
        held = self._table(database, table)
        # As in Flink, a table with partitions has statistics of its partitions alone.
        if spec or not held.entry.partition_keys:
            self._change(database, table, sizes={**held.sizes, spec: replace(statistics)})

    def column_statistics(
        self, database: str, table: str, spec: PartitionSpec = ()
    ) -> ColumnStatistics:
        return self._table(database, table).columns.get(spec, ColumnStatistics())

    def put_column_statistics(
        self, database: str, table: str, statistics: ColumnStatistics, spec: PartitionSpec = ()
    ) -> None:
        held = self._table(database, table)
        if spec or not held.entry.partition_keys:
            self._change(database, table, columns={**held.columns, spec: replace(statistics)})
