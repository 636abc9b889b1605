"""Bytes on the way: frames between subtasks, and messages on a socket.

A frame is a fixed header, which Spark's tasks read to pass it on, and a payload that only the
receiving slot opens.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from headrace.common.types import Row, RowKind, field_names_of, make_rows, values_of
from headrace.runtime.batch import (
    Batch,
    ColumnBatch,
    Element,
    EndMark,
    LatencyMark,
    StatusMark,
    WatermarkMark,
)
from headrace.runtime.pickling import dumps, first_unpicklable

_HEADER = struct.Struct("<HIHII")
_LENGTH = struct.Struct("<I")

HEADER_SIZE = _HEADER.size
EMPTY_SIZE = HEADER_SIZE + len(pickle.dumps([], 5))
"""Of a frame without elements: a barrier alone."""
_LAST = 1 << 31

_BATCH, _WATERMARK, _STATUS, _END, _ROWS, _LATENCY, _COLUMNS = range(7)

_kind_of = attrgetter("_row_kind")


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """Where a frame goes to and comes from; `sequence` counts a channel's frames in an epoch.

    `last` says that the channel has nothing more in this epoch: the barrier, where frames of one
    epoch after the other take the same way.
    """

    level: int
    partition: int
    edge: int
    sender: int
    sequence: int
    last: bool = False


def encode_frame(header: FrameHeader, elements: list[Element]) -> bytes:
    """Header and payload."""
    try:
        payload = dumps([_pack(e) for e in elements])
    except Exception as error:
        raise _unpicklable(elements, error) from error
    return encode_header(header) + payload


def encode_header(header: FrameHeader) -> bytes:
    """A header alone."""
    h = header
    sequence = h.sequence | _LAST if h.last else h.sequence
    return _HEADER.pack(h.level, h.partition, h.edge, h.sender, sequence)


def _unpicklable(elements: list[Element], error: Exception) -> Exception:
    # Late, since Spark's workers import this module only to read headers.
    from headrace.common.errors import HeadraceError
    from headrace.runtime.failure import NO_RECORD, UserCodeFailure

    refused = HeadraceError(
        f"a record cannot be pickled, so it cannot go to the next task ({type(error).__name__}: "
        f"{error}); emit plain values instead, and the elements of a generator one by one with "
        "flat_map()"
    )
    where = "sending records to the next task"
    batches = [e for e in elements if type(e) is Batch]
    values = (v for b in batches for v in (*b.values, *(b.keys or ())))
    return UserCodeFailure.of(refused, first_unpicklable(values, NO_RECORD), where)


def read_header(frame: bytes) -> FrameHeader:
    """The header of a frame."""
    level, partition, edge, sender, sequence = _HEADER.unpack_from(frame)
    return FrameHeader(level, partition, edge, sender, sequence & ~_LAST, sequence >= _LAST)


def destination(frame: bytes, at: int = 0) -> tuple[int, int]:
    """Level and partition only: what a Spark task needs to pass a frame on."""
    level, partition, *_ = _HEADER.unpack_from(frame, at)
    return level, partition


def decode_payload(frame: bytes) -> list[Element]:
    """The elements of a frame, in order."""
    return [_unpack(e) for e in pickle.loads(memoryview(frame)[HEADER_SIZE:])]


def _pack(element: Element) -> tuple[Any, ...]:
    if type(element) is Batch:
        if element.values and type(element.values[0]) is Row:
            return _pack_rows(element)
        return (_BATCH, element.values, element.timestamps, element.keys)
    if type(element) is ColumnBatch:
        return (_COLUMNS, element.columns, element.decode)
    if type(element) is WatermarkMark:
        return (_WATERMARK, element.timestamp)
    if type(element) is StatusMark:
        return (_STATUS, element.idle)
    if type(element) is LatencyMark:
        return (_LATENCY, element.marked_ms, element.source)
    return (_END,)


def _pack_rows(batch: Batch) -> tuple[Any, ...]:
    """Rows of the same names and kind without their shells: each would cost a call of Python."""
    rows: list[Any] = batch.values
    alike = (
        len(set(map(type, rows))) == 1
        and len(set(map(id, map(field_names_of, rows)))) == 1
        and len(set(map(_kind_of, rows))) == 1
    )
    if not alike:
        return (_BATCH, rows, batch.timestamps, batch.keys)
    names, kind = field_names_of(rows[0]), rows[0].get_row_kind()
    return (_ROWS, list(map(values_of, rows)), batch.timestamps, batch.keys, names, kind.value)


def _unpack_rows(packed: tuple[Any, ...]) -> Batch:
    _, rows, timestamps, keys, names, kind_value = packed
    return Batch(make_rows(rows, names, RowKind(kind_value)), timestamps, keys)


def _unpack(packed: tuple[Any, ...]) -> Element:
    kind = packed[0]
    if kind == _BATCH:
        return Batch(packed[1], packed[2], packed[3])
    if kind == _ROWS:
        return _unpack_rows(packed)
    if kind == _COLUMNS:
        _, columns, decode = packed
        if decode is None:
            return ColumnBatch(columns)
        rows, keys = decode(columns)
        return Batch(rows, None, keys)
    if kind == _WATERMARK:
        return WatermarkMark(packed[1])
    if kind == _LATENCY:
        return LatencyMark(packed[1], packed[2])
    return StatusMark(packed[1]) if kind == _STATUS else EndMark()


class PeerGoneError(EOFError):
    """The other end of a connection is gone. An error of this side is never one."""


class MessageSocket:
    """Length-prefixed messages over a stream socket; an empty one marks the end of a sequence."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = sock.makefile("rb", buffering=1 << 18)

    def send(self, message: bytes) -> None:
        if len(message) < 1 << 14:
            self._send(_LENGTH.pack(len(message)) + message)
        else:
            self._send(_LENGTH.pack(len(message)))
            self._send(message)

    def send_end(self) -> None:
        self._send(_LENGTH.pack(0))

    def _send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise PeerGoneError(str(error)) from error

    def receive(self, most: int | None = None) -> bytes | None:
        """The next message, None at the end of a sequence.

        Args:
            most: Bytes that it may have; one that is longer is not read and a ValueError.
        """
        head = self._read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise PeerGoneError("the connection was closed")
        (length,) = _LENGTH.unpack(head)
        if length == 0:
            return None
        if most is not None and length > most:
            raise ValueError(f"a message of {length} bytes, where {most} are allowed")
        message = self._read(length)
        if len(message) < length:
            raise PeerGoneError("the connection was closed inside a message")
        return message

    def _read(self, length: int) -> bytes:
        try:
            data: bytes = self._reader.read(length)
        except OSError as error:
            raise PeerGoneError(str(error)) from error
        return data

    def bare(self) -> socket.socket:
        """The socket, for who goes on without messages; nothing was sent after the last one."""
        self._reader.close()
        return self._sock

    def shut_down(self) -> None:
        """Make all waiting readers, on either side of the connection, see that it has ended."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._reader.close()
        self._sock.close()
