"""Connections of those who have not shown yet who they are."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Protocol

__all__ = ["PATIENCE_S", "Strangers", "hang_up"]

PATIENCE_S = 30.0
"""How long a stranger may say nothing."""

_MOST = 64


class _Connection(Protocol):
    def fileno(self) -> int: ...


class Strangers:
    """Keeps a port free for its own: when too many strangers wait, the one who came first goes.

    Whoever knows the token says so at once, so it is not those who are made to go.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._waiting: list[_Connection] = []

    def add(self, connection: _Connection) -> None:
        """Note that a client has connected."""
        with self._lock:
            if len(self._waiting) >= self._most:
                hang_up(self._waiting.pop(0))
            self._waiting.append(connection)

    def remove(self, connection: _Connection) -> None:
        """It is known who it is, or the connection is about to be closed."""
        with self._lock, contextlib.suppress(ValueError):
            self._waiting.remove(connection)


def hang_up(connection: _Connection) -> None:
    """Let whoever reads from a connection find its end, and close it.

    Closing it from here would give its number to whoever opens the next file, while that thread may
    still be about to read from it.
    """
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.shutdown(socket.SHUT_RDWR)
