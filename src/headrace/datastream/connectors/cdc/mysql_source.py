"""A source of the changes of MySQL and MariaDB."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Self

from headrace.common.errors import ConfigurationError, GraphError
from headrace.datastream.connectors.cdc.mysql import MySqlDatabase
from headrace.datastream.connectors.cdc.mysql_settings import MySqlSettings
from headrace.datastream.connectors.cdc.reader import CapturedDatabase
from headrace.datastream.connectors.cdc.source import ChangeSource, ChangeSourceBuilder

__all__ = ["MySqlSource", "MySqlSourceBuilder"]


@dataclass(frozen=True)
class MySqlSource(ChangeSource):
    """Reads the rows of tables and then their changes. Make one with `builder`.

    Records are `ChangeRecord` objects, unless a deserializer makes others. One subtask reads, so
    that all changes come in their order.

    Example:
        >>> orders = (
        ...     MySqlSource.builder()
        ...     .hostname("db.example")
        ...     .database_list("shop")
        ...     .table_list("shop.orders")
        ...     .username("reader")
        ...     .password("secret")
        ...     .build()
        ... )
    """

    settings: MySqlSettings

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        """A builder."""
        return MySqlSourceBuilder()

    def database(self) -> CapturedDatabase:
        return MySqlDatabase(self.settings)


class MySqlSourceBuilder(ChangeSourceBuilder):
    """Builds a `MySqlSource`; tables and user are needed."""

    product = "mysql"
    default_port = 3306
    modes = (
        "initial",
        "earliest-offset",
        "latest-offset",
        "specific-offset",
        "timestamp",
        "snapshot",
    )

    def database_list(self, *databases: str) -> Self:
        """Databases that tables are in, as regular expressions; all of them if none are given."""
        self._given["spaces"] = databases
        return self

    def server_id(self, server_id: str | int) -> Self:
        """The number by which the server knows the reader, or the first of a range of them."""
        first = str(server_id).partition("-")[0]
        if not first.isdigit() or not 0 < int(first) < 1 << 32:
            raise GraphError(f"the server id is a positive number, not {server_id!r}")
        self._settings["server_id"] = int(first)
        return self

    def build(self) -> MySqlSource:
        """The source."""
        settings = MySqlSettings(**self._capture_settings(""))
        if importlib.util.find_spec("pymysqlreplication") is None:
            raise ConfigurationError(
                "changes of MySQL need the Python package mysql-replication, which is not "
                "installed: pip install 'headrace[mysql-cdc]'"
            )
        return MySqlSource(settings, self._deserialize)
