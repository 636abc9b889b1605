"""Catalogs of other systems."""

from __future__ import annotations

from headrace.sql.catalog.hive import hive_catalog
from headrace.sql.catalog.jdbc import jdbc_catalog
from headrace.table.catalog.catalog import Catalog

__all__ = ["HiveCatalog", "JdbcCatalog"]


class HiveCatalog(Catalog):
    """The tables of a Hive metastore, which Spark reads, for `register_catalog`.

    Args:
        catalog_name: What the session calls the catalog.
        default_database: The database that `USE CATALOG` chooses.
        hive_conf_dir: The directory with `hive-site.xml`.
        hadoop_conf_dir: The directory with `core-site.xml` and `hdfs-site.xml`.
        hive_version: Accepted as in Flink: Spark knows the metastores that it can talk to.
    """

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        given = {
            "default-database": default_database,
            "hive-conf-dir": hive_conf_dir,
            "hadoop-conf-dir": hadoop_conf_dir,
            "hive-version": hive_version,
        }
        options = {key: value for key, value in given.items() if value is not None}
        super().__init__(hive_catalog(catalog_name, options))


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
