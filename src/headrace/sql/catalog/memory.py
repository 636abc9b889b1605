"""The catalog that ends with its session: `'type' = 'generic_in_memory'`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NoReturn

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

__all__ = ["InMemoryCatalog"]


@dataclass
class _Table:
    entry: TableEntry
    partitions: dict[PartitionSpec, PartitionEntry] = field(default_factory=dict)
    sizes: dict[PartitionSpec, TableStatistics] = field(default_factory=dict)
    columns: dict[PartitionSpec, ColumnStatistics] = field(default_factory=dict)


@dataclass
class _Database:
    entry: DatabaseEntry
    tables: dict[str, _Table] = field(default_factory=dict)
    functions: dict[str, FunctionEntry] = field(default_factory=dict)
    models: dict[str, ModelEntry] = field(default_factory=dict)


class InMemoryCatalog(CatalogStore):
    """Keeps everything in dictionaries."""

    holds_materialized_tables = True

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, default_database)
        self._databases: dict[str, _Database] = {default_database: _Database(DatabaseEntry())}

    def replaced_by(self, changed: CatalogStore) -> CatalogStore:
        self.default_database = changed.default_database
        return self

    def _database(self, name: str) -> _Database:
        found = self._databases.get(name)
        if found is None:
            self._no_database(name)
        return found

    def _no_database(self, name: str) -> NoReturn:
        raise DatabaseNotExistException(f"Database {name} does not exist in Catalog {self.name}.")

    def _table(self, database: str, name: str) -> _Table:
        # A missing database is not worth an error of its own: Flink's catalog says the same.
        held = self._databases.get(database)
        found = None if held is None else held.tables.get(name)
        if found is None:
            raise TableNotExistException(
                f"Table (or view) {database}.{name} does not exist in Catalog {self.name}."
            )
        return found

    # Databases.

    def list_databases(self) -> list[str]:
        return sorted(self._databases)

    def find_database(self, name: str) -> DatabaseEntry | None:
        found = self._databases.get(name)
        return None if found is None else found.entry

    def create_database(self, name: str, entry: DatabaseEntry, ignore_if_exists: bool) -> None:
        if name not in self._databases:
            self._databases[name] = _Database(entry)
        elif not ignore_if_exists:
            raise DatabaseAlreadyExistException(
                f"Database {name} already exists in Catalog {self.name}."
            )

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None:
        found = self._databases.get(name)
        if found is None:
            if ignore_if_not_exists:
                return
            self._no_database(name)
        if (found.tables or found.functions or found.models) and not cascade:
            raise DatabaseNotEmptyException(f"Database {name} in catalog {self.name} is not empty.")
        del self._databases[name]

    def alter_database(self, name: str, entry: DatabaseEntry, ignore_if_not_exists: bool) -> None:
        if name in self._databases:
            self._databases[name].entry = entry
        elif not ignore_if_not_exists:
            self._no_database(name)

    # Tables and views.

    def list_tables(self, database: str) -> list[str]:
        return sorted(self._database(database).tables)

    def find_table(self, database: str, name: str) -> TableEntry | None:
        held = self._databases.get(database)
        found = None if held is None else held.tables.get(name)
        return None if found is None else found.entry

    def create_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_exists: bool
    ) -> bool:
        tables = self._database(database).tables
        if name not in tables:
            tables[name] = _Table(entry)
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
        if ignore_if_not_exists and self.find_table(database, name) is None:
            return
        held = self._table(database, name)
        kinds = [e.kind for e in (held.entry, entry)]
        if kinds[0] != kinds[1]:
            raise CatalogException(
                f"Table types don't match. Existing table is '{kinds[0]}' and new table is "
                f"'{kinds[1]}'."
            )
        held.entry = entry

    def rename_table(
        self, database: str, name: str, new_name: str, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and self.find_table(database, name) is None:
            return
        held = self._table(database, name)
        tables = self._database(database).tables
        if new_name in tables:
            self._table_exists(database, new_name)
        del tables[name]
        tables[new_name] = held

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and self.find_table(database, name) is None:
            return
        self._table(database, name)
        del self._database(database).tables[name]

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
        self._table(database, table).partitions[spec] = entry

    def drop_partition(self, database: str, table: str, spec: PartitionSpec) -> None:
        del self._table(database, table).partitions[spec]

    # Functions and models.

    def list_functions(self, database: str) -> list[str]:
        return sorted(self._database(database).functions)

    def find_function(self, database: str, name: str) -> FunctionEntry | None:
        held = self._databases.get(database)
        return None if held is None else held.functions.get(name)

    def put_function(self, database: str, name: str, entry: FunctionEntry) -> None:
        self._database(database).functions[name] = entry

    def drop_function(self, database: str, name: str) -> None:
        self.function(database, name)
        del self._database(database).functions[name]

    def list_models(self, database: str) -> list[str]:
        return sorted(self._database(database).models)

    def find_model(self, database: str, name: str) -> ModelEntry | None:
        held = self._databases.get(database)
        return None if held is None else held.models.get(name)

    def put_model(self, database: str, name: str, entry: ModelEntry) -> None:
        self._database(database).models[name] = entry

    def drop_model(self, database: str, name: str) -> None:
        del self._database(database).models[name]

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
            held.sizes[spec] = replace(statistics)

    def column_statistics(
        self, database: str, table: str, spec: PartitionSpec = ()
    ) -> ColumnStatistics:
        return self._table(database, table).columns.get(spec, ColumnStatistics())

    def put_column_statistics(
        self, database: str, table: str, statistics: ColumnStatistics, spec: PartitionSpec = ()
    ) -> None:
        held = self._table(database, table)
        if spec or not held.entry.partition_keys:
            held.columns[spec] = replace(statistics)
