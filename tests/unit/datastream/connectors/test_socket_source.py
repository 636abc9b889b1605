from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.datastream.connectors.socket_source import SocketTextSource
from tests.unit.datastream.connectors.reading import drain, opened


@contextlib.contextmanager
def serving(*connections: list[bytes]) -> Iterator[int]:
    """A server that gives each connection its pieces and closes it; then it is gone."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for pieces in connections:
            connection, _ = listener.accept()
            with connection:
                for piece in pieces:
                    connection.sendall(piece)
        listener.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.close()
    thread.join(0.2)


def read(port: int, delimiter: str = "\n", max_retry: int = 0) -> list[str]:
    reader = opened(SocketTextSource("127.0.0.1", port, delimiter, max_retry))
    try:
        return drain(reader)
    finally:
        reader.close()


def test_lines_until_the_server_closes_the_connection() -> None:
    with serving([b"one\ntw", b"o\r\n\nthr\xc3", b"\xa9e"]) as port:
        assert read(port) == ["one", "two", "", "thrée"]


def test_a_delimiter_of_several_characters() -> None:
    with serving([b"a<", b">b\n<>c\r"]) as port:
        assert read(port, "<>") == ["a", "b\n", "c\r"]


def test_no_empty_record_after_the_last_delimiter() -> None:
    with serving([b"a\n"]) as port:
        assert read(port) == ["a"]


def test_connects_again_as_often_as_allowed() -> None:
    with serving([b"a\nb"], [b"c\nd\n"], [b"never read\n"]) as port:
        assert read(port, max_retry=1) == ["a", "bc", "d"]


def test_the_stream_ends_when_the_server_does_not_come_back() -> None:
    with serving([b"a\n"]) as port:
        assert read(port, max_retry=2) == ["a"]


def test_close_ends_a_reader_that_waits_for_data() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    reader = opened(SocketTextSource("127.0.0.1", listener.getsockname()[1], max_retry=-1))
    connection, _ = listener.accept()
    reader.close()
    assert not reader.running  # type: ignore[attr-defined]
    connection.close()
    listener.close()


def test_a_refused_connection_says_where_and_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(HeadraceError, match=rf"127\.0\.0\.1:{port}.*nc -lk {port}"):
        read(port)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("", 80), FunctionTypeError),
        (("h", 0), GraphError),
        (("h", 70000), GraphError),
        (("h", "80"), FunctionTypeError),
        (("h", 80, ""), FunctionTypeError),
        (("h", 80, "\n", -2), GraphError),
    ],
)
def test_wrong_arguments(arguments: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        SocketTextSource(*arguments)  # type: ignore[arg-type]
