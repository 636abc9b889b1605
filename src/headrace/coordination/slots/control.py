"""The job master's end of the control connections."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from headrace.graph.ids import SlotId
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.strangers import PATIENCE_S, Strangers, hang_up

_log = logging.getLogger(__name__)


class ControlServer:
    """Accepts slots of one attempt at a job and passes their messages on.

    `on_message` is called on the connection's thread, in the order in which a slot sent; `on_lost`
    when a connection breaks before the slot said goodbye. What `on_message` raises is trouble of
    this process and says nothing about the slot: `on_error` is told.
    """

    def __init__(
        self,
        address: str | tuple[str, int],
        token: str,
        attempt: int,
        on_message: Callable[[Any], None],
        on_lost: Callable[[SlotId], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._listener = Listener(address, backlog=64)
        self._token = token.encode()
        self.address: Any = self._listener.address
        self._attempt = attempt
        self._on_message = on_message
        self._on_lost = on_lost
        self._on_error = on_error
        self._lock = threading.Lock()
        self._strangers = Strangers()
        self._slots: dict[SlotId, Connection] = {}
        self.hellos: dict[SlotId, m.Hello] = {}
        self._closed = False
        threading.Thread(target=self._accept, daemon=True, name="headrace-control").start()

    def send(self, slot: SlotId, message: Any) -> None:
        """Send to a slot; one that is gone is reported by `on_lost`, not here."""
        connection = self._slots.get(slot)
        if connection is not None:
            with contextlib.suppress(OSError), self._lock:
                connection.send_bytes(pickle.dumps(message, 5))

    def broadcast(self, message: Any) -> None:
        """Send to all slots."""
        data = pickle.dumps(message, 5)
        for connection in list(self._slots.values()):
            with contextlib.suppress(OSError), self._lock:
                connection.send_bytes(data)

    def close(self) -> None:
        """Cut all connections: slots end by themselves."""
        if self._closed:
            return
        self._closed = True
        address = self._listener.address
        with contextlib.suppress(OSError):
            _call(address)  # the thread that accepts would sleep for ever
        with contextlib.suppress(OSError):
            self._listener.close()
        for connection in list(self._slots.values()):
            hang_up(connection)
        if isinstance(address, str):
            with contextlib.suppress(OSError):
                os.unlink(address)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:
                if self._closed:
                    return
                continue
            self._strangers.add(connection)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: Connection) -> None:
        slot: SlotId | None = None
        ended = False
        if not self._knows_token(connection):
            connection.close()
            return
        while (message := self._received(connection)) is not None:
            if isinstance(message, m.Hello):
                if message.attempt != self._attempt or message.slot in self.hellos:
                    # Spark ran a start task twice, or an old slot came back: not one of ours.
                    connection.close()
                    return
                slot = message.slot
                self._slots[slot] = connection
                self.hellos[slot] = message
            ended = ended or isinstance(message, m.Closed)
            self._handle(message)
        connection.close()
        if slot is not None and not ended and not self._closed:
            self._on_lost(slot)

    def _received(self, connection: Connection) -> Any:
        """The next message; None if the other end is gone or cannot be understood any more."""
        try:
            return pickle.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return None
        except Exception as error:  # noqa: BLE001 - the job fails with it
            _log.exception("could not read what a slot sent")
            self._on_error(error)
            return None

    def _handle(self, message: Any) -> None:
        try:
            self._on_message(message)
        except Exception as error:  # noqa: BLE001 - the job fails with it
            _log.exception("could not handle what a slot sent")
            self._on_error(error)

    def _knows_token(self, connection: Connection) -> bool:
        """Whether it is one of ours; not asked where calls are taken, since a stranger is slow."""
        try:
            _wait_at_most(connection, PATIENCE_S)
            deliver_challenge(connection, self._token)
            answer_challenge(connection, self._token)
            _wait_at_most(connection, 0)
        except (AuthenticationError, EOFError, OSError) as error:
            if not self._closed:
                _log.warning("refused a control connection: %s", error)
            return False
        finally:
            self._strangers.remove(connection)
        return True


def _wait_at_most(connection: Connection, seconds: float) -> None:
    """How long a read may take; 0 for any time. An error of a read that took longer is an OSError.

    Not a timeout of Python's: that makes the connection one that does not block.
    """
    limit = struct.pack("ll", int(seconds), 0)
    with socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def _call(address: str | tuple[str, int]) -> None:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as sock:
        sock.connect(address)
