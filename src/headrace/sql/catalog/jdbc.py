"""The jdbc catalog: the tables of a PostgreSQL, MySQL or MariaDB server, without declaring them."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.connectors.jdbc import JdbcConnectionOptions
from headrace.datastream.connectors.jdbc.database import database_of
from headrace.datastream.connectors.jdbc.url import JdbcUrl
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.entries import DatabaseEntry, TableEntry
from headrace.sql.catalog.jdbc_types import DatabaseColumn, mysql_type, postgres_type
from headrace.sql.catalog.store import CatalogStore
from headrace.sql.statements import ColumnDefinition
from headrace.util.exceptions import CatalogException, DatabaseNotExistException

__all__ = ["JdbcTables", "jdbc_catalog"]

_OPTIONS = ("base-url", "default-database", "username", "password")
_CONNECT_S = 10.0

_COLUMNS = """
    SELECT column_name, {}, is_nullable, character_maximum_length, numeric_precision,
           numeric_scale, datetime_precision
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s
    ORDER BY ordinal_position
"""


@dataclass(frozen=True)
class _Server:
    """A server, and who reads it."""

    base_url: str
    username: str
    password: str

    def options(self, database: str) -> JdbcConnectionOptions:
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        builder.with_url(f"{self.base_url}/{database}").with_user_name(self.username)
        return builder.with_password(self.password).with_wait_for_server(_CONNECT_S).build()


class JdbcTables(CatalogStore, ABC):
    """Databases and tables of a server, as they are whenever they are asked for."""

    def __init__(self, name: str, default_database: str, server: _Server) -> None:
        super().__init__(name, default_database)
        self._server = server

    # What the server is asked.

    @contextlib.contextmanager
    def _asking(self, database: str) -> Iterator[Any]:
        options = self._server.options(database)
        connection = database_of(options).connect(lambda text: None, autocommit=True)
        try:
            with connection.cursor() as cursor:
                yield cursor
        finally:
            connection.close()

    def _rows(self, database: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._asking(database) as cursor:
            cursor.execute(sql, list(values))
            return [tuple(row) for row in cursor.fetchall()]

    def check(self) -> None:
        """See whether the server can be reached."""
        try:
            self.list_databases()
        except HeadraceError as error:
            raise CatalogException(f"catalog {self.name}: {error}") from error

    # Databases.

    @abstractmethod
    def _databases(self) -> list[str]:
        """All of them but the server's own."""

    def list_databases(self) -> list[str]:
        return sorted(self._databases())

    def find_database(self, name: str) -> DatabaseEntry | None:
        return DatabaseEntry() if name in self._databases() else None

    # Tables.

    @abstractmethod
    def _tables(self, database: str) -> list[str]:
        """Tables and views."""

    @abstractmethod
    def _columns(self, database: str, table: str) -> list[DatabaseColumn]:
        """Columns in order; none if there is no such table."""

    @abstractmethod
    def _primary_key(self, database: str, table: str) -> list[tuple[str, str]]:
        """Columns of the primary key in order, each with the name of the key."""

    def list_tables(self, database: str) -> list[str]:
        if database not in self._databases():
            raise DatabaseNotExistException(
                f"Database {database} does not exist in Catalog {self.name}."
            )
        return sorted(self._tables(database))

    def find_table(self, database: str, name: str) -> TableEntry | None:
        if database not in self._databases():
            return None
        columns = self._columns(database, name)
        if not columns:
            return None
        key = self._primary_key(database, name)
        return TableEntry(
            columns=tuple(ColumnDefinition(c.name, self._type(c, name)) for c in columns),
            primary_key=tuple(column for column, _ in key),
            primary_key_name=key[0][1] if key else None,
            options={
                "connector": "jdbc",
                "url": f"{self._server.base_url}/{database}",
                "table-name": self._path(name),
                "username": self._server.username,
                "password": self._server.password,
            },
        )

    @abstractmethod
    def _type(self, column: DatabaseColumn, table: str) -> Any:
        """The type of a column."""

    def _path(self, name: str) -> str:
        return name


class _PostgreSql(JdbcTables):
    """A table is called by its schema and its name, `public.orders`; `public` may be left out."""

    def _databases(self) -> list[str]:
        sql = "SELECT datname FROM pg_database WHERE NOT datistemplate"
        return [name for (name,) in self._rows(self.default_database, sql)]

    def _tables(self, database: str) -> list[str]:
        sql = (
            "SELECT table_schema || '.' || table_name FROM information_schema.tables "
            "WHERE table_schema <> 'information_schema' AND left(table_schema, 3) <> 'pg_'"
        )
        return [name for (name,) in self._rows(database, sql)]

    def _columns(self, database: str, table: str) -> list[DatabaseColumn]:
        schema, name = self._parts(table)
        rows = self._rows(database, _COLUMNS.format("udt_name"), schema, name)
        return [DatabaseColumn(*row) for row in rows]

    def _primary_key(self, database: str, table: str) -> list[tuple[str, str]]:
        # Unlike the information schema, these can be seen by all who may read the table.
        sql = """
            SELECT a.attname, k.relname
            FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
            JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_class k ON k.oid = i.indexrelid
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY (i.indkey)
            WHERE i.indisprimary AND n.nspname = %s AND t.relname = %s
            ORDER BY array_position(i.indkey::int2[], a.attnum)
        """
        return [(c, k) for c, k in self._rows(database, sql, *self._parts(table))]

    def _type(self, column: DatabaseColumn, table: str) -> Any:
        return postgres_type(column, table)

    @staticmethod
    def _parts(table: str) -> Sequence[str]:
        schema, dot, name = table.partition(".")
        return (schema, name) if dot else ("public", table)

    def _path(self, name: str) -> str:
        return ".".join(self._parts(name))


class _MySql(JdbcTables):
    _OWN = ("information_schema", "mysql", "performance_schema", "sys")

    def _databases(self) -> list[str]:
        rows = self._rows(self.default_database, "SHOW DATABASES")
        return [name for (name,) in rows if name not in self._OWN]

    def _tables(self, database: str) -> list[str]:
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        return [name for (name,) in self._rows(database, sql, database)]

    def _columns(self, database: str, table: str) -> list[DatabaseColumn]:
        rows = self._rows(database, _COLUMNS.format("column_type"), database, table)
        return [DatabaseColumn(*row) for row in rows]

    def _primary_key(self, database: str, table: str) -> list[tuple[str, str]]:
        sql = (
            "SELECT column_name, index_name FROM information_schema.statistics WHERE "
            "table_schema = %s AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index"
        )
        return [(c, k) for c, k in self._rows(database, sql, database, table)]

    def _type(self, column: DatabaseColumn, table: str) -> Any:
        return mysql_type(column, table)


def jdbc_catalog(name: str, options: dict[str, str]) -> CatalogStore:
    """`jdbc`, with the options `base-url`, `default-database`, `username` and `password`."""
    unknown = sorted(options.keys() - {*_OPTIONS, "property-version"})
    if unknown:
        raise SqlError(
            f"Unsupported options found for 'jdbc': {', '.join(unknown)}"
            f"{suggestion(unknown[0], _OPTIONS)} Supported options: {', '.join(_OPTIONS)}"
        )
    missing = [key for key in _OPTIONS if not options.get(key)]
    if missing:
        raise SqlError(f"catalog {name} of type 'jdbc' needs the options {', '.join(missing)}")
    base, database = options["base-url"].rstrip("/"), options["default-database"]
    if base.count("/") > 2:
        raise SqlError(
            f"the 'base-url' of catalog {name} names a server and not a database, which "
            "'default-database' does: jdbc:postgresql://host:port"
        )
    product = JdbcUrl.parse(f"{base}/{database}").product
    kind = _PostgreSql if product == "postgresql" else _MySql
    store = kind(name, database, _Server(base, options["username"], options["password"]))
    store.check()
    return store
