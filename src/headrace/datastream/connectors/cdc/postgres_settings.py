"""How a PostgreSQL database whose changes are read is reached."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any

from headrace.datastream.connectors.cdc.source import CaptureSettings
from headrace.datastream.connectors.jdbc.database import database_of

__all__ = ["DEFAULT_PUBLICATION", "PostgresSettings", "connected", "parsed_lsn"]

_log = logging.getLogger(__name__)

DEFAULT_PUBLICATION = "dbz_publication"

# A server that confirms nothing for so long is gone.
_GONE_MS = "60000"

# Values that have no type of their own in SQL are read as PostgreSQL writes them.
_AS_TEXT = ("json", "jsonb", "uuid", "inet", "cidr", "interval")


@dataclass(frozen=True, kw_only=True)
class PostgresSettings(CaptureSettings):
    """What a source of changes of PostgreSQL was told. Picklable.

    Attributes:
        slot: The replication slot.
        publication: The publication.
        create_publication: Whether it is made, and tables are added to it.
        wait_for_slot_s: How long to wait for a slot that somebody else reads.
    """

    slot: str = ""
    publication: str = DEFAULT_PUBLICATION
    create_publication: bool = True
    wait_for_slot_s: float = 90.0


def connected(settings: PostgresSettings, replication: bool = False) -> Any:
    """A connection, on which values look the same in tables and in the log."""
    from psycopg.types.string import TextLoader

    options = settings.connection_options
    properties = {
        **dict(options.url.properties),
        "options": "-c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c extra_float_digits=1",
        "application_name": "headrace",
    }
    if replication:
        properties["replication"] = "database"
        # What is sent there is little, and confirmed at once unless the server is gone.
        properties.setdefault("tcp_user_timeout", _GONE_MS)
    options = replace(options, url=replace(options.url, properties=tuple(properties.items())))
    connection = database_of(options).connect(
        lambda text: _log.warning("postgres-cdc: %s", text), autocommit=True
    )
    for name in _AS_TEXT:
        connection.adapters.register_loader(name, TextLoader)
    return connection


def parsed_lsn(text: str) -> int:
    """A place in the log, of PostgreSQL's text."""
    high, low = text.split("/")
    return (int(high, 16) << 32) | int(low, 16)
