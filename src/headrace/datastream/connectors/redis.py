"""Redis as a sink. It needs redis-py: `pip install 'headrace[redis]'`.

PyFlink has no connector for Redis; this one is headrace's own. Commands of a batch go to the server
in one pipeline, at least once: `SET`, `HSET`, `SADD` and others that may be repeated give exact
results, `INCRBY` and `RPUSH` may count twice after a failure.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import FunctionTypeError, HeadraceError
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.batched_writer import (
    BatchedWriter,
    BatchLimits,
    BatchRefusedError,
    Retries,
)
from headrace.datastream.connectors.client_library import client_library

__all__ = ["RedisSink"]

_PROBE_S = 5.0


@dataclass(frozen=True)
class RedisSink(Sink):
    """Sends a command for each record, at least once.

    Args:
        url: The server: `redis://user:password@host:port/database`, `rediss://` with TLS.
        command: Gives the command of a record, as a tuple: `("SET", key, value)`.
        batch_size: How many commands go to the server together.
        max_retries: How often a batch is sent again when the connection was lost.

    Example:
        >>> sink = RedisSink("redis://localhost:6379/0", lambda r: ("SET", r[0], r[1]))
        >>> stream.sink_to(sink)
    """

    url: str = field(repr=False)
    command: Callable[[Any], tuple[Any, ...]]
    batch_size: int = 1_000
    max_retries: int = 3

    def __post_init__(self) -> None:
        """Check the arguments where the user wrote them."""
        if not isinstance(self.url, str) or "://" not in self.url:
            raise FunctionTypeError("RedisSink takes a URL such as redis://host")
        if not callable(self.command):
            raise FunctionTypeError(
                f"RedisSink takes a function that gives a command, not {self.command!r}"
            )
        if self.batch_size < 1 or self.max_retries < 0:
            raise FunctionTypeError(
                "RedisSink takes a positive batch_size and a max_retries of at least 0, not "
                f"{self.batch_size!r} and {self.max_retries!r}"
            )

    def probe(self) -> str:
        """The server answers, and knows the user."""
        redis = client_library("redis", "redis", "redis")
        client = redis.Redis.from_url(
            self.url, socket_connect_timeout=_PROBE_S, socket_timeout=_PROBE_S
        )
        try:
            with contextlib.closing(client):
                client.ping()
        except redis.exceptions.AuthenticationError as error:
            raise HeadraceError(
                f"Redis at {self.place} refuses the user ({error}); correct user and password in "
                "the URL: redis://user:password@host:port/database"
            ) from error
        except redis.exceptions.RedisError as error:
            raise HeadraceError(
                f"Redis at {self.place} cannot be reached: {error}; start redis-server there, or "
                "correct the URL"
            ) from error
        return f"Redis at {self.place}"

    @property
    def place(self) -> str:
        """The server, without the password."""
        return self.url.split("://", 1)[1].rsplit("@", 1)[-1]

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _RedisWriter(self)


class _RedisWriter(BatchedWriter):
    def __init__(self, sink: RedisSink) -> None:
        super().__init__(BatchLimits(sink.batch_size), Retries(sink.max_retries))
        self._sink = sink
        self._client: Any = None

    def open(self) -> None:
        redis = client_library("redis", "redis", "redis")
        self._refusal = redis.exceptions.ResponseError
        self._client = redis.Redis.from_url(self._sink.url)

    def encode(self, values: list[Any]) -> list[Any]:
        return list(map(self._sink.command, values))

    def send(self, batch: Sequence[tuple[Any, ...]]) -> Sequence[Any]:
        with self._client.pipeline(transaction=False) as pipeline:
            for command in batch:
                pipeline.execute_command(*command)
            try:
                pipeline.execute()
            except self._refusal as error:
                raise BatchRefusedError(f"Redis refused a command: {error}") from error
        return ()

    def close(self) -> None:
        if self._client is not None:
            # It may be broken, and whatever broke it says more.
            with contextlib.suppress(Exception):
                self._client.close()
