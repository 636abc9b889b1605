"""Frames between subtasks, and messages on a socket."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.common.types import Row, RowKind
from headrace.runtime.batch import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Batch,
    Element,
    EndMark,
    StatusMark,
    WatermarkMark,
)
from headrace.runtime.exchange.wire import (
    HEADER_SIZE,
    FrameHeader,
    MessageSocket,
    PeerGoneError,
    decode_payload,
    destination,
    encode_frame,
    read_header,
)
from headrace.runtime.failure import UserCodeFailure

Template = Row("a", "b")
HEADER = FrameHeader(level=3, partition=70_000, edge=9, sender=40_000, sequence=1 << 20)


def same(one: Element, other: Element) -> bool:
    if isinstance(one, Batch) and isinstance(other, Batch):
        return (one.values, one.timestamps, one.keys) == (
            other.values,
            other.timestamps,
            other.keys,
        )
    return one == other


def test_a_frame_carries_its_header_and_elements() -> None:
    elements: list[Element] = [
        Batch([1, "a", None], [1, None, 3], ["k", 2, (1,)]),
        WatermarkMark(MIN_TIMESTAMP),
        Batch([[]]),
        StatusMark(True),
        StatusMark(False),
        WatermarkMark(MAX_TIMESTAMP),
        EndMark(),
    ]
    frame = encode_frame(HEADER, elements)
    assert read_header(frame) == HEADER
    assert destination(frame) == (3, 70_000)
    decoded = decode_payload(frame)
    assert len(decoded) == len(elements)
    assert all(map(same, decoded, elements))


def test_a_frame_is_longer_than_any_short_answer() -> None:
    assert len(encode_frame(HEADER, [EndMark()])) > HEADER_SIZE


@pytest.mark.parametrize(
    "rows",
    [
        [Row(a=1, b="x"), Row(a=2, b=None)],
        [Row(1, "x"), Row(2, [Row(3)])],
        [Row.of_kind(RowKind.DELETE, 1), Row.of_kind(RowKind.DELETE, 2)],
        [Row.of_kind(RowKind.DELETE, 1), Row(2)],
        [Row(a=1), Row(2), None, "text"],
        [Template(1, "x"), Template(2, "y")],
    ],
)
def test_rows_keep_names_and_kinds(rows: list[Any]) -> None:
    (batch,) = decode_payload(encode_frame(HEADER, [Batch(rows, [1] * len(rows), ["k"])]))
    assert isinstance(batch, Batch)
    assert batch.values == rows
    assert [getattr(row, "_fields", 0) for row in batch.values] == [
        getattr(row, "_fields", 0) for row in rows
    ]
    assert (batch.timestamps, batch.keys) == ([1] * len(rows), ["k"])


def test_a_class_of_a_function_travels() -> None:
    class Local:
        def __init__(self, x: int) -> None:
            self.x = x

    (batch,) = decode_payload(encode_frame(HEADER, [Batch([Local(5)])]))
    assert isinstance(batch, Batch)
    assert batch.values[0].x == 5


def test_a_record_that_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()
    with pytest.raises(UserCodeFailure) as caught:
        encode_frame(HEADER, [EndMark(), Batch([1, {"lock": lock}, 3])])
    assert isinstance(caught.value.cause, HeadraceError)
    assert "cannot be pickled" in str(caught.value.cause)
    assert "lock" in (caught.value.record or "")


def test_a_generator_as_a_record_says_what_to_do() -> None:
    with pytest.raises(UserCodeFailure) as caught:
        encode_frame(HEADER, [Batch([(n for n in "ab")])])
    assert "flat_map" in str(caught.value.cause)


def sockets() -> tuple[MessageSocket, MessageSocket]:
    one, other = socket.socketpair()
    return MessageSocket(one), MessageSocket(other)


def test_messages_arrive_whole_and_in_order() -> None:
    sender, receiver = sockets()
    messages = [b"a", b"x" * 100_000, b"bc"]

    def send() -> None:
        for message in messages:
            sender.send(message)
        sender.send_end()
        sender.send(b"after")
        sender.close()

    thread = threading.Thread(target=send)
    thread.start()
    received = []
    while (message := receiver.receive()) is not None:
        received.append(message)
    assert received == messages
    assert receiver.receive() == b"after"
    with pytest.raises(EOFError):
        receiver.receive()
    thread.join()
    receiver.close()


def test_a_broken_connection_is_a_peer_that_is_gone() -> None:
    one, other = socket.socketpair()
    sender = MessageSocket(one)
    other.close()
    with pytest.raises(PeerGoneError):
        sender.send(b"x" * 100_000)
    sender.close()


def test_a_connection_that_ends_inside_a_message_is_an_error() -> None:
    one, other = socket.socketpair()
    receiver = MessageSocket(other)
    one.sendall(b"\x0a\x00\x00\x00abc")
    one.close()
    with pytest.raises(EOFError, match="inside a message"):
        receiver.receive()
    receiver.close()
