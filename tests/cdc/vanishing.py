"""A way to a server that can vanish: connections stay open, and nothing comes any more."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class VanishingServer:
    """Passes on what goes to and from a port of this machine, until it vanishes."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._peers: dict[socket.socket, socket.socket] = {}
        self._stopped = threading.Event()
        self._vanished = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def vanish(self) -> None:
        self._vanished.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            ready, _, _ = select.select([self._listening, *self._peers], [], [], 0.05)
            if self._vanished.is_set():
                self._stopped.wait()
            for one in ready:
                if one is self._listening:
                    client, server = (
                        one.accept()[0],
                        socket.create_connection(("127.0.0.1", self._to)),
                    )
                    self._peers |= {client: server, server: client}
                elif one in self._peers:
                    self._pass_on(one)

    def _pass_on(self, one: socket.socket) -> None:
        other = self._peers[one]
        data = one.recv(1 << 16)
        if data:
            other.sendall(data)
            return
        for end in (one, other):
            del self._peers[end]
            end.close()

    def close(self) -> None:
        self._stopped.set()
        self._thread.join()
        for end in (self._listening, *self._peers):
            end.close()


@contextmanager
def vanishing(port: int) -> Iterator[VanishingServer]:
    server = VanishingServer(port)
    try:
        yield server
    finally:
        server.close()
