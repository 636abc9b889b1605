"""Catalogs of other systems."""

from __future__ import annotations

from typing import NoReturn

from headrace.common.errors import HeadraceError
from headrace.sql.catalog.jdbc import jdbc_catalog
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
    """The tables of a PostgreSQL, MySQL or MariaDB server, for `register_catalog`.

    Args:
        catalog_name: What the session calls the catalog.
        default_database: The database that `USE CATALOG` chooses.
        username: Who reads and writes the tables.
        pwd: The password.
        base_url: The server: `jdbc:postgresql://host:port`.
    """

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        options = {
            "base-url": base_url,
            "default-database": default_database,
            "username": username,
            "password": pwd,
        }
        super().__init__(jdbc_catalog(catalog_name, options))
