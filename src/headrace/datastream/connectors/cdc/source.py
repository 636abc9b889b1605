"""What sources of changes have in common, and how they are built."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.cdc.changes import Deserializer, change_records
from headrace.datastream.connectors.cdc.enumerator import ChangeEnumerator
from headrace.datastream.connectors.cdc.reader import CapturedDatabase, ChangeReader
from headrace.datastream.connectors.jdbc import JdbcConnectionOptions
from headrace.datastream.connectors.jdbc.database import require_driver
from headrace.datastream.connectors.jdbc.url import JdbcUrl

__all__ = ["CaptureSettings", "ChangeSource", "ChangeSourceBuilder", "StartupOptions"]


@dataclass(frozen=True)
class StartupOptions:
    """Where a source of changes starts, if it does not go on from a checkpoint."""

    mode: str
    file: str = ""
    position: int = 0
    timestamp_ms: int = 0

    @staticmethod
    def initial() -> StartupOptions:
        """With the rows that are there, and then with all changes."""
        return StartupOptions("initial")

    @staticmethod
    def latest() -> StartupOptions:
        """With the changes from now on."""
        return StartupOptions("latest-offset")

    @staticmethod
    def committed() -> StartupOptions:
        """With the changes that the replication slot has kept."""
        return StartupOptions("committed-offset")

    @staticmethod
    def earliest() -> StartupOptions:
        """With the oldest change that the log has."""
        return StartupOptions("earliest-offset")

    @staticmethod
    def specific_offset(file: str, position: int) -> StartupOptions:
        """With a place in the log: the name of a file, and a position in it."""
        return StartupOptions("specific-offset", file=file, position=position)

    @staticmethod
    def timestamp(timestamp_ms: int) -> StartupOptions:
        """With the changes since a time, in milliseconds since 1970."""
        return StartupOptions("timestamp", timestamp_ms=timestamp_ms)

    @staticmethod
    def snapshot() -> StartupOptions:
        """With the rows that are there; then the source ends."""
        return StartupOptions("snapshot")


@dataclass(frozen=True, kw_only=True)
class CaptureSettings:
    """What a source of changes was told. Picklable.

    Attributes:
        connection_options: The database and the user.
        tables: A regular expression for the full names of tables.
        startup: Where to start.
        columns: Those that are read of each table; all of them if there are none.
        chunk_size: How many rows are read at once.
        chunk_key: The column that chunks are ranges of; the first one of the primary key.
        heartbeat_s: How often the reader and the server hear from each other.
    """

    connection_options: JdbcConnectionOptions
    tables: str
    startup: StartupOptions = field(default_factory=StartupOptions.initial)
    columns: tuple[str, ...] = ()
    chunk_size: int = 8096
    chunk_key: str | None = None
    heartbeat_s: float = 10.0

    @property
    def url(self) -> JdbcUrl:
        """The database, for messages."""
        return self.connection_options.url

    @property
    def user_name(self) -> str:
        """The user."""
        return self.connection_options.user_name or ""

    @property
    def reads_rows(self) -> bool:
        """Whether the rows are read that are there at the start."""
        return self.startup.mode in ("initial", "snapshot")


@dataclass(frozen=True)
class ChangeSource(Source, ABC):
    """Reads the rows of tables and then their changes."""

    settings: CaptureSettings
    deserialize: Deserializer = change_records

    @abstractmethod
    def database(self) -> CapturedDatabase:
        """The database, not connected yet."""

    @property
    def bounded(self) -> bool:
        """Whether only the rows are read that are there."""
        return self.settings.startup.mode == "snapshot"

    @property
    def max_parallel_readers(self) -> int | None:
        """One: changes have an order."""
        return 1

    def probe(self) -> str:
        # Somebody waits for the answer: a server that is away is not waited for.
        options = replace(self.settings.connection_options, wait_for_server_s=0)
        settings = replace(self.settings, connection_options=options)
        database = replace(self, settings=settings).database()
        try:
            tables = database.probe()
        finally:
            database.close()
        count = "1 table" if len(tables) == 1 else f"{len(tables)} tables"
        return f"{count} of {self.settings.url}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return ChangeEnumerator(self.database())

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return ChangeReader(self.database(), self.deserialize, context, self.bounded)


class ChangeSourceBuilder(ABC):
    """Builds a source of changes."""

    product: ClassVar[str]
    default_port: ClassVar[int]
    modes: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._settings: dict[str, Any] = {}
        self._properties: dict[str, str] = {}
        self._deserialize: Deserializer = change_records

    def hostname(self, hostname: str) -> Self:
        """The server; `localhost` if it is not given."""
        return self._text("hostname", hostname)

    def port(self, port: int) -> Self:
        """The port of the server, if it is not the usual one."""
        self._given["port"] = _positive("the port", port)
        return self

    def table_list(self, *tables: str) -> Self:
        """Tables, as regular expressions for full names: `public.orders`, `sales.orders_.*`."""
        self._given["tables"] = tables
        return self

    def username(self, username: str) -> Self:
        """The user, who may read the tables and the log."""
        return self._text("username", username)

    def password(self, password: str) -> Self:
        """The password."""
        return self._text("password", password)

    def startup_options(self, options: StartupOptions) -> Self:
        """Where to start; `StartupOptions.initial()` if it is not given."""
        if not isinstance(options, StartupOptions) or options.mode not in self.modes:
            raise FunctionTypeError(
                f"StartupOptions of {self.product} are needed ({', '.join(self.modes)}), not "
                f"{options!r}"
            )
        self._settings["startup"] = options
        return self

    def columns(self, *names: str) -> Self:
        """The columns that are read of each table; all of them if none are given."""
        self._settings["columns"] = names
        return self

    def split_size(self, rows: int) -> Self:
        """How many rows of a table are read at once."""
        self._settings["chunk_size"] = _positive("the size of a chunk", rows)
        return self

    def chunk_key_column(self, name: str) -> Self:
        """The column that chunks are ranges of; the first of the primary key if not given."""
        self._settings["chunk_key"] = name
        return self

    def heartbeat_interval(self, seconds: float) -> Self:
        """How often the reader and the server hear from each other."""
        self._settings["heartbeat_s"] = float(seconds)
        return self

    def wait_for_server(self, seconds: float) -> Self:
        """How long to wait for a server that cannot be reached before the job fails."""
        self._given["wait_for_server_s"] = float(seconds)
        return self

    def deserializer(self, deserialize: Deserializer) -> Self:
        """A function that makes the records of a change."""
        if not callable(deserialize):
            raise FunctionTypeError(f"a deserializer is a function, not {deserialize!r}")
        self._deserialize = deserialize
        return self

    @abstractmethod
    def build(self) -> ChangeSource:
        """The source."""

    # For the builders of single databases.

    def _capture_settings(self, databases: str) -> dict[str, Any]:
        """What all settings have; the database is connected to."""
        given = self._given
        for name, method in (("tables", "table_list"), ("username", "username")):
            if not given.get(name):
                raise GraphError(f"a source of {self.product} needs {name}: call {method}()")
        url = JdbcUrl(
            self.product,
            given.get("hostname", "localhost"),
            given.get("port", self.default_port),
            databases,
            tuple(self._properties.items()),
        )
        options = JdbcConnectionOptions(
            url, user_name=given["username"], password=given.get("password")
        )
        if "wait_for_server_s" in given:
            options = replace(options, wait_for_server_s=given["wait_for_server_s"])
        require_driver(options)
        return {"connection_options": options, "tables": self._pattern(), **self._settings}

    def _pattern(self) -> str:
        """A regular expression for full names of tables."""
        tables = "|".join(f"(?:{t})" for t in self._given["tables"])
        spaces = "|".join(f"(?:{s})" for s in self._given.get("spaces", ()))
        pattern = rf"(?=(?:{spaces})\.)(?:{tables})" if spaces else tables
        try:
            return re.compile(pattern).pattern
        except re.error as error:
            raise GraphError(f"{pattern!r} is not a regular expression: {error}") from None

    def _text(self, name: str, value: str) -> Self:
        if not isinstance(value, str) or not value:
            raise FunctionTypeError(f"{name} is a str, not {value!r}")
        self._given[name] = value
        return self


def _positive(what: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise GraphError(f"{what} must be a positive int, not {value!r}")
    return value
