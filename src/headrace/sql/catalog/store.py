"""What a session asks of a catalog. A new kind of catalog is a subclass of `CatalogStore`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NoReturn

from headrace.common.configuration import Configuration
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
from headrace.sql.catalog.procedures import Procedure
from headrace.util.exceptions import (
    CatalogException,
    DatabaseNotExistException,
    FunctionNotExistException,
    TableNotExistException,
)

__all__ = ["CatalogStore"]


class CatalogStore(ABC):
    """Databases, tables, views and functions that outlive a statement.

    Databases and tables are what every catalog has. The rest is refused unless a catalog says how
    it is done: a catalog that lists tables of a server, say, has no functions. Methods that look
    for something give None if there is none; those that change something raise the errors of
    `headrace.util.exceptions`.

    Args:
        name: What the session calls the catalog, for messages.
        default_database: The database that `USE CATALOG` chooses.
    """

    def __init__(self, name: str, default_database: str) -> None:
        self.name = name
        self.default_database = default_database

    holds_materialized_tables = False
    """Whether all of an entry is kept, also `materialization`."""

    def open(self, configuration: Configuration) -> None:  # noqa: B027 - there may be nothing to do
        """Called with the settings of a session before that asks anything.

        What is wrong with the options should be said here.
        """

    def replaced_by(self, changed: CatalogStore) -> CatalogStore:
        """What the session goes on with after ALTER CATALOG: a catalog of the changed options."""
        return changed

    # Databases.

    @abstractmethod
    def list_databases(self) -> list[str]:
        """Names in order."""

    @abstractmethod
    def find_database(self, name: str) -> DatabaseEntry | None:
        """The database of a name."""

    def create_database(self, name: str, entry: DatabaseEntry, ignore_if_exists: bool) -> None:
        """Add an empty database."""
        self._refuse("CREATE DATABASE")

    def drop_database(self, name: str, ignore_if_not_exists: bool, cascade: bool) -> None:
        """Forget a database; with `cascade` also what is in it."""
        self._refuse("DROP DATABASE")

    def alter_database(self, name: str, entry: DatabaseEntry, ignore_if_not_exists: bool) -> None:
        """Replace the properties and the comment of a database."""
        self._refuse("ALTER DATABASE")

    def database_exists(self, name: str) -> bool:
        """Whether there is a database of a name."""
        return self.find_database(name) is not None

    def database(self, name: str) -> DatabaseEntry:
        """The database of a name, which has to exist."""
        found = self.find_database(name)
        if found is None:
            raise DatabaseNotExistException(
                f"Database {name} does not exist in Catalog {self.name}."
            )
        return found

    # Tables and views.

    @abstractmethod
    def list_tables(self, database: str) -> list[str]:
        """Names of tables and views in order."""

    @abstractmethod
    def find_table(self, database: str, name: str) -> TableEntry | None:
        """The table or view of a name."""

    def create_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_exists: bool
    ) -> bool:
        """Add a table or view; False if there was one already."""
        self._refuse("CREATE TABLE")

    def alter_table(
        self, database: str, name: str, entry: TableEntry, ignore_if_not_exists: bool
    ) -> None:
        """Replace a table or view by another of the same kind."""
        self._refuse("ALTER TABLE")

    def rename_table(
        self, database: str, name: str, new_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Give a table another name in its database."""
        self._refuse("ALTER TABLE RENAME")

    def drop_table(self, database: str, name: str, ignore_if_not_exists: bool) -> None:
        """Forget a table or view."""
        self._refuse("DROP TABLE")

    def table(self, database: str, name: str) -> TableEntry:
        """The table or view of a name, which has to exist."""
        found = self.find_table(database, name)
        if found is None:
            raise TableNotExistException(
                f"Table (or view) {database}.{name} does not exist in Catalog {self.name}."
            )
        return found

    # Partitions.

    def list_partitions(self, database: str, table: str) -> list[PartitionSpec]:
        """All partitions that were declared."""
        self._refuse("SHOW PARTITIONS")

    def find_partition(
        self, database: str, table: str, spec: PartitionSpec
    ) -> PartitionEntry | None:
        """The partition of some values."""
        self._refuse("partitions")

    def put_partition(
        self, database: str, table: str, spec: PartitionSpec, entry: PartitionEntry
    ) -> None:
        """Add or replace a partition."""
        self._refuse("ALTER TABLE ADD PARTITION")

    def drop_partition(self, database: str, table: str, spec: PartitionSpec) -> None:
        """Forget a partition, which has to exist."""
        self._refuse("ALTER TABLE DROP PARTITION")

    # Functions; their names are in lower case.

    def list_functions(self, database: str) -> list[str]:
        """Names in order."""
        return []

    def find_function(self, database: str, name: str) -> FunctionEntry | None:
        """The function of a name."""
        return None

    def put_function(self, database: str, name: str, entry: FunctionEntry) -> None:
        """Add or replace a function."""
        self._refuse("CREATE FUNCTION")

    def drop_function(self, database: str, name: str) -> None:
        """Forget a function, which has to exist."""
        self._refuse("DROP FUNCTION")

    def function(self, database: str, name: str) -> FunctionEntry:
        """The function of a name, which has to exist."""
        found = self.find_function(database, name)
        if found is None:
            raise FunctionNotExistException(
                f"Function {database}.{name} does not exist in Catalog {self.name}."
            )
        return found

    # Models.

    def list_models(self, database: str) -> list[str]:
        """Names in order."""
        return []

    def find_model(self, database: str, name: str) -> ModelEntry | None:
        """The model of a name."""
        return None

    def put_model(self, database: str, name: str, entry: ModelEntry) -> None:
        """Add or replace a model."""
        self._refuse("CREATE MODEL")

    def drop_model(self, database: str, name: str) -> None:
        """Forget a model, which has to exist."""
        self._refuse("DROP MODEL")

    # Procedures.

    def list_procedures(self, database: str) -> list[str]:
        """Names of what CALL may call."""
        return []

    def find_procedure(self, database: str, name: str) -> Procedure | None:
        """The procedure of a name."""
        return None

    # Statistics; `spec` is a partition, or empty for the whole table.

    def table_statistics(
        self, database: str, table: str, spec: PartitionSpec = ()
    ) -> TableStatistics:
        """Sizes, as far as they are known."""
        return TableStatistics()

    def put_table_statistics(
        self, database: str, table: str, statistics: TableStatistics, spec: PartitionSpec = ()
    ) -> None:
        """Replace the sizes."""
        self._refuse("statistics")

    def column_statistics(
        self, database: str, table: str, spec: PartitionSpec = ()
    ) -> ColumnStatistics:
        """Statistics of columns, as far as they are known."""
        return ColumnStatistics()

    def put_column_statistics(
        self, database: str, table: str, statistics: ColumnStatistics, spec: PartitionSpec = ()
    ) -> None:
        """Replace the statistics of columns."""
        self._refuse("statistics")

    def check_materialized_tables(self) -> None:
        """Refuse a materialized table that would lose its query."""
        if not self.holds_materialized_tables:
            self._refuse("CREATE MATERIALIZED TABLE")

    def _refuse(self, what: str) -> NoReturn:
        raise CatalogException(f"catalog {self.name} ({type(self).__name__}) has no {what}")
