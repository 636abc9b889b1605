"""Connections of a process that several who ask the same database share."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

from headrace.datastream.connectors.jdbc.database import Database, database_of
from headrace.datastream.connectors.jdbc.options import JdbcConnectionOptions

__all__ = ["ConnectionPool"]

_log = logging.getLogger(__name__)


class ConnectionPool:
    """Connections that commit by themselves; those that nobody uses wait for the next one.

    There is one pool for each database and user in a process, from the first `of` to the last
    `release`.
    """

    _pools: ClassVar[dict[JdbcConnectionOptions, ConnectionPool]] = {}
    _lock = threading.Lock()

    def __init__(self, options: JdbcConnectionOptions) -> None:
        self.database: Database = database_of(options)
        self._users = 0
        self._idle: list[Any] = []

    @classmethod
    def of(cls, options: JdbcConnectionOptions) -> ConnectionPool:
        """The pool of a database; it lasts until everybody who got it has released it."""
        with cls._lock:
            pool = cls._pools.get(options)
            if pool is None:
                pool = cls._pools[options] = cls(options)
            pool._users += 1
            return pool

    def release(self) -> None:
        """Whoever got the pool does not need it any longer; the last one closes connections."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            self._pools.pop(self.database.options, None)
        self._close(self._all_idle())

    def query(self, sql: str, values: Sequence[Any], max_retries: int) -> list[Any]:
        """The rows of a query, which is tried again if it failed for a passing reason."""
        while True:
            connection = self._taken()
            try:
                with connection.cursor() as cursor:
                    cursor.execute(sql, values)
                    rows = list(cursor.fetchall())
            except Exception as error:
                lost = self.database.is_lost(connection, error)
                if lost:
                    # Connections that waited with it were lost with it.
                    self._close([connection, *self._all_idle()])
                else:
                    self._give_back(connection)
                if not (lost or self.database.is_transient(error)) or max_retries <= 0:
                    raise
                max_retries -= 1
                _warn(f"a query of {self.database.options.url} is tried again: {error}")
            else:
                self._give_back(connection)
                return rows

    def _taken(self) -> Any:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.database.connect(_warn, autocommit=True)

    def _all_idle(self) -> list[Any]:
        with self._lock:
            idle, self._idle = self._idle, []
        return idle

    @staticmethod
    def _close(connections: Sequence[Any]) -> None:
        for connection in connections:
            # It may be broken, and whatever broke it says more.
            with contextlib.suppress(Exception):
                connection.close()

    def _give_back(self, connection: Any) -> None:
        with self._lock:
            if self._users:
                self._idle.append(connection)
                return
        connection.close()


def _warn(text: str) -> None:
    _log.warning("JDBC lookup: %s", text)
