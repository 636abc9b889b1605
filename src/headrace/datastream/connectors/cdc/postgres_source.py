"""A source of the changes of PostgreSQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from headrace.common.errors import GraphError
from headrace.datastream.connectors.cdc.postgres import PostgresDatabase
from headrace.datastream.connectors.cdc.postgres_settings import PostgresSettings
from headrace.datastream.connectors.cdc.reader import CapturedDatabase
from headrace.datastream.connectors.cdc.source import ChangeSource, ChangeSourceBuilder

__all__ = ["PostgresSource", "PostgresSourceBuilder"]

_SLOT_NAME = re.compile(r"[a-z0-9_]{1,63}")


@dataclass(frozen=True)
class PostgresSource(ChangeSource):
    """Reads the rows of tables and then their changes. Make one with `builder`.

    Records are `ChangeRecord` objects, unless a deserializer makes others. One subtask reads, so
    that all changes come in their order. The log is kept by a replication slot of the server, and
    it is let go with completed checkpoints.

    Example:
        >>> orders = (
        ...     PostgresSource.builder()
        ...     .hostname("db.example")
        ...     .database("shop")
        ...     .schema_list("public")
        ...     .table_list("public.orders")
        ...     .username("reader")
        ...     .password("secret")
        ...     .slot_name("orders_job")
        ...     .build()
        ... )
    """

    settings: PostgresSettings

    @staticmethod
    def builder() -> PostgresSourceBuilder:
        """A builder."""
        return PostgresSourceBuilder()

    def database(self) -> CapturedDatabase:
        return PostgresDatabase(self.settings)


class PostgresSourceBuilder(ChangeSourceBuilder):
    """Builds a `PostgresSource`; database, tables, user and slot are needed."""

    product = "postgresql"
    default_port = 5432
    modes = ("initial", "latest-offset", "committed-offset", "snapshot")

    def database(self, database: str) -> Self:
        """The database."""
        return self._text("database", database)

    def schema_list(self, *schemas: str) -> Self:
        """Schemas that tables are in, as regular expressions; all of them if none are given."""
        self._given["spaces"] = schemas
        return self

    def connection_property(self, name: str, value: str) -> Self:
        """A parameter of the connection, such as `sslmode`."""
        self._properties[name] = value
        return self

    def slot_name(self, slot_name: str) -> Self:
        """The replication slot, one for each job; it is made if it does not exist."""
        if not isinstance(slot_name, str) or not _SLOT_NAME.fullmatch(slot_name):
            raise GraphError(
                "the name of a replication slot has lower-case letters, digits and _, at most 63: "
                f"{slot_name!r}"
            )
        self._settings["slot"] = slot_name
        return self

    def publication_name(self, name: str, create: bool = True) -> Self:
        """The publication; it is made, and tables are added to it, unless `create` is False."""
        self._settings |= {"publication": name, "create_publication": create}
        return self

    def decoding_plugin_name(self, name: str) -> Self:
        """The plugin that decodes the log: `pgoutput` alone."""
        if name != "pgoutput":
            raise GraphError(
                f"there is no decoder for the plugin {name!r}; PostgreSQL itself has 'pgoutput'"
            )
        return self

    def build(self) -> PostgresSource:
        """The source."""
        if "database" not in self._given:
            raise GraphError("a source of PostgreSQL needs a database: call database()")
        settings = PostgresSettings(**self._capture_settings(self._given["database"]))
        if not settings.slot and settings.startup.mode != "snapshot":
            raise GraphError("a source of PostgreSQL needs a replication slot: call slot_name()")
        return PostgresSource(settings, self._deserialize)
