"""`Catalog`: everything that can be done with a catalog."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.sql.catalog import CatalogStore, ModelEntry, PartitionSpec
from headrace.sql.catalog.partitions import TablePartitions
from headrace.sql.catalog.procedures import Procedure
from headrace.table.catalog.entries import entry_of
from headrace.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
)
from headrace.table.catalog.paths import CatalogPartitionSpec, ObjectPath
from headrace.table.catalog.statistics import (
    CatalogColumnStatistics,
    CatalogTableStatistics,
    statistics_of_columns,
    statistics_of_table,
)
from headrace.util.exceptions import (
    CatalogException,
    FunctionAlreadyExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
)

__all__ = ["Catalog"]


class Catalog:
    """Reads and changes a catalog; SQL statements see the changes at once.

    `TableEnvironment.get_catalog` gives one. Errors are those of `headrace.util.exceptions`.
    """

    def __init__(self, store: CatalogStore) -> None:
        self._store = store

    # Databases.

    def get_default_database(self) -> str:
        """The database that `USE CATALOG` chooses."""
        return self._store.default_database

    def list_databases(self) -> list[str]:
        """Names of all databases."""
        return self._store.list_databases()

    def get_database(self, database_name: str) -> CatalogDatabase:
        """The database of a name."""
        return CatalogDatabase(self._store.database(database_name))

    def database_exists(self, database_name: str) -> bool:
        """Whether there is one."""
        return self._store.database_exists(database_name)

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Add a database."""
        self._store.create_database(name, entry_of(database), ignore_if_exists)

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Forget an empty database; the flag lets a missing one pass."""
        self._store.drop_database(name, ignore_if_exists, cascade=False)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        """Replace the properties and the comment."""
        self._store.alter_database(name, entry_of(new_database), ignore_if_not_exists)

    # Tables and views.

    def list_tables(self, database_name: str) -> list[str]:
        """Names of tables and views."""
        return self._store.list_tables(database_name)

    def list_views(self, database_name: str) -> list[str]:
        """Names of views."""
        return self._of_kind("VIEW", database_name)

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Names of materialized tables."""
        return self._of_kind("MATERIALIZED TABLE", database_name)

    def _of_kind(self, kind: str, database_name: str) -> list[str]:
        names = self._store.list_tables(database_name)
        return [n for n in names if self._store.table(database_name, n).kind == kind]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """The table or view of a name."""
        return CatalogBaseTable(self._store.table(*_parts(table_path)))

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is one."""
        return self._store.find_table(*_parts(table_path)) is not None

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a table or view."""
        self._store.drop_table(*_parts(table_path), ignore_if_not_exists)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Give a table or view another name in its database."""
        self._store.rename_table(*_parts(table_path), new_table_name, ignore_if_not_exists)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        """Add a table or view."""
        self._store.create_table(*_parts(table_path), entry_of(table), ignore_if_exists)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Replace a table by a table, a view by a view."""
        self._store.alter_table(*_parts(table_path), entry_of(new_table), ignore_if_not_exists)

    # Partitions.

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Partitions of a table, or those that have some values."""
        wanted = partition_spec.get_partition_spec() if partition_spec else {}
        return [CatalogPartitionSpec(s) for s in self._partitions(table_path).matching(wanted)]

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        """The partition of some values."""
        values = partition_spec.get_partition_spec()
        return CatalogPartition(self._partitions(table_path).existing(values))

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Whether there is one."""
        values = partition_spec.get_partition_spec()
        return self._partitions(table_path).find(values) is not None

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Add a partition."""
        values = partition_spec.get_partition_spec()
        self._partitions(table_path).create(values, entry_of(partition), ignore_if_exists)

    def drop_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:
        """Forget a partition."""
        values = partition_spec.get_partition_spec()
        self._partitions(table_path).drop(values, ignore_if_not_exists)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the properties of a partition."""
        values = partition_spec.get_partition_spec()
        self._partitions(table_path).alter(values, entry_of(new_partition), ignore_if_not_exists)

    def _partitions(self, table_path: ObjectPath) -> TablePartitions:
        return TablePartitions(self._store, *_parts(table_path))

    # Functions, models, procedures.

    def list_functions(self, database_name: str) -> list[str]:
        """Names of users' functions, in lower case."""
        self._store.database(database_name)
        return self._store.list_functions(database_name)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """The function of a name, in capitals or not."""
        return CatalogFunction(self._store.function(*_function(function_path)))

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is one."""
        return self._store.find_function(*_function(function_path)) is not None

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Add a function."""
        database, name = _function(function_path)
        self._store.database(database)
        if self._store.find_function(database, name) is None:
            self._store.put_function(database, name, entry_of(function))
        elif not ignore_if_exists:
            raise FunctionAlreadyExistException(
                f"Function {database}.{name} already exists in Catalog {self._store.name}."
            )

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function."""
        path = _function(function_path)
        if self._store.find_function(*path) is None:
            if ignore_if_not_exists:
                return
            self._store.function(*path)
        self._store.put_function(*path, entry_of(new_function))

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a function."""
        path = _function(function_path)
        if self._store.find_function(*path) is None:
            if ignore_if_not_exists:
                return
            self._store.function(*path)
        self._store.drop_function(*path)

    def list_models(self, database_name: str) -> list[str]:
        """Names of models."""
        self._store.database(database_name)
        return self._store.list_models(database_name)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """The model of a name."""
        return CatalogModel(self._model(model_path))

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is one."""
        return self._store.find_model(*_parts(model_path)) is not None

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool
    ) -> None:
        """Add a model."""
        if not self.model_exists(model_path):
            self._store.put_model(*_parts(model_path), entry_of(model))
        elif not ignore_if_exists:
            raise ModelAlreadyExistException(
                f"Model {model_path} already exists in Catalog {self._store.name}."
            )

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        """Replace a model."""
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self._model(model_path)
        self._store.put_model(*_parts(model_path), entry_of(new_model))

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool
    ) -> None:
        """Give a model another name in its database."""
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        held = self._model(model_path)
        target = ObjectPath(model_path.get_database_name(), new_model_name)
        self.create_model(target, CatalogModel(held), False)
        self._store.drop_model(*_parts(model_path))

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Forget a model."""
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self._model(model_path)
        self._store.drop_model(*_parts(model_path))

    def _model(self, model_path: ObjectPath) -> ModelEntry:
        found = self._store.find_model(*_parts(model_path))
        if found is None:
            raise ModelNotExistException(
                f"Model {model_path} does not exist in Catalog {self._store.name}."
            )
        return found

    def list_procedures(self, database_name: str) -> list[str]:
        """Names of what CALL may call."""
        return self._store.list_procedures(database_name)

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        """The procedure of a name."""
        found = self._store.find_procedure(*_parts(procedure_path))
        if found is None:
            raise CatalogException(
                f"Procedure {procedure_path} does not exist in Catalog {self._store.name}."
            )
        return found

    # Statistics.

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Sizes of a table without partitions."""
        return statistics_of_table(self._store.table_statistics(*_parts(table_path)))

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Statistics of the columns of a table without partitions."""
        return statistics_of_columns(self._store.column_statistics(*_parts(table_path)))

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Sizes of a partition."""
        spec = self._existing(table_path, partition_spec)
        return statistics_of_table(self._store.table_statistics(*_parts(table_path), spec))

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: Iterable[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Sizes of partitions."""
        return [self.get_partition_statistics(table_path, s) for s in partition_specs]

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Statistics of the columns of a partition."""
        spec = self._existing(table_path, partition_spec)
        return statistics_of_columns(self._store.column_statistics(*_parts(table_path), spec))

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: Iterable[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """Statistics of the columns of partitions."""
        return [self.get_partition_column_statistics(table_path, s) for s in partition_specs]

    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the sizes of a table."""
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._store.put_table_statistics(*_parts(table_path), entry_of(table_statistics))

    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the statistics of a table's columns."""
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._store.put_column_statistics(*_parts(table_path), entry_of(column_statistics))

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the sizes of a partition."""
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        spec = self._existing(table_path, partition_spec)
        self._store.put_table_statistics(*_parts(table_path), entry_of(partition_statistics), spec)

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the statistics of a partition's columns."""
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        spec = self._existing(table_path, partition_spec)
        self._store.put_column_statistics(*_parts(table_path), entry_of(column_statistics), spec)

    def _existing(self, table_path: ObjectPath, given: CatalogPartitionSpec) -> PartitionSpec:
        self.get_partition(table_path, given)
        return self._partitions(table_path).spec(given.get_partition_spec())


def _parts(path: ObjectPath) -> tuple[str, str]:
    return path.get_database_name(), path.get_object_name()


def _function(path: ObjectPath) -> tuple[str, str]:
    return path.get_database_name(), path.get_object_name().lower()
