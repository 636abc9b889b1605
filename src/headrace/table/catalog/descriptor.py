"""`CatalogDescriptor`: a catalog to be made."""

from __future__ import annotations

from headrace.common.configuration import Configuration

__all__ = ["CatalogDescriptor"]


class CatalogDescriptor:
    """A catalog to be made: its name, its options and a comment, as CREATE CATALOG says them."""

    def __init__(self, catalog_name: str, options: dict[str, str], comment: str | None) -> None:
        self._name = catalog_name
        self._options = options
        self._comment = comment

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        """Describe a catalog.

        Example:
            >>> options = Configuration().set_string("type", "generic_in_memory")
            >>> t_env.create_catalog("mine", CatalogDescriptor.of("mine", options))
        """
        return CatalogDescriptor(catalog_name, configuration.to_dict(), comment)
