"""The spark catalog: every table that the Spark session knows, whatever its format."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.entries import DatabaseEntry, TableEntry
from headrace.sql.catalog.spark_types import sql_type
from headrace.sql.catalog.store import CatalogStore
from headrace.sql.statements import ColumnDefinition
from headrace.util.exceptions import DatabaseNotExistException

__all__ = ["SparkTables", "spark_catalog"]

_OPTIONS = ("catalog", "default-database")


class SparkTables(CatalogStore):
    """The databases and tables of one of Spark's catalogs, as they are when they are asked for."""

    def __init__(self, name: str, default_database: str, catalog: str) -> None:
        super().__init__(name, default_database)
        self._catalog = catalog

    def _spark(self) -> Any:
        """The session that jobs run in; it starts when the catalog is first used."""
        return StreamExecutionEnvironment.get_execution_environment().get_spark_session()

    def list_databases(self) -> list[str]:
        rows = self._spark().sql(f"SHOW DATABASES IN {_quoted(self._catalog)}").collect()
        return sorted(row[0] for row in rows)

    def find_database(self, name: str) -> DatabaseEntry | None:
        return DatabaseEntry() if name in self.list_databases() else None

    def list_tables(self, database: str) -> list[str]:
        if database not in self.list_databases():
            raise DatabaseNotExistException(
                f"Database {database} does not exist in Catalog {self.name}."
            )
        place = f"{_quoted(self._catalog)}.{_quoted(database)}"
        rows = self._spark().sql(f"SHOW TABLES IN {place}").collect()
        # Spark also lists its temporary views, which belong to no database.
        return sorted(row["tableName"] for row in rows if not row["isTemporary"])

    def find_table(self, database: str, name: str) -> TableEntry | None:
        spark = self._spark()
        path = ".".join(map(_quoted, (self._catalog, database, name)))
        if not spark.catalog.tableExists(path):
            return None
        fields = spark.table(path).schema.jsonValue()["fields"]
        columns = [
            ColumnDefinition(f["name"], sql_type(f["type"], f["nullable"], f"{name}.{f['name']}"))
            for f in fields
        ]
        return TableEntry(tuple(columns), options={"connector": "spark", "table-name": path})


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def spark_catalog(name: str, options: dict[str, str]) -> CatalogStore:
    """`spark`, with the options `catalog` and `default-database`."""
    unknown = sorted(options.keys() - {*_OPTIONS, "property-version"})
    if unknown:
        raise SqlError(
            f"Unsupported options found for 'spark': {', '.join(unknown)}"
            f"{suggestion(unknown[0], _OPTIONS)} Supported options: {', '.join(_OPTIONS)}"
        )
    default = options.get("default-database", "default")
    return SparkTables(name, default, options.get("catalog", "spark_catalog"))
