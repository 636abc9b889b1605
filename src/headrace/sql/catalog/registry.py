"""Catalogs by name, and how one is made of the options of CREATE CATALOG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headrace.common.errors import SqlError
from headrace.sql.binder.context import suggestion
from headrace.sql.catalog.memory import InMemoryCatalog
from headrace.sql.catalog.store import CatalogStore
from headrace.sql.discovery import find_by_option
from headrace.util.exceptions import CatalogException

__all__ = ["CATALOG_TYPES", "CatalogDefinition", "CatalogRegistry"]

CatalogFactory = Callable[[str, dict[str, str]], CatalogStore]
"""Makes a catalog of its name and its options, `type` left out."""

CATALOG_TYPES: dict[str, str] = {
    "generic_in_memory": "headrace.sql.catalog.registry:in_memory",
}
"""Kinds of catalogs: what `'type'` says, and where the factory is."""


@dataclass(frozen=True)
class CatalogDefinition:
    """What CREATE CATALOG said; a catalog object that a program registered has no options."""

    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


class CatalogRegistry:
    """The catalogs of a session."""

    def __init__(self) -> None:
        self._stores: dict[str, CatalogStore] = {}
        self._definitions: dict[str, CatalogDefinition] = {}

    def names(self) -> list[str]:
        return sorted(self._stores)

    def find(self, name: str) -> CatalogStore | None:
        return self._stores.get(name)

    def store(self, name: str) -> CatalogStore:
        """The catalog of a name, which has to exist."""
        found = self._stores.get(name)
        if found is None:
            hint = suggestion(name, self._stores)
            raise CatalogException(f"A catalog with name [{name}] does not exist{hint or '.'}")
        return found

    def definition(self, name: str) -> CatalogDefinition | None:
        """What the catalog was made of."""
        return self._definitions.get(name)

    def register(self, name: str, store: CatalogStore) -> None:
        """Add a catalog that is there already."""
        self._check_new(name)
        self._stores[name] = store
        self._definitions[name] = CatalogDefinition()

    def create(
        self, name: str, options: dict[str, str], comment: str | None, if_not_exists: bool
    ) -> None:
        """Add a catalog of its options."""
        if if_not_exists and name in self._stores:
            return
        self._check_new(name)
        self._stores[name] = new_store(name, options)
        self._definitions[name] = CatalogDefinition(dict(options), comment)

    def _check_new(self, name: str) -> None:
        if name in self._stores:
            raise CatalogException(f"Catalog {name} already exists.")

    def drop(self, name: str, if_exists: bool) -> None:
        if name not in self._stores:
            if if_exists:
                return
            hint = suggestion(name, self._stores)
            raise CatalogException(f"Catalog {name} does not exist{hint or '.'}")
        del self._stores[name]
        del self._definitions[name]

    def alter(self, name: str, changed: CatalogDefinition) -> None:
        """Change options or comment; options that make no catalog are refused and change nothing.

        The catalog's content stays: what an in-memory catalog holds is nowhere else.
        """
        store = self.store(name)
        before = self._definitions[name]
        if changed.options != before.options:
            fresh = new_store(name, changed.options)
            store.default_database = fresh.default_database
        self._definitions[name] = replace(changed)


def new_store(name: str, options: dict[str, str]) -> CatalogStore:
    """A catalog of the options of CREATE CATALOG."""
    given = ", ".join(f"'{k}'='{v}'" for k, v in sorted(options.items()))
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
