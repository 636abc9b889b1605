"""What CREATE CATALOG said, kept for a session or, in files, for all that come after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

import yaml

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.common.settings.table_options import CATALOG_STORE_KIND, CATALOG_STORE_PATH
from headrace.runtime.storage import Storages, join, shared
from headrace.util.exceptions import CatalogException

__all__ = ["CatalogDefinition", "CatalogDefinitions", "InFiles", "InMemory", "definitions_of"]

_SUFFIX = ".yaml"


@dataclass(frozen=True)
class CatalogDefinition:
    """What CREATE CATALOG said; a catalog object that a program registered has no options."""

    options: dict[str, str] = field(default_factory=dict)
    comment: str | None = None


class CatalogDefinitions(ABC):
    """Definitions by name."""

    @abstractmethod
    def names(self) -> list[str]:
        """All names."""

    @abstractmethod
    def find(self, name: str) -> CatalogDefinition | None:
        """The definition of a name."""

    @abstractmethod
    def put(self, name: str, definition: CatalogDefinition) -> None:
        """Add or replace a definition."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Forget a definition, if there is one."""


class InMemory(CatalogDefinitions):
    """They end with their session."""

    def __init__(self) -> None:
        self._definitions: dict[str, CatalogDefinition] = {}

    def names(self) -> list[str]:
        return list(self._definitions)

    def find(self, name: str) -> CatalogDefinition | None:
        return self._definitions.get(name)

    def put(self, name: str, definition: CatalogDefinition) -> None:
        self._definitions[name] = definition

    def remove(self, name: str) -> None:
        self._definitions.pop(name, None)


class InFiles(CatalogDefinitions):
    """A file of YAML with the options of each catalog, as in Flink, which keeps no comment."""

    def __init__(self, directory: str, configuration: Configuration) -> None:
        self._directory = shared(directory)
        self._storage = Storages.from_configuration(configuration).of(self._directory)

    def _path(self, name: str) -> str:
        return join(self._directory, quote(name, safe=" ") + _SUFFIX)

    def names(self) -> list[str]:
        found = self._storage.names(self._directory)
        return [unquote(f.removesuffix(_SUFFIX)) for f in found if f.endswith(_SUFFIX)]

    def find(self, name: str) -> CatalogDefinition | None:
        path = self._path(name)
        if not self._storage.exists(path):
            return None
        try:
            options = yaml.safe_load(self._storage.read(path))
        except yaml.YAMLError as error:
            raise CatalogException(f"{path} is not YAML: {error}") from error
        if not isinstance(options, dict):
            raise CatalogException(f"{path} must have the options of a catalog: 'type', ...")
        return CatalogDefinition({str(k): str(v) for k, v in options.items()})

    def put(self, name: str, definition: CatalogDefinition) -> None:
        text = yaml.safe_dump(definition.options, allow_unicode=True)
        # The options may have passwords.
        self._storage.write_private(self._path(name), text.encode())

    def remove(self, name: str) -> None:
        if self._storage.exists(self._path(name)):
            self._storage.delete(self._path(name))


def definitions_of(configuration: Configuration) -> CatalogDefinitions:
    """Where a session keeps its definitions."""
    if configuration.get(CATALOG_STORE_KIND) == "generic_in_memory":
        return InMemory()
    path = configuration.get(CATALOG_STORE_PATH)
    if not path:
        raise ConfigurationError(
            f"'{CATALOG_STORE_KIND.key}' is 'file', so '{CATALOG_STORE_PATH.key}' must name "
            "the directory in which catalogs are kept"
        )
    return InFiles(path, configuration)
