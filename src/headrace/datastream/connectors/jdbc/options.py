"""How a database is reached and how records are written to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.jdbc.url import JdbcUrl

__all__ = ["JdbcConnectionOptions", "JdbcExactlyOnceOptions", "JdbcExecutionOptions"]


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FunctionTypeError(f"{name} is an int, not {value!r}")
    if value < least:
        raise GraphError(f"{name} must be at least {least}, not {value!r}")
    return value


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """The database. Make one with `JdbcConnectionOptions.JdbcConnectionOptionsBuilder()`.

    Example:
        >>> shop = (
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://db.example:5432/shop")
        ...     .with_user_name("writer")
        ...     .with_password("secret")
        ...     .build()
        ... )
    """

    url: JdbcUrl
    driver_name: str | None = None
    user_name: str | None = None
    password: str | None = None
    wait_for_server_s: float = 300.0

    def get_db_url(self) -> str:
        """The URL, as it was given."""
        return self.url.given or str(self.url)

    def get_driver_name(self) -> str | None:
        """The name of a driver class, if one was given; it is not used."""
        return self.driver_name

    def get_user_name(self) -> str | None:
        """The user."""
        return self.user_name

    def get_password(self) -> str | None:
        """The password."""
        return self.password

    def __repr__(self) -> str:
        return f"JdbcConnectionOptions({self.url}, user {self.user_name!r})"

    class JdbcConnectionOptionsBuilder:
        """Builds connection options; the URL is needed."""

        def __init__(self) -> None:
            self._url: JdbcUrl | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None
            self._wait_s = 300.0

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The database: `jdbc:postgresql://host:port/database`, or with `mysql`, `mariadb`."""
            self._url = JdbcUrl.parse(url)
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Accepted: the URL says which Python driver is used."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The password."""
            self._password = password
            return self

        def with_wait_for_server(
            self, seconds: float
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """How long to wait for a server that cannot be reached before the job fails."""
            if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds < 0:
                raise GraphError(
                    f"the wait for the server must be a number of seconds, not {seconds!r}"
                )
            self._wait_s = float(seconds)
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options."""
            if self._url is None:
                raise GraphError("JDBC connection options need a URL: call with_url()")
            return JdbcConnectionOptions(
                self._url, self._driver_name, self._user_name, self._password, self._wait_s
            )


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """How records are written: batches of at most so many, tried again so often.

    Whatever the size, a batch is written when the epoch is over.
    """

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """Milliseconds after which a batch is written."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """Records in a batch."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """How often a batch that fails is tried again."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Batches of 5000, three retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """A builder that starts with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Builds execution options."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Write a batch when it has so many records."""
            self._options = replace(self._options, batch_size=_whole("batch_size", size, 1))
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accepted: a batch never waits longer than for the end of the epoch."""
            interval_ms = _whole("batch_interval_ms", interval_ms, 0)
            self._options = replace(self._options, batch_interval_ms=interval_ms)
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Try a batch that fails so often again; 0 for never."""
            max_retries = _whole("max_retries", max_retries, 0)
            self._options = replace(self._options, max_retries=max_retries)
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            return self._options


@dataclass(frozen=True)
class JdbcExactlyOnceOptions:
    """How an exactly-once sink names its transactions.

    Without a prefix they are named after the job, and a recovery cleans up what this job left. A
    prefix of your own also cleans up what runs before left that were never restored; no other job
    may use it at the same time.
    """

    transaction_id_prefix: str | None = None

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """No prefix."""
        return JdbcExactlyOnceOptions()

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        """A builder."""
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        """Builds the options."""

        def __init__(self) -> None:
            self._prefix: str | None = None

        def with_transaction_id_prefix(self, prefix: str) -> JdbcExactlyOnceOptions.Builder:
            """What the ids of all transactions of the sink begin with."""
            if not isinstance(prefix, str) or not 0 < len(prefix) <= 80:
                raise GraphError(
                    f"a transaction id prefix must have 1 to 80 characters, not {prefix!r}"
                )
            if not all(c.isalnum() or c in "-_." for c in prefix):
                raise GraphError(
                    "a transaction id prefix can contain letters, digits, '-', '_' and '.', "
                    f"unlike {prefix!r}"
                )
            self._prefix = prefix
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            """The options."""
            return JdbcExactlyOnceOptions(self._prefix)
