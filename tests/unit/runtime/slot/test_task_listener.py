"""Tasks call a slot by its unix socket or over TCP, and must know the token of the job."""

from __future__ import annotations

import errno
import queue
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from headrace.runtime.exchange.wire import MessageSocket
from headrace.runtime.slot.protocol import TaskRequest
from headrace.runtime.slot.task_listener import TaskListener, connect

LIMIT_S = 120.0
REQUEST = TaskRequest(1, 7, "vertex", 0)

Tasks = queue.Queue[tuple[MessageSocket, TaskRequest]]


@pytest.fixture
def tasks() -> Tasks:
    return queue.Queue()


@pytest.fixture
def listener(tmp_path: Path, tasks: Tasks) -> TaskListener:
    started = TaskListener(
        str(tmp_path / "slot"), "127.0.0.1", "secret", lambda c, r: tasks.put((c, r))
    )
    started.start()
    return started


@pytest.mark.parametrize("here", [True, False], ids=["on this host", "on another host"])
def test_a_signed_request_is_taken(listener: TaskListener, tasks: Tasks, here: bool) -> None:
    path = listener.path if here else "/on/another/host"
    channel = connect(path, listener.tcp_address)
    channel.send(REQUEST.signed("secret").to_json())
    channel.send(b"data")
    slot_end, request = tasks.get(timeout=LIMIT_S)
    assert (request.epoch, request.vertex) == (7, "vertex")
    assert slot_end.receive() == b"data"
    channel.close()
    slot_end.close()


@pytest.mark.parametrize(
    "said",
    [REQUEST.to_json(), REQUEST.signed("guess").to_json(), b"[]", b"hello", b"{}"],
    ids=["unsigned", "signed with a guess", "no request", "no JSON", "nothing in it"],
)
def test_a_stranger_is_let_go(listener: TaskListener, tasks: Tasks, said: bytes) -> None:
    channel = connect(listener.path, None)
    channel.send(said)
    with pytest.raises(EOFError):
        channel.receive()
    channel.close()
    assert tasks.empty()


def test_a_silent_stranger_keeps_nobody_waiting(listener: TaskListener, tasks: Tasks) -> None:
    assert listener.tcp_address is not None
    with socket.create_connection(listener.tcp_address):
        channel = connect("/on/another/host", listener.tcp_address)
        channel.send(REQUEST.signed("secret").to_json())
        slot_end, _ = tasks.get(timeout=LIMIT_S)
        channel.close()
        slot_end.close()


def test_a_long_message_of_a_stranger_is_not_read(listener: TaskListener, tasks: Tasks) -> None:
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(LIMIT_S)
        stranger.connect(listener.path)
        stranger.sendall(struct.pack("<I", 1 << 30) + b"x")
        assert stranger.recv(10) == b""


def test_many_strangers_keep_nobody_out(listener: TaskListener, tasks: Tasks) -> None:
    assert listener.tcp_address is not None
    strangers = [socket.create_connection(listener.tcp_address, LIMIT_S) for _ in range(80)]
    assert strangers[0].recv(10) == b"", "who came first makes room"
    channel = connect("/on/another/host", listener.tcp_address)
    channel.send(REQUEST.signed("secret").to_json())
    slot_end, _ = tasks.get(timeout=LIMIT_S)
    for connection in (channel, slot_end, *strangers):
        connection.close()


def test_a_signature_is_for_one_request() -> None:
    signed = REQUEST.signed("secret")
    other = TaskRequest(1, 8, "vertex", 0, signed.signature)
    assert signed.is_signed_with("secret")
    assert not other.is_signed_with("secret")
    assert "secret" not in signed.to_json().decode()


def test_tasks_are_taken_after_a_failure_to_accept_one(
    tmp_path: Path, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = iter([OSError(errno.EMFILE, "Too many open files"), ConnectionAbortedError()])
    accept = socket.socket.accept

    def fails_first(listener: socket.socket) -> tuple[socket.socket, Any]:
        for failure in failures:
            raise failure
        return accept(listener)

    monkeypatch.setattr(socket.socket, "accept", fails_first)
    started = TaskListener(str(tmp_path / "slot"), None, "secret", lambda c, r: tasks.put((c, r)))
    started.start()
    channel = connect(started.path, None)
    channel.send(REQUEST.signed("secret").to_json())
    slot_end, _ = tasks.get(timeout=LIMIT_S)
    channel.close()
    slot_end.close()
