"""Connections to a database, through the Python driver that its URL stands for."""

from __future__ import annotations

import importlib.util
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from headrace.common.errors import ConfigurationError, HeadraceError
from headrace.datastream.connectors.jdbc.options import JdbcConnectionOptions
from headrace.datastream.connectors.jdbc.statements import translate_placeholders

__all__ = ["Database", "ServerAwayError", "database_of", "require_driver"]

_CONNECT_TIMEOUT_S = 10
# A server that is gone without a word is noticed within a minute, also while a query runs.
_KEEP_ALIVE = {"idle": 30, "interval": 10, "count": 3}
_CORRECT = "correct the user, the password or the database"
_FIRST_PAUSE_S = 0.25
_LONGEST_PAUSE_S = 5.0
_SAY_EVERY_S = 10.0

Tell = Callable[[str], None]


class ServerAwayError(HeadraceError):
    """The database server cannot be reached, or the connection to it is lost."""


def require_driver(options: JdbcConnectionOptions) -> None:
    """Say how to install the driver of a database, if it is missing."""
    module = "psycopg" if options.url.product == "postgresql" else "pymysql"
    if importlib.util.find_spec(module) is None:
        raise ConfigurationError(
            f"{options.url} needs the Python package {module}, which is not installed: "
            "pip install 'headrace[jdbc]'"
        )


def database_of(options: JdbcConnectionOptions) -> Database:
    """The database that options describe."""
    return PostgreSql(options) if options.url.product == "postgresql" else MySql(options)


class Database(ABC):
    """What differs between products. Connections are those of the driver, without autocommit."""

    def __init__(self, options: JdbcConnectionOptions) -> None:
        require_driver(options)
        self.options = options

    def connect(
        self, tell: Tell, sleep: Callable[[float], None] = time.sleep, autocommit: bool = False
    ) -> Any:
        """Connect; while the server is away wait for it, and say so."""
        deadline = time.monotonic() + self.options.wait_for_server_s
        pause_s, say_at = _FIRST_PAUSE_S, 0.0
        while True:
            try:
                return self._connect(autocommit)
            except ServerAwayError as error:
                now = time.monotonic()
                if now >= deadline:
                    waited = self.options.wait_for_server_s
                    after = f" (gave up after {waited:g} s)" if waited else ""
                    raise ServerAwayError(
                        f"{error}{after}; start the server or correct the URL"
                    ) from error
                if now >= say_at:
                    tell(f"waiting for {self.options.url}: {error}")
                    say_at = now + _SAY_EVERY_S
                sleep(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def probe(self, sql: str) -> str:
        """Try a statement without waiting for the server: see `Source.probe`."""
        connection = self._connect(autocommit=False)
        try:
            wrong = self.check(connection, sql)
        finally:
            connection.close()
        if wrong is not None:
            raise HeadraceError(
                f"{self.options.url} cannot execute a statement: {wrong}; create the table and "
                f"columns that it names, or correct it: {sql}"
            )
        return str(self.options.url)

    @abstractmethod
    def _connect(self, autocommit: bool) -> Any:
        """Connect; raises `ServerAwayError` if that may succeed later."""

    @abstractmethod
    def is_lost(self, connection: Any, error: Exception) -> bool:
        """Whether an error means that the connection is gone."""

    @abstractmethod
    def is_transient(self, error: Exception) -> bool:
        """Whether the same statements may succeed when they are tried again: a deadlock."""

    @abstractmethod
    def check(self, connection: Any, sql: str) -> str | None:
        """What is wrong with a statement, as the server sees it; None if nothing."""

    @abstractmethod
    def open_cursor(self, connection: Any, fetch_size: int) -> Any:
        """A cursor that fetches a large result piece by piece."""

    @staticmethod
    def driver_sql(sql: str) -> str:
        """A statement with the placeholders of Python's drivers."""
        return translate_placeholders(sql)


class PostgreSql(Database):
    """PostgreSQL with psycopg 3."""

    # The server answers, but not to us now: it starts, stops, or has no connection left.
    _LATER = ("starting up", "shutting down", "too many clients", "not yet accepting")

    def _connect(self, autocommit: bool) -> Any:
        import psycopg

        url = self.options.url
        given: dict[str, Any] = {
            "host": url.host,
            "port": url.port,
            "dbname": url.database,
            "user": self.options.user_name,
            "password": self.options.password,
            "connect_timeout": _CONNECT_TIMEOUT_S,
            **{f"keepalives_{name}": value for name, value in _KEEP_ALIVE.items()},
            **dict(url.properties),
        }
        try:
            return psycopg.connect(
                **{k: v for k, v in given.items() if v is not None}, autocommit=autocommit
            )
        except psycopg.OperationalError as error:
            text = " ".join(str(error).split())
            if "FATAL" in text and not any(word in text for word in self._LATER):
                raise HeadraceError(f"{url} refuses the connection: {text}; {_CORRECT}") from error
            raise ServerAwayError(f"{url} cannot be reached: {text}") from error

    def is_lost(self, connection: Any, error: Exception) -> bool:
        return bool(connection.closed)

    def is_transient(self, error: Exception) -> bool:
        from psycopg import errors

        kinds = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
        return isinstance(error, kinds)

    def check(self, connection: Any, sql: str) -> str | None:
        from psycopg import errors

        prepared = translate_placeholders(sql, lambda number: f"${number}")
        try:
            connection.execute(f"PREPARE headrace_check AS {prepared}", prepare=False)
            connection.execute("DEALLOCATE headrace_check", prepare=False)
        except (errors.IndeterminateDatatype, errors.AmbiguousParameter):
            # The server will see when there are values.
            pass
        except errors.ProgrammingError as error:
            return " ".join(str(error).split())
        finally:
            if not connection.closed and not connection.autocommit:
                connection.rollback()
        return None

    def open_cursor(self, connection: Any, fetch_size: int) -> Any:
        cursor = connection.cursor("headrace")
        cursor.itersize = fetch_size
        return cursor


class MySql(Database):
    """MySQL and MariaDB with PyMySQL."""

    _AWAY = (1040, 1053, 2002, 2003, 2006, 2013, 2055)
    _AGAIN = (1205, 1213)

    def _connect(self, autocommit: bool) -> Any:
        import pymysql

        url = self.options.url
        try:
            connection = pymysql.connect(
                host=url.host,
                port=url.port,
                database=url.database,
                user=self.options.user_name,
                password=self.options.password or "",
                connect_timeout=_CONNECT_TIMEOUT_S,
                autocommit=autocommit,
                defer_connect=True,
            )
            connection.connect(_kept_alive(url.host, url.port))
            return connection
        except OSError as error:
            raise ServerAwayError(f"{url} cannot be reached: {error}") from error
        except pymysql.err.OperationalError as error:
            if error.args[0] in self._AWAY:
                raise ServerAwayError(f"{url} cannot be reached: {error.args[-1]}") from error
            text = error.args[-1]
            raise HeadraceError(f"{url} refuses the connection: {text}; {_CORRECT}") from error

    def is_lost(self, connection: Any, error: Exception) -> bool:
        return not connection.open or (bool(error.args) and error.args[0] in self._AWAY)

    def is_transient(self, error: Exception) -> bool:
        return bool(error.args) and error.args[0] in self._AGAIN

    def check(self, connection: Any, sql: str) -> str | None:
        import pymysql

        try:
            with connection.cursor() as cursor:
                cursor.execute("PREPARE headrace_check FROM %s", [sql])
                cursor.execute("DEALLOCATE PREPARE headrace_check")
        except (pymysql.err.ProgrammingError, pymysql.err.OperationalError) as error:
            if self.is_lost(connection, error):
                raise
            return str(error.args[-1])
        return None

    def open_cursor(self, connection: Any, fetch_size: int) -> Any:
        from pymysql.cursors import SSCursor

        return connection.cursor(SSCursor)


def _kept_alive(host: str, port: int) -> socket.socket:
    opened = socket.create_connection((host, port), _CONNECT_TIMEOUT_S)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in zip(("IDLE", "INTVL", "CNT"), _KEEP_ALIVE.values(), strict=True):
        # Not every system has all of them.
        option = getattr(socket, f"TCP_KEEP{name}", None)
        if option is not None:
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened
