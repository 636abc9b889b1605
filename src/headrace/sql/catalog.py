"""Where names are kept: catalogs with databases with tables, views and functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion
from headrace.sql.statements import ColumnDefinition, WatermarkDefinition

__all__ = [
    "Catalog",
    "CatalogManager",
    "DatabaseEntry",
    "InMemoryCatalog",
    "TableEntry",
    "TablePath",
]

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"

TablePath = tuple[str, str, str]
"""Catalog, database, object."""


@dataclass(frozen=True)
class TableEntry:
    """A table or a view.

    Attributes:
        columns: In order.
        watermark: Of at most one column.
        primary_key: Names of its columns.
        partition_keys: Names of columns.
        options: Of WITH.
        comment: What the user wrote.
        view_text: The query of a view.
        plan: The plan of a view that the Table API made.
    """

    columns: tuple[ColumnDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    primary_key: tuple[str, ...] = ()
    primary_key_name: str | None = None
    partition_keys: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None
    view_text: str | None = None
    plan: Any = None

    @property
    def is_view(self) -> bool:
        return self.view_text is not None or self.plan is not None


@dataclass
class DatabaseEntry:
    """A database of an in-memory catalog."""

    tables: dict[str, TableEntry] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


class Catalog(Protocol):
    """What the manager asks of a catalog."""

    default_database: str

    def list_databases(self) -> list[str]: ...

    def database_exists(self, name: str) -> bool: ...

    def create_database(self, name: str, entry: DatabaseEntry) -> None: ...

    def drop_database(self, name: str) -> None: ...

    def get_database(self, name: str) -> DatabaseEntry: ...

    def list_tables(self, database: str) -> list[str]: ...

    def get_table(self, database: str, name: str) -> TableEntry | None: ...

    def put_table(self, database: str, name: str, entry: TableEntry) -> None: ...

    def drop_table(self, database: str, name: str) -> None: ...


class InMemoryCatalog:
    """A catalog that ends with the session (`generic_in_memory`)."""

    def __init__(self, default_database: str = DEFAULT_DATABASE) -> None:
        self.default_database = default_database
        self.databases: dict[str, DatabaseEntry] = {default_database: DatabaseEntry()}

    def list_databases(self) -> list[str]:
        return sorted(self.databases)

    def database_exists(self, name: str) -> bool:
        return name in self.databases

    def create_database(self, name: str, entry: DatabaseEntry) -> None:
        self.databases[name] = entry

    def drop_database(self, name: str) -> None:
        del self.databases[name]

    def get_database(self, name: str) -> DatabaseEntry:
        return self.databases[name]

    def list_tables(self, database: str) -> list[str]:
        return sorted(self.databases[database].tables)

    def get_table(self, database: str, name: str) -> TableEntry | None:
        found = self.databases.get(database)
        return None if found is None else found.tables.get(name)

    def put_table(self, database: str, name: str, entry: TableEntry) -> None:
        self.databases[database].tables[name] = entry

    def drop_table(self, database: str, name: str) -> None:
        del self.databases[database].tables[name]


class CatalogManager:
    """All catalogs of a session, the current ones, and what is temporary."""

    def __init__(self, catalog: str = DEFAULT_CATALOG, database: str = DEFAULT_DATABASE) -> None:
        self.catalogs: dict[str, Catalog] = {catalog: InMemoryCatalog(database)}
        self.current_catalog = catalog
        self.current_database = database
        self.temporary_tables: dict[TablePath, TableEntry] = {}
        self.temporary_functions: dict[TablePath, Any] = {}
        self.system_functions: dict[str, Any] = {}

    # Names.

    def full_path(self, path: Iterable[str]) -> TablePath:
        """A name with catalog and database filled in."""
        parts = tuple(path)
        if len(parts) == 1:
            return (self.current_catalog, self.current_database, parts[0])
        if len(parts) == 2:
            return (self.current_catalog, parts[0], parts[1])
        if len(parts) == 3:
            return (parts[0], parts[1], parts[2])
        raise SqlError(f"a name has one to three parts, not {len(parts)}: {'.'.join(parts)}")

    def catalog(self, name: str) -> Catalog:
        found = self.catalogs.get(name)
        if found is None:
            hint = suggestion(name, self.catalogs)
            raise SqlError(f"A catalog with name [{name}] does not exist.{hint}")
        return found

    def use_catalog(self, name: str) -> None:
        self.current_database = self.catalog(name).default_database
        self.current_catalog = name

    def use_database(self, path: tuple[str, ...]) -> None:
        catalog, name = self.database_path(path)
        if not self.catalog(catalog).database_exists(name):
            raise SqlError(
                f"A database with name [{name}] does not exist in the catalog: [{catalog}]."
                + suggestion(name, self.catalog(catalog).list_databases())
            )
        self.current_catalog, self.current_database = catalog, name

    def database_path(self, path: tuple[str, ...]) -> tuple[str, str]:
        """Catalog and database of a database's name."""
        return (self.current_catalog, path[0]) if len(path) == 1 else (path[0], path[1])

    # Tables.

    def find_table(self, path: Iterable[str]) -> TableEntry | None:
        full = self.full_path(path)
        temporary = self.temporary_tables.get(full)
        if temporary is not None:
            return temporary
        catalog = self.catalogs.get(full[0])
        return None if catalog is None else catalog.get_table(full[1], full[2])

    def is_temporary(self, path: Iterable[str]) -> bool:
        return self.full_path(path) in self.temporary_tables

    def create_table(
        self,
        path: Iterable[str],
        entry: TableEntry,
        temporary: bool = False,
        if_not_exists: bool = False,
    ) -> bool:
        """False if it was there already, which `if_not_exists` allows."""
        full = self.full_path(path)
        name = ".".join(f"`{p}`" for p in full)
        if temporary:
            if full in self.temporary_tables:
                if if_not_exists:
                    return False
                raise SqlError(f"Temporary table '{name}' already exists")
            self.temporary_tables[full] = entry
            return True
        catalog = self.catalog(full[0])
        if not catalog.database_exists(full[1]):
            raise SqlError(f"Database {full[1]} does not exist in catalog {full[0]}")
        if catalog.get_table(full[1], full[2]) is not None:
            if if_not_exists:
                return False
            raise SqlError(f"Could not execute CreateTable in path {name}: it exists already")
        catalog.put_table(full[1], full[2], entry)
        return True

    def replace_table(self, path: Iterable[str], entry: TableEntry) -> None:
        full = self.full_path(path)
        if full in self.temporary_tables:
            self.temporary_tables[full] = entry
        else:
            self.catalog(full[0]).put_table(full[1], full[2], entry)

    def drop_table(
        self,
        path: Iterable[str],
        temporary: bool = False,
        if_exists: bool = False,
        view: bool = False,
    ) -> bool:
        """False if there was none, which `if_exists` allows."""
        full = self.full_path(path)
        kind = "View" if view else "Table"
        name = ".".join(f"`{p}`" for p in full)
        if temporary:
            entry = self.temporary_tables.get(full)
        else:
            if full in self.temporary_tables:
                raise SqlError(
                    f"Temporary {kind.lower()} with identifier '{name}' exists. Drop it first "
                    f"before removing the permanent {kind.lower()}."
                )
            catalog = self.catalogs.get(full[0])
            entry = None if catalog is None else catalog.get_table(full[1], full[2])
        if entry is None or entry.is_view != view:
            if if_exists:
                return False
            raise SqlError(f"{kind} with identifier '{'.'.join(full)}' does not exist.")
        if temporary:
            del self.temporary_tables[full]
        else:
            self.catalog(full[0]).drop_table(full[1], full[2])
        return True

    def list_tables(self, path: tuple[str, ...] = ()) -> list[str]:
        """Tables and views of a database, temporary ones included."""
        catalog, database = self.current_catalog, self.current_database
        if path:
            catalog, database = self.database_path(path)
        if not self.catalog(catalog).database_exists(database):
            raise SqlError(f"Database '{database}' doesn't exist in catalog '{catalog}'.")
        names = set(self.catalog(catalog).list_tables(database))
        names |= {t for c, d, t in self.temporary_tables if (c, d) == (catalog, database)}
        return sorted(names)

    def list_views(self, path: tuple[str, ...] = ()) -> list[str]:
        prefix = self.database_path(path) if path else ()
        found = []
        for name in self.list_tables(path):
            entry = self.find_table((*prefix, name))
            if entry is not None and entry.is_view:
                found.append(name)
        return found

    # Functions.

    def find_function(self, path: tuple[str, ...]) -> Any:
        """A user's function; names of functions are not case sensitive."""
        if len(path) == 1:
            found = self.system_functions.get(path[0].lower())
            if found is not None:
                return found
        full = self.full_path(path)
        key = (full[0], full[1], full[2].lower())
        found = self.temporary_functions.get(key)
        if found is not None:
            return found
        catalog = self.catalogs.get(full[0])
        if catalog is None or not catalog.database_exists(full[1]):
            return None
        return catalog.get_database(full[1]).functions.get(full[2].lower())

    def user_functions(self) -> list[str]:
        names = set(self.system_functions)
        here = (self.current_catalog, self.current_database)
        names |= {f for c, d, f in self.temporary_functions if (c, d) == here}
        catalog = self.catalog(self.current_catalog)
        if catalog.database_exists(self.current_database):
            names |= set(catalog.get_database(self.current_database).functions)
        return sorted(names)
