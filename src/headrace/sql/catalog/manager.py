"""All catalogs of a session, the current ones, and what is temporary."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.definitions import CatalogDefinitions, InMemory
from headrace.sql.catalog.entries import FunctionEntry, ModelEntry, TableEntry, TablePath
from headrace.sql.catalog.memory import InMemoryCatalog
from headrace.sql.catalog.registry import CatalogRegistry
from headrace.sql.catalog.store import CatalogStore
from headrace.sql.catalog.user_functions import loaded_function
from headrace.util.exceptions import (
    CatalogException,
    TableAlreadyExistException,
    TableException,
)

__all__ = [
    "DEFAULT_CATALOG",
    "DEFAULT_DATABASE",
    "CatalogManager",
    "anonymous_name",
    "is_anonymous",
    "path_of",
    "quoted",
]

DEFAULT_CATALOG = "default_catalog"
DEFAULT_DATABASE = "default_database"
_ANONYMOUS = "*anonymous_table$"


def anonymous_name(number: int) -> str:
    """The name of a table that has none: a descriptor that was not registered."""
    return f"{_ANONYMOUS}{number}*"


def is_anonymous(name: str) -> bool:
    """Whether a name stands for a table that has none; such tables are not listed."""
    return name.startswith(_ANONYMOUS)


def quoted(path: Iterable[str]) -> str:
    """A name with its parts in back ticks."""
    return ".".join("`" + p.replace("`", "``") + "`" for p in path)


def path_of(path: str) -> tuple[str, ...]:
    """The parts of a name; those in back ticks may have dots."""
    parts = re.findall(r"`([^`]+)`|([^.`]+)", str(path))
    return tuple(quoted or plain for quoted, plain in parts)


def text_literal(text: str) -> str:
    """A text in single quotes."""
    return "'" + text.replace("'", "''") + "'"


class CatalogManager:
    """Finds names: temporary things first, then those of catalogs."""

    def __init__(
        self,
        catalog: str = DEFAULT_CATALOG,
        database: str = DEFAULT_DATABASE,
        definitions: CatalogDefinitions | None = None,
        configuration: Configuration | None = None,
    ) -> None:
        first = InMemoryCatalog(catalog, database)
        self.registry = CatalogRegistry(definitions or InMemory(), first, configuration)
        self.current_catalog = catalog
        self.current_database = database
        self.temporary_tables: dict[TablePath, TableEntry] = {}
        self.temporary_functions: dict[TablePath, FunctionEntry] = {}
        self.temporary_models: dict[TablePath, ModelEntry] = {}
        self.system_functions: dict[str, FunctionEntry] = {}

    def permanent(self, namespace: tuple[str, str]) -> CatalogManager:
        """The same catalogs seen from another namespace, without what is temporary."""
        made = copy.copy(self)
        made.current_catalog, made.current_database = namespace
        made.temporary_tables, made.temporary_functions = {}, {}
        made.temporary_models, made.system_functions = {}, {}
        return made

    # Names.

    @property
    def namespace(self) -> tuple[str, str]:
        """The current catalog and database."""
        return (self.current_catalog, self.current_database)

    def full_path(self, path: Iterable[str], namespace: tuple[str, str] | None = None) -> TablePath:
        """A name with catalog and database filled in, the current ones unless others are given."""
        parts = tuple(path)
        catalog, database = namespace or self.namespace
        if len(parts) == 1:
            return (catalog, database, parts[0])
        if len(parts) == 2:
            return (catalog, parts[0], parts[1])
        if len(parts) == 3:
            return (parts[0], parts[1], parts[2])
        raise SqlError(f"a name has one to three parts, not {len(parts)}: {'.'.join(parts)}")

    def function_path(
        self, path: Iterable[str], namespace: tuple[str, str] | None = None
    ) -> TablePath:
        """The same for a function: its name is not case sensitive."""
        catalog, database, name = self.full_path(path, namespace)
        return (catalog, database, name.lower())

    def database_path(self, path: tuple[str, ...]) -> tuple[str, str]:
        """Catalog and database of a database's name."""
        if len(path) > 2:
            raise SqlError(f"a database's name has one or two parts: {'.'.join(path)}")
        return (self.current_catalog, path[0]) if len(path) == 1 else (path[0], path[1])

    def catalog(self, name: str) -> CatalogStore:
        """The catalog of a name, which has to exist."""
        return self.registry.store(name)

    def find_catalog(self, name: str) -> CatalogStore | None:
        """The catalog of a name."""
        return self.registry.find(name)

    def use_catalog(self, name: str) -> None:
        """Make a catalog the current one, with its default database."""
        self.current_database = self.catalog(name).default_database
        self.current_catalog = name

    def use_database(self, path: tuple[str, ...]) -> None:
        """Make a database the current one."""
        catalog, name = self.database_path(path)
        if not self.catalog(catalog).database_exists(name):
            raise CatalogException(
                f"A database with name [{name}] does not exist in the catalog: [{catalog}]."
                + suggestion(name, self.catalog(catalog).list_databases())
            )
        self.current_catalog, self.current_database = catalog, name

    def drop_catalog(self, name: str, if_exists: bool = False) -> None:
        """Forget a catalog, but not the current one."""
        if name == self.current_catalog:
            raise CatalogException("Cannot drop a catalog which is currently in use.")
        self.registry.drop(name, if_exists)

    def drop_database(
        self, path: tuple[str, ...], if_exists: bool = False, cascade: bool = False
    ) -> None:
        """Forget a database, but not the current one."""
        catalog, name = self.database_path(path)
        if (catalog, name) == (self.current_catalog, self.current_database):
            raise TableException("Cannot drop a database which is currently in use.")
        self.catalog(catalog).drop_database(name, if_exists, cascade)

    # Tables.

    def find_table(self, path: Iterable[str]) -> TableEntry | None:
        """The table or view of a name."""
        full = self.full_path(path)
        temporary = self.temporary_tables.get(full)
        if temporary is not None:
            return temporary
        catalog = self.find_catalog(full[0])
        return None if catalog is None else catalog.find_table(full[1], full[2])

    def known_rows(self, path: TablePath, entry: TableEntry) -> int | None:
        """How many rows the statistics of a table give it."""
        catalog, database, name = path
        store = self.find_catalog(catalog)
        if store is None or entry.partition_keys or self.is_temporary(path):
            return None
        count = store.table_statistics(database, name).row_count
        return count if count >= 0 else None

    def is_temporary(self, path: Iterable[str]) -> bool:
        """Whether a name is that of a temporary table or view."""
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
        if not temporary:
            try:
                return self.catalog(full[0]).create_table(full[1], full[2], entry, if_not_exists)
            except TableAlreadyExistException as error:
                raise TableAlreadyExistException(
                    f"Could not execute CreateTable in path {quoted(full)}: {error}"
                ) from None
        if full in self.temporary_tables:
            if if_not_exists:
                return False
            raise SqlError(f"Temporary table '{quoted(full)}' already exists")
        self.temporary_tables[full] = entry
        return True

    def replace_table(self, path: Iterable[str], entry: TableEntry) -> None:
        """Change a table or view."""
        full = self.full_path(path)
        if full in self.temporary_tables:
            self.temporary_tables[full] = entry
        else:
            self.catalog(full[0]).alter_table(full[1], full[2], entry, False)

    def drop_table(
        self,
        path: Iterable[str],
        temporary: bool = False,
        if_exists: bool = False,
        kind: str = "TABLE",
    ) -> bool:
        """False if there was none of the kind, which `if_exists` allows."""
        full = self.full_path(path)
        shown = kind.title()
        if temporary:
            entry = self.temporary_tables.get(full)
        else:
            if full in self.temporary_tables:
                raise SqlError(
                    f"Temporary {kind.lower()} with identifier '{quoted(full)}' exists. Drop it "
                    f"first before removing the permanent {kind.lower()}."
                )
            catalog = self.find_catalog(full[0])
            entry = None if catalog is None else catalog.find_table(full[1], full[2])
        if entry is None or entry.kind != kind:
            if if_exists:
                return False
            hint = suggestion(full[2], self.near(full))
            name = ".".join(full)
            raise SqlError(f"{shown} with identifier '{name}' does not exist{hint or '.'}")
        if temporary:
            del self.temporary_tables[full]
        else:
            self.catalog(full[0]).drop_table(full[1], full[2], False)
        return True

    def near(self, full: TablePath) -> list[str]:
        """Names beside one that was not found, for suggestions."""
        catalog = self.find_catalog(full[0])
        if catalog is None or not catalog.database_exists(full[1]):
            return []
        return self.list_tables(full[:2])

    def list_tables(self, path: tuple[str, ...] = ()) -> list[str]:
        """Tables and views of a database, temporary ones included."""
        catalog, database = self.current_catalog, self.current_database
        if path:
            catalog, database = self.database_path(path)
        if not self.catalog(catalog).database_exists(database):
            hint = suggestion(database, self.catalog(catalog).list_databases())
            raise SqlError(f"Database '{catalog}'.'{database}' doesn't exist{hint or '.'}")
        names = set(self.catalog(catalog).list_tables(database))
        names |= {t for c, d, t in self.temporary_tables if (c, d) == (catalog, database)}
        return sorted(name for name in names if not is_anonymous(name))

    def list_kind(self, kind: str, path: tuple[str, ...] = ()) -> list[str]:
        """Views, say, of a database, temporary ones included."""
        prefix = self.database_path(path) if path else ()
        found = []
        for name in self.list_tables(path):
            entry = self.find_table((*prefix, name))
            if entry is not None and entry.kind == kind:
                found.append(name)
        return found

    # Functions.

    def find_function(self, path: tuple[str, ...], namespace: tuple[str, str] | None = None) -> Any:
        """A user's function; names of functions are not case sensitive."""
        entry = self.find_function_entry(path, namespace)
        return None if entry is None else loaded_function(entry)

    def find_system_function(self, name: str) -> Any:
        """A user's function that may take the place of a built-in one."""
        entry = self.system_functions.get(name.lower())
        return None if entry is None else loaded_function(entry)

    def find_function_entry(
        self, path: tuple[str, ...], namespace: tuple[str, str] | None = None
    ) -> FunctionEntry | None:
        """What is known of a user's function, without loading it."""
        if len(path) == 1 and path[0].lower() in self.system_functions:
            return self.system_functions[path[0].lower()]
        full = self.function_path(path, namespace)
        found = self.temporary_functions.get(full)
        if found is not None:
            return found
        catalog = self.find_catalog(full[0])
        return None if catalog is None else catalog.find_function(full[1], full[2])

    def user_functions(self, path: tuple[str, ...] = ()) -> list[str]:
        """Names of users' functions that a database sees."""
        here = self.database_path(path) if path else self.namespace
        names = set(self.system_functions)
        names |= {f for c, d, f in self.temporary_functions if (c, d) == here}
        catalog = self.catalog(here[0])
        if catalog.database_exists(here[1]):
            names |= set(catalog.list_functions(here[1]))
        return sorted(names)

    # Models.

    def find_model(
        self, path: Iterable[str], namespace: tuple[str, str] | None = None
    ) -> ModelEntry | None:
        """The model of a name."""
        full = self.full_path(path, namespace)
        temporary = self.temporary_models.get(full)
        if temporary is not None:
            return temporary
        catalog = self.find_catalog(full[0])
        return None if catalog is None else catalog.find_model(full[1], full[2])

    def list_models(self, path: tuple[str, ...] = ()) -> list[str]:
        """Models of a database, temporary ones included."""
        here = self.database_path(path) if path else self.namespace
        temporary = {m for c, d, m in self.temporary_models if (c, d) == here}
        return sorted({*temporary, *self.catalog(here[0]).list_models(here[1])})
