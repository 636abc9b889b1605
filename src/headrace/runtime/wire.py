"""Bytes on the way: frames between subtasks, and messages on a socket.

A frame is a fixed header, which Spark's tasks read to pass it on, and a payload that only the receiving
slot opens.
"""

from __future__ import annotations

import pickle
import socket
import struct
from dataclasses import dataclass
from typing import Any

from headrace.runtime.batch import Batch, Element, EndMark, StatusMark, WatermarkMark

_HEADER = struct.Struct("<HIHII")
_LENGTH = struct.Struct("<I")

HEADER_SIZE = _HEADER.size

_BATCH, _WATERMARK, _STATUS, _END = range(4)


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Where a frame goes and where it comes from; `sequence` counts the frames of a channel in an epoch."""

    level: int
    partition: int
    edge: int
    sender: int
    sequence: int


def encode_frame(header: FrameHeader, elements: list[Element]) -> bytes:
    """Header and payload."""
    return _HEADER.pack(
        header.level, header.partition, header.edge, header.sender, header.sequence
    ) + pickle.dumps([_pack(e) for e in elements], 5)


def read_header(frame: bytes) -> FrameHeader:
    """The header of a frame."""
    return FrameHeader(*_HEADER.unpack_from(frame))


def destination(frame: bytes) -> tuple[int, int]:
    """Level and partition only: what a Spark task needs to pass a frame on."""
    level, partition, *_ = _HEADER.unpack_from(frame)
    return level, partition


def decode_payload(frame: bytes) -> list[Element]:
    """The elements of a frame, in order."""
    return [_unpack(e) for e in pickle.loads(memoryview(frame)[HEADER_SIZE:])]


def _pack(element: Element) -> tuple[Any, ...]:
    if type(element) is Batch:
        return (_BATCH, element.values, element.timestamps, element.keys)
    if type(element) is WatermarkMark:
        return (_WATERMARK, element.timestamp)
    if type(element) is StatusMark:
        return (_STATUS, element.idle)
    return (_END,)


def _unpack(packed: tuple[Any, ...]) -> Element:
    kind = packed[0]
    if kind == _BATCH:
        return Batch(packed[1], packed[2], packed[3])
    if kind == _WATERMARK:
        return WatermarkMark(packed[1])
    return StatusMark(packed[1]) if kind == _STATUS else EndMark()


class MessageSocket:
    """Length-prefixed messages over a stream socket; an empty message marks the end of a sequence."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = sock.makefile("rb", buffering=1 << 18)

    def send(self, message: bytes) -> None:
        if len(message) < 1 << 14:
            self._sock.sendall(_LENGTH.pack(len(message)) + message)
        else:
            self._sock.sendall(_LENGTH.pack(len(message)))
            self._sock.sendall(message)

    def send_end(self) -> None:
        self._sock.sendall(_LENGTH.pack(0))

    def receive(self) -> bytes | None:
        """The next message, None at the end of a sequence; EOFError when the other side is gone."""
        head = self._reader.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise EOFError("the connection was closed")
        (length,) = _LENGTH.unpack(head)
        if length == 0:
            return None
        message = self._reader.read(length)
        if len(message) < length:
            raise EOFError("the connection was closed inside a message")
        return message

    def close(self) -> None:
        self._reader.close()
        self._sock.close()
