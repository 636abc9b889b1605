"""Control connections: who may connect, what is passed on, who is missed."""

from __future__ import annotations

import pickle
import socket
import threading
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from headrace.coordination.slots import control
from headrace.coordination.slots.control import ControlServer
from headrace.graph.ids import SlotId
from headrace.runtime.slot import messages as m


class Master:
    """Keeps what the server tells."""

    def __init__(self, directory: Path) -> None:
        self.changed = threading.Condition()
        self.messages: list[Any] = []
        self.lost: list[SlotId] = []
        self.errors: list[Exception] = []
        self.trouble: Exception | None = None
        self.server = ControlServer(
            str(directory / "control"), "token", 1, self._keep, self._lose, self._err
        )

    def _keep(self, message: Any) -> None:
        if self.trouble is not None:
            raise self.trouble
        with self.changed:
            self.messages.append(message)
            self.changed.notify_all()

    def _err(self, error: Exception) -> None:
        with self.changed:
            self.errors.append(error)
            self.changed.notify_all()

    def _lose(self, slot: SlotId) -> None:
        with self.changed:
            self.lost.append(slot)
            self.changed.notify_all()

    def wait_for(self, condition: Any) -> bool:
        with self.changed:
            return bool(self.changed.wait_for(condition, 10))


@pytest.fixture
def master(tmp_path: Path) -> Any:
    master = Master(tmp_path)
    yield master
    master.server.close()


def connect(master: Master, slot: int, attempt: int = 1) -> Any:
    connection = Client(master.server.address, authkey=b"token")
    connection.send_bytes(pickle.dumps(m.Hello(SlotId(slot), attempt, 1, "host", "/socket")))
    return connection


def test_trouble_of_the_master_itself_is_not_a_lost_slot(master: Master) -> None:
    connection = connect(master, 0)
    assert master.wait_for(lambda: len(master.messages) == 1)
    master.trouble = OSError(5, "Input/output error")
    connection.send_bytes(pickle.dumps(m.Pong(SlotId(0))))
    assert master.wait_for(lambda: master.errors == [master.trouble])
    master.trouble = None
    connection.send_bytes(pickle.dumps(m.Ready(SlotId(0))))
    assert master.wait_for(lambda: master.messages[-1:] == [m.Ready(SlotId(0))])
    assert master.lost == []


def test_slots_say_hello_and_get_what_is_for_them(master: Master) -> None:
    one, two = connect(master, 0), connect(master, 1)
    assert master.wait_for(lambda: len(master.messages) == 2)
    assert set(master.server.hellos) == {0, 1}
    master.server.send(SlotId(1), m.Close())
    assert isinstance(pickle.loads(two.recv_bytes()), m.Close)
    master.server.broadcast(m.Deploy(b"job"))
    for connection in (one, two):
        assert pickle.loads(connection.recv_bytes()) == m.Deploy(b"job")


def test_a_slot_that_breaks_off_is_missed(master: Master) -> None:
    connection = connect(master, 3)
    assert master.wait_for(lambda: master.messages)
    connection.close()
    assert master.wait_for(lambda: master.lost == [3])


def test_a_slot_that_said_goodbye_is_not_missed(master: Master) -> None:
    connection, other = connect(master, 3), connect(master, 4)
    connection.send_bytes(pickle.dumps(m.Closed(SlotId(3))))
    assert master.wait_for(lambda: len(master.messages) == 3)
    connection.close()
    other.close()
    assert master.wait_for(lambda: master.lost == [4])


def test_a_second_slot_of_one_number_and_old_ones_are_refused(master: Master) -> None:
    first = connect(master, 0)
    assert master.wait_for(lambda: master.messages)
    for again in (connect(master, 0), connect(master, 5, attempt=7)):
        with pytest.raises((EOFError, OSError)):
            again.recv_bytes()
    assert len(master.messages) == 1
    assert master.lost == []
    first.close()


def test_strangers_are_refused(master: Master) -> None:
    with pytest.raises(AuthenticationError):
        Client(master.server.address, authkey=b"guess")
    first = connect(master, 0)
    assert master.wait_for(lambda: len(master.messages) == 1)
    first.close()


def test_a_slot_that_is_not_there_gets_nothing(master: Master) -> None:
    master.server.send(SlotId(9), m.Close())


def test_a_silent_stranger_is_let_go(master: Master, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE_S", 1)
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(30)
        stranger.connect(master.server.address)
        while stranger.recv(1000):
            pass  # the challenge, and then the end
    slow = connect(master, 5)
    assert master.wait_for(lambda: master.messages)
    slow.close()
    assert master.wait_for(lambda: master.lost == [5])


def test_many_strangers_keep_no_slot_out(master: Master) -> None:
    strangers = []
    for _ in range(80):
        strangers.append(socket.socket(socket.AF_UNIX))
        strangers[-1].connect(master.server.address)
    while strangers[0].recv(1000):
        pass  # who came first makes room
    slot = connect(master, 5)
    assert master.wait_for(lambda: master.messages)
    for connection in (slot, *strangers):
        connection.close()


def test_a_message_that_cannot_be_read_is_an_error_at_once(master: Master) -> None:
    slot = connect(master, 0)
    slot.send_bytes(b"what two processes wrote at a time")
    assert master.wait_for(lambda: master.errors and master.lost == [0])
    slot.close()
