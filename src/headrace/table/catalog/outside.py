"""Catalogs of other systems, which are not there yet."""

from __future__ import annotations

from typing import NoReturn

from headrace.common.errors import HeadraceError
from headrace.table.catalog.catalog import Catalog

__all__ = ["HiveCatalog", "JdbcCatalog"]


def _absent(what: str, instead: str) -> NoReturn:
    raise HeadraceError(f"{what} is not supported yet; {instead}")


class HiveCatalog(Catalog):
    """A catalog of a Hive metastore: not there yet."""

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        _absent(
            "HiveCatalog", "declare the tables with CREATE TABLE in a generic_in_memory catalog"
        )


class JdbcCatalog(Catalog):
    """A catalog of the tables of a database server: not there yet."""

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        _absent("JdbcCatalog", "declare the tables with CREATE TABLE and 'connector' = 'jdbc'")
