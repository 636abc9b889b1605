"""How a MySQL or MariaDB server whose changes are read is reached, and places in its log."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc.source import CaptureSettings
from headrace.datastream.connectors.jdbc.database import database_of

__all__ = ["BinlogPosition", "MySqlSettings", "advised", "asked", "connected", "says_mariadb"]

_log = logging.getLogger(__name__)

# Access denied, in the words of the server.
_DENIED = (1044, 1045, 1142, 1227)


@dataclass(frozen=True, kw_only=True)
class MySqlSettings(CaptureSettings):
    """What a source of changes of MySQL was told. Picklable.

    Attributes:
        server_id: The number by which the server knows the reader; 0 for any.
    """

    server_id: int = 0


@dataclass(frozen=True, slots=True)
class BinlogPosition:
    """How far the log was read.

    Attributes:
        file: A file of the log.
        offset: All transactions that end there or before were read.
        changes: How many changes of the next one were read.
        since: Where the first XA transaction begins that is prepared here, but has not ended: its
            changes are read again from there.
    """

    file: str
    offset: int
    changes: int = 0
    since: BinlogPosition | None = None

    def __setstate__(self, values: list[Any]) -> None:
        # Snapshots of earlier versions lack the last ones, which have defaults.
        self.__init__(*values)  # type: ignore[misc]

    @property
    def order(self) -> tuple[int, int]:
        """Positions in order: files have numbers behind their last point."""
        return int(self.file.rpartition(".")[2]), self.offset

    def contains(self, transaction: BinlogPosition) -> bool:
        """Whether a chunk that was read here saw a change there."""
        return transaction.order <= self.order

    def is_before(self, position: BinlogPosition) -> bool:
        """Whether a chunk that was read here saw nothing of what follows a position."""
        return self.order <= position.order


def connected(settings: MySqlSettings) -> Any:
    """A connection, on which times are those of UTC, as in the log."""
    connection = database_of(settings.connection_options).connect(
        lambda text: _log.warning("mysql-cdc: %s", text), autocommit=True
    )
    asked(settings, connection, "SET time_zone = '+00:00'")
    return connection


def asked(
    settings: MySqlSettings, connection: Any, sql: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """The rows of a query, in which %% is one percent sign; an error says what the user lacks."""
    import pymysql

    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return [tuple(row) for row in cursor.fetchall() or ()]
    except pymysql.MySQLError as error:
        text = f"{error.args[-1]}; the statement is: {sql}"
        raise advised(settings, text, error) from error


def advised(settings: MySqlSettings, text: str, error: Exception) -> HeadraceError:
    """What the server refused; with the statement that gives the privileges, if they lack."""
    text = f"{settings.url}: {text}"
    if error.args[0] in _DENIED:
        text += (
            ". As an administrator, run: GRANT SELECT, RELOAD, REPLICATION SLAVE, "
            f"REPLICATION CLIENT ON *.* TO '{settings.user_name}'@'%';"
        )
    return HeadraceError(text)


def says_mariadb(connection: Any) -> bool:
    """Whether the server is MariaDB."""
    return "mariadb" in str(connection.get_server_info()).lower()
