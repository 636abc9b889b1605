"""Where a slot's tasks call: a unix socket, and on a cluster a TCP port for tasks elsewhere."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable

from headrace.runtime.exchange.wire import MessageSocket
from headrace.runtime.slot.protocol import TaskRequest
from headrace.runtime.slot.strangers import PATIENCE_S, Strangers

_LONGEST_REQUEST = 4096
_WAITING = 64
_RETRY_S = 0.05

Address = tuple[str, int]


class TaskListener:
    """Accepts connections and reads what they are about.

    A request must be signed with the token of the job. Whoever says nothing, or something else, is
    let go and keeps nobody waiting. Nothing that is longer than a request is read before.

    Args:
        path: The unix socket.
        host: The address of this machine that other hosts reach; None for the unix socket alone.
        token: The secret of the job.
        on_task: Takes a connection whose request is good, on a thread of its own.
    """

    def __init__(
        self,
        path: str,
        host: str | None,
        token: str,
        on_task: Callable[[MessageSocket, TaskRequest], None],
    ) -> None:
        self._token = token
        self._strangers = Strangers()
        self._on_task = on_task
        self.path = path
        self.tcp_address: Address | None = None
        self._listeners = [_unix(path)]
        if host is not None:
            listener = socket.create_server((host, 0), backlog=_WAITING)
            self._listeners.append(listener)
            self.tcp_address = (host, listener.getsockname()[1])

    def start(self) -> None:
        """Accept from now on."""
        for listener in self._listeners:
            threading.Thread(
                target=self._accept, args=(listener,), daemon=True, name="accept tasks"
            ).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                # The caller is gone already, or there is no file for the connection just now.
                time.sleep(_RETRY_S)
                continue
            self._strangers.add(connection)
            threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_S)
        channel = MessageSocket(connection)
        try:
            request = TaskRequest(**json.loads(channel.receive(_LONGEST_REQUEST) or b"{}"))
            known = request.is_signed_with(self._token)
        except (OSError, EOFError, ValueError, TypeError):
            known = False
        self._strangers.remove(connection)
        if not known:
            with contextlib.suppress(OSError):
                channel.close()
            return
        connection.settimeout(None)
        self._on_task(channel, request)


def connect(path: str, tcp_address: Address | None) -> MessageSocket:
    """Call a slot: by its unix socket where that is on this host, else over the network."""
    if tcp_address is None or os.path.exists(path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(path)
        return MessageSocket(sock)
    sock = socket.create_connection(tcp_address)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return MessageSocket(sock)


def _unix(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    previous = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(previous)
    listener.listen(_WAITING)
    return listener
