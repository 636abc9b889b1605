"""Catalogs by name, and how one is made of the options of CREATE CATALOG."""

from __future__ import annotations

from collections.abc import Callable

from headrace.common.configuration import Configuration
from headrace.common.errors import SqlError
from headrace.common.settings.secrets import without_secrets
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.definitions import CatalogDefinition, CatalogDefinitions
from headrace.sql.catalog.memory import InMemoryCatalog
from headrace.sql.catalog.store import CatalogStore
from headrace.sql.discovery import find_by_option
from headrace.util.exceptions import CatalogException

__all__ = ["CATALOG_TYPES", "CatalogRegistry"]

CatalogFactory = Callable[[str, dict[str, str]], CatalogStore]
"""Makes a catalog of its name and its options, `type` left out."""

CATALOG_TYPES: dict[str, str] = {
    "file": "headrace.sql.catalog.files:file_catalog",
    "generic_in_memory": "headrace.sql.catalog.registry:in_memory",
    "hive": "headrace.sql.catalog.hive:hive_catalog",
    "jdbc": "headrace.sql.catalog.jdbc:jdbc_catalog",
    "spark": "headrace.sql.catalog.spark:spark_catalog",
}
"""Kinds of catalogs: what `'type'` says, and where the factory is."""


class CatalogRegistry:
    """The catalogs of a session: those that it has opened, and those that are only defined."""

    def __init__(
        self,
        definitions: CatalogDefinitions,
        first: CatalogStore,
        configuration: Configuration | None = None,
    ) -> None:
        self._stores = {first.name: first}
        self._definitions = definitions
        self._configuration = Configuration() if configuration is None else configuration

    def names(self) -> list[str]:
        return sorted({*self._stores, *self._definitions.names()})

    def find(self, name: str) -> CatalogStore | None:
        found = self._stores.get(name)
        if found is None:
            defined = self._definitions.find(name)
            if defined is not None:
                found = self._stores[name] = self._opened(new_store(name, defined.options))
        return found

    def store(self, name: str) -> CatalogStore:
        """The catalog of a name, which has to exist."""
        found = self.find(name)
        if found is None:
            hint = suggestion(name, self.names())
            raise CatalogException(f"A catalog with name [{name}] does not exist{hint or '.'}")
        return found

    def definition(self, name: str) -> CatalogDefinition:
        """What the catalog was made of."""
        return self._definitions.find(name) or CatalogDefinition()

    def register(self, name: str, store: CatalogStore) -> None:
        """Add a catalog that is there already."""
        self._check_new(name)
        self._stores[name] = self._opened(store)

    def _opened(self, store: CatalogStore) -> CatalogStore:
        store.open(self._configuration)
        return store

    def create(
        self, name: str, options: dict[str, str], comment: str | None, if_not_exists: bool
    ) -> None:
        """Add a catalog of its options."""
        if if_not_exists and self._is_known(name):
            return
        self._check_new(name)
        self._stores[name] = self._opened(new_store(name, options))
        self._definitions.put(name, CatalogDefinition(dict(options), comment))

    def _is_known(self, name: str) -> bool:
        return name in self._stores or self._definitions.find(name) is not None

    def _check_new(self, name: str) -> None:
        if self._is_known(name):
            raise CatalogException(f"Catalog {name} already exists.")

    def drop(self, name: str, if_exists: bool) -> None:
        if not self._is_known(name):
            if if_exists:
                return
            hint = suggestion(name, self.names())
            raise CatalogException(f"Catalog {name} does not exist{hint or '.'}")
        self._stores.pop(name, None)
        self._definitions.remove(name)

    def alter(self, name: str, changed: CatalogDefinition) -> None:
        """Change options or comment; options that make no catalog are refused and change nothing.

        The catalog's content stays: what an in-memory catalog holds is nowhere else.
        """
        store = self.store(name)
        if self._definitions.find(name) is None:
            raise CatalogException(f"Catalog {name} does not exist in the catalog store.")
        if changed.options != self.definition(name).options:
            self._stores[name] = store.replaced_by(self._opened(new_store(name, changed.options)))
        self._definitions.put(name, changed)


def new_store(name: str, options: dict[str, str]) -> CatalogStore:
    """A catalog of the options of CREATE CATALOG."""
    given = ", ".join(f"'{k}'='{v}'" for k, v in sorted(without_secrets(options).items()))
    where = f"Unable to create catalog '{name}' with the options ({given})."
    try:
        factory: CatalogFactory = find_by_option(CATALOG_TYPES, options, "type", "Catalog options")
    except SqlError as error:
        raise SqlError(f"{where} {error}") from None
    return factory(name, {k: v for k, v in options.items() if k != "type"})


def in_memory(name: str, options: dict[str, str]) -> CatalogStore:
    """`generic_in_memory`, with the option `default-database`."""
    unknown = sorted(options.keys() - {"default-database", "property-version"})
    if unknown:
        raise SqlError(
            f"Unsupported options found for 'generic_in_memory': {', '.join(unknown)}"
            f"{suggestion(unknown[0], ['default-database'])} Supported options: default-database"
        )
    return InMemoryCatalog(name, options.get("default-database", "default"))
