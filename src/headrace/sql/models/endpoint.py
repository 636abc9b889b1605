"""An HTTP endpoint that takes and gives JSON: connections that stay open, deadlines, retries."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

__all__ = ["Endpoint", "EndpointError"]

_PASSING = frozenset({408, 409, 429})
"""Answers besides those of the server's own faults after which the same request may succeed."""

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_SHOWN = 500


class EndpointError(Exception):
    """No usable answer; `status` and `headers` are those of the last one, if there was one."""

    def __init__(
        self,
        message: str,
        status: int | None = None,
        headers: Mapping[str, list[str]] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers

    def __reduce__(self) -> Any:
        return EndpointError, (str(self), self.status, self.headers)


@dataclass
class Endpoint:
    """Where requests go. Used by several threads at once.

    Attributes:
        url: The whole address.
        headers: Of every request.
        attempts: How often a request is tried.
        clock: Seconds that only rise.
        sleep: How a pause is made; by default it ends early when the endpoint is closed.
    """

    url: str
    headers: dict[str, str]
    attempts: int = 1
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] | None = None

    def __post_init__(self) -> None:
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue()
        self._open: list[http.client.HTTPConnection] = []
        self._closed = threading.Event()

    def post(self, body: Mapping[str, Any], timeout_s: float) -> Any:
        """The answer to a request, within a time for all attempts together."""
        data = json.dumps(body).encode()
        deadline = self.clock() + timeout_s
        for attempt in range(1, self.attempts + 1):
            try:
                return self._posted(data, max(deadline - self.clock(), 0.001))
            except EndpointError as error:
                pause = _pause(error, attempt)
                if pause is None or attempt == self.attempts or self._closed.is_set():
                    raise
                if self.clock() + pause >= deadline:
                    raise EndpointError(
                        f"no answer within {timeout_s:g} s: {error}", error.status, error.headers
                    ) from error
                (self.sleep or self._closed.wait)(pause)
        raise AssertionError

    def _posted(self, data: bytes, timeout_s: float) -> Any:
        connection = self._connection(timeout_s)
        used = connection.sock is not None
        try:
            connection.request("POST", _target(self.url), data, self.headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if used and not self._closed.is_set() and isinstance(error, ConnectionError):
                # The server has closed a connection that was open for long: that is not a failure.
                return self._posted(data, timeout_s)
            raise EndpointError(f"{self.url} did not answer: {error or repr(error)}") from error
        self._idle.put(connection)
        if answer.status >= 300:
            headers: dict[str, list[str]] = {}
            for name, value in answer.getheaders():
                headers.setdefault(name, []).append(value)
            shown = content.decode(errors="replace")[:_SHOWN]
            raise EndpointError(
                f"{self.url} answered {answer.status}: {shown}", answer.status, headers
            )
        try:
            return json.loads(content)
        except ValueError as error:
            raise EndpointError(f"{self.url} did not answer with JSON: {error}") from error

    def _connection(self, timeout_s: float) -> http.client.HTTPConnection:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            parts = urlsplit(self.url)
            secure = parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(parts.netloc, timeout=timeout_s)
            self._open.append(connection)
            return connection
        connection.timeout = timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        return connection

    def close(self) -> None:
        """End all connections; requests that wait for an answer fail."""
        self._closed.set()
        for connection in self._open:
            # Other threads may be reading: only a shutdown wakes them up.
            with contextlib.suppress(OSError):
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def _pause(error: EndpointError, attempt: int) -> float | None:
    """How long the next attempt waits; None if it would fail as well."""
    status = error.status
    if status is not None and status < 500 and status not in _PASSING:
        return None
    asked = (error.headers or {}).get("Retry-After", [""])[0]
    if asked.isdigit():
        return float(asked)
    longest = min(_FIRST_PAUSE_S * 2.0 ** min(attempt - 1, 10), _LONGEST_PAUSE_S)
    # Subtasks that failed together do not come back together.
    return longest * random.uniform(0.75, 1.0)
