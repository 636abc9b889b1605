"""Transactions that wait in the server for their commit, beyond the connection that made them.

PostgreSQL has prepared transactions, MySQL and MariaDB have XA.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.base import RetriableCommitError
from headrace.datastream.connectors.jdbc.database import (
    Database,
    PostgreSql,
    ServerAwayError,
    database_of,
)
from headrace.datastream.connectors.jdbc.options import JdbcConnectionOptions

__all__ = ["PreparedTransaction", "Transactions", "transactions_of"]


@dataclass(frozen=True)
class PreparedTransaction:
    """A transaction that waits in the server for its commit.

    Attributes:
        name: What it is called.
        xid: The number that PostgreSQL has given it.
    """

    name: str
    xid: str = ""


class Transactions(ABC):
    """What writers and committers do with transactions of a product."""

    keeps_connection = False
    """Whether a prepared transaction keeps its connection, which has to be closed then."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @abstractmethod
    def passing_errors(self) -> tuple[type[Exception], ...]:
        """What is raised when a server is away, or a connection is lost."""

    @abstractmethod
    def require(self, connection: Any) -> None:
        """Check that the server lets transactions wait."""

    @abstractmethod
    def begin(self, connection: Any, name: str) -> None:
        """Begin a transaction."""

    @abstractmethod
    def prepare(self, connection: Any, name: str) -> PreparedTransaction:
        """Make the transaction of a connection wait for its commit."""

    @abstractmethod
    def commit(self, connection: Any, transaction: PreparedTransaction) -> None:
        """Commit a transaction that waits; one that is committed already is left alone."""

    @abstractmethod
    def waiting(self, connection: Any) -> list[str]:
        """Names of all transactions that wait."""

    @abstractmethod
    def roll_back(self, connection: Any, name: str) -> None:
        """Roll back a transaction that waits."""

    def roll_back_stale(
        self, connection: Any, prefixes: Sequence[str], keep: set[str]
    ) -> list[str]:
        """Roll back transactions that wait and that no checkpoint knows; their names."""
        names = self.waiting(connection)
        stale = [name for name in names if name.startswith(tuple(prefixes)) and name not in keep]
        for name in stale:
            self.roll_back(connection, name)
        return stale


def transactions_of(options: JdbcConnectionOptions) -> Transactions:
    """Transactions of the database that options describe."""
    database = database_of(options)
    return (
        PreparedTransactions(database)
        if isinstance(database, PostgreSql)
        else XaTransactions(database)
    )


class PreparedTransactions(Transactions):
    """Those of PostgreSQL; a connection can go on with the next one."""

    def passing_errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.OperationalError, ServerAwayError)

    def require(self, connection: Any) -> None:
        (limit,) = connection.execute("SHOW max_prepared_transactions").fetchone()
        if int(limit) == 0:
            raise HeadraceError(
                "the PostgreSQL server has max_prepared_transactions = 0, so no transaction can "
                "wait for a checkpoint: set it in postgresql.conf to at least twice the "
                "parallelism of the sink and restart the server, or use JdbcSink.sink with an "
                "upsert statement"
            )

    def begin(self, connection: Any, name: str) -> None:
        """The first statement does it."""

    def prepare(self, connection: Any, name: str) -> PreparedTransaction:
        (xid,) = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        connection.execute(_of_transaction("PREPARE TRANSACTION", name))
        # The transaction belongs to nobody now; this ends what the driver takes for one.
        connection.rollback()
        return PreparedTransaction(name, str(xid))

    def commit(self, connection: Any, transaction: PreparedTransaction) -> None:
        from psycopg import errors

        try:
            connection.execute(_of_transaction("COMMIT PREPARED", transaction.name))
        except errors.UndefinedObject:
            status = connection.execute("SELECT pg_xact_status(%s::xid8)", [transaction.xid])
            if status.fetchone()[0] == "aborted":
                raise HeadraceError(
                    f"transaction {transaction.name!r} is part of the checkpoint, but something "
                    "else rolled it back: its records are lost; start again from an earlier "
                    "savepoint"
                ) from None

    def waiting(self, connection: Any) -> list[str]:
        rows = connection.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()"
        )
        return [gid for (gid,) in rows.fetchall()]

    def roll_back(self, connection: Any, name: str) -> None:
        connection.execute(_of_transaction("ROLLBACK PREPARED", name))


def _of_transaction(command: str, name: str) -> Any:
    """A command that takes the name of a transaction as text, but not as a parameter."""
    from psycopg import sql

    return sql.SQL(command + " {}").format(sql.Literal(name))


class XaTransactions(Transactions):
    """Those of MySQL and MariaDB.

    A transaction belongs to its connection, also when it is prepared, until that is closed. Other
    connections see it in `XA RECOVER`, but are told that there is none such.
    """

    keeps_connection = True
    _UNKNOWN = 1397
    _HELD_S = 10.0

    def __init__(self, database: Database, sleep: Callable[[float], None] = time.sleep) -> None:
        super().__init__(database)
        self._sleep = sleep

    def passing_errors(self) -> tuple[type[Exception], ...]:
        import pymysql

        return (pymysql.err.OperationalError, pymysql.err.InterfaceError, ServerAwayError)

    def require(self, connection: Any) -> None:
        ((version,),) = _rows(connection, "SELECT VERSION()")
        if not keeps_prepared(version):
            raise HeadraceError(
                f"{self.database.options.url} has version {version}, which rolls prepared "
                "transactions back when a connection is lost: exactly once needs MySQL 5.7.7 or "
                "MariaDB 10.5.2, or use JdbcSink.sink with an upsert statement"
            )
        try:
            self.waiting(connection)
        except Exception as error:
            raise HeadraceError(
                f"{self.database.options.url} does not show prepared transactions: "
                f"{error.args[-1]}; as an administrator execute GRANT XA_RECOVER_ADMIN ON *.* TO "
                f"the user {self.database.options.user_name!r}"
            ) from error

    def begin(self, connection: Any, name: str) -> None:
        _execute(connection, "XA START", name)

    def prepare(self, connection: Any, name: str) -> PreparedTransaction:
        _execute(connection, "XA END", name)
        _execute(connection, "XA PREPARE", name)
        return PreparedTransaction(name)

    def commit(self, connection: Any, transaction: PreparedTransaction) -> None:
        if not self._ended(connection, "XA COMMIT", transaction.name):
            raise RetriableCommitError(
                f"transaction {transaction.name!r} is still held by the connection that prepared it"
            )

    def waiting(self, connection: Any) -> list[str]:
        rows = _rows(connection, "XA RECOVER")
        names = []
        for _, length, _, data in rows:
            names.append(_name_of(data, length))
        return names

    def roll_back(self, connection: Any, name: str) -> None:
        deadline = time.monotonic() + self._HELD_S
        while not self._ended(connection, "XA ROLLBACK", name):
            if time.monotonic() > deadline:
                raise HeadraceError(
                    f"transaction {name!r} of a failed attempt is still held by its connection; "
                    "look for it with SHOW PROCESSLIST, and end it with KILL"
                )
            self._sleep(0.1)

    def _ended(self, connection: Any, command: str, name: str) -> bool:
        """Commit or roll back; False if the connection that has prepared it still holds it."""
        import pymysql

        try:
            _execute(connection, command, name)
        except (pymysql.err.OperationalError, pymysql.err.InternalError) as error:
            if error.args[0] != self._UNKNOWN:
                raise
            # Who is not listed was ended before.
            return name not in self.waiting(connection)
        return True


def _name_of(data: str | bytes, length: int) -> str:
    """What `XA RECOVER` lists, whose first part has so many bytes."""
    raw = data.encode() if isinstance(data, str) else data
    return f"{raw[:length].decode(errors='replace')}:{raw[length:].decode(errors='replace')}"


def keeps_prepared(version: str) -> bool:
    """Whether prepared transactions outlive their connections in a server of a version."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:3]))
    return numbers >= ((10, 5, 2) if "mariadb" in version.lower() else (5, 7, 7))


def _execute(connection: Any, command: str, name: str) -> None:
    """An XA command; the name becomes the two parts of an id, of 64 bytes each at most."""
    first, _, second = name.rpartition(":")
    with connection.cursor() as cursor:
        cursor.execute(f"{command} %s, %s", (first, second))


def _rows(connection: Any, sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()
