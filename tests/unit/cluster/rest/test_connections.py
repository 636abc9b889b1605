"""The connections of a real REST server: silent ones are closed, and there are not too many."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cluster.rest.connections import GuardedConnection
from tests.unit.cluster.rest.rest_app import LIMIT, served

Address = tuple[str, int]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Address]:
    monkeypatch.setattr(GuardedConnection, "patience_s", 0.2)
    monkeypatch.setattr(GuardedConnection, "most", 3)
    with served(tmp_path / "cluster") as address:
        yield address


@pytest.mark.parametrize(
    "said", [b"", b"GET /jobs HT", b"GET /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n"]
)
def test_who_asks_for_nothing_is_let_go(address: Address, said: bytes) -> None:
    with socket.create_connection(address, timeout=120) as stranger:
        stranger.sendall(said)
        assert stranger.recv(1000) == b""


def test_who_asks_is_answered_again_and_again(address: Address) -> None:
    client = http.client.HTTPConnection(*address, timeout=120)
    for _ in range(3):
        client.request("GET", "/jobs")
        answer = client.getresponse()
        assert (answer.status, answer.read()[:8]) == (200, b'{"jobs":')
    client.close()


def test_there_are_not_too_many(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GuardedConnection, "patience_s", 60)
    few = [socket.create_connection(address, timeout=120) for _ in range(3)]
    with socket.create_connection(address, timeout=120) as one_more:
        assert _is_cut_off(one_more)
    few.pop().close()
    _ask_until_answered(address)
    for stranger in few:
        stranger.close()


def _is_cut_off(connection: socket.socket) -> bool:
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def _ask_until_answered(address: Address) -> None:
    """The server learns of the end of a connection in its own time."""
    while True:
        client = http.client.HTTPConnection(*address, timeout=120)
        try:
            client.request("GET", "/jobs")
            assert client.getresponse().status == 200
        except (OSError, http.client.BadStatusLine):
            continue
        finally:
            client.close()
        return


def test_a_body_without_a_length_that_is_too_long_is_refused(address: Address) -> None:
    client = http.client.HTTPConnection(*address, timeout=120)
    pieces = iter([b"x" * LIMIT, b"x"])
    client.request("POST", "/programs/x/run", pieces, encode_chunked=True)
    answer = client.getresponse()
    assert (answer.status, answer.headers["connection"]) == (413, "close")
    client.close()


def test_a_request_that_breaks_off_leaves_no_trace(
    address: Address, caplog: pytest.LogCaptureFixture
) -> None:
    request = b"POST /programs/x/run HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n{"
    with socket.create_connection(address, timeout=120) as client:
        client.sendall(request)
    # Answered after the other one has been noticed to be gone, on the same loop.
    _ask_until_answered(address)
    assert "Traceback" not in caplog.text
    assert not [r for r in caplog.records if r.exc_info]
