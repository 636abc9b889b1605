"""What runs in Spark's Python workers while a job is live: frames from slots, and frames to them.

A task takes the output of all slots at its place, or brings their input. It serves them until all
of them have hung up.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from headrace.runtime.exchange.live import KEYED, LENGTH, slot_of
from headrace.runtime.slot.protocol import (
    LIVE_INPUT,
    LIVE_OUTPUT,
    REFUSED,
    Carriage,
    TaskRequest,
)
from headrace.runtime.slot.task_listener import connect

_READ_BYTES = 1 << 16
"""More would come from the system and go back to it with each call, whatever has come."""


class Produce:
    """The function of the first stage: says which task it is."""

    def __call__(self, index: int, _: Iterable[Any]) -> Iterator[int]:
        yield index


class OutputOfSlots:
    """Serialises the first stage: what slots send goes to the JVM as it is, at once.

    Slots write pairs of the receiving task and a frame as Spark reads them, and nothing else is
    written between the bytes of one.
    """

    def __init__(self, carriage: Carriage) -> None:
        self._carriage = carriage

    def dump_stream(self, iterator: Iterable[int], stream: Any) -> None:
        """Serve the slots of each task of the iterator, which has one."""
        for index in iterator:
            with _called(self._carriage, index, LIVE_OUTPUT) as connections:
                self._pass_on(connections.values(), stream)

    def _pass_on(self, connections: Iterable[socket.socket], stream: Any) -> None:
        with selectors.DefaultSelector() as selector:
            for connection in connections:
                selector.register(connection, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = key.fileobj.recv(_READ_BYTES)  # type: ignore[union-attr]
                    waiting: bytearray = key.data
                    if not chunk:
                        if waiting:
                            raise ConnectionError(_cut_short(waiting))
                        selector.unregister(key.fileobj)
                        continue
                    waiting += chunk
                    if whole := _whole_frames(waiting):
                        stream.write(waiting[:whole])
                        del waiting[:whole]
                stream.flush()


def _cut_short(data: bytearray) -> str:
    if len(data) < KEYED.size and data.endswith(REFUSED):
        return "the slot has served another task"
    return "the connection to the slot broke within a frame"


def _whole_frames(data: bytearray) -> int:
    """How many bytes whole frames take."""
    at = 0
    while len(data) - at >= KEYED.size:
        _, _, length = KEYED.unpack_from(data, at)
        if len(data) - at < KEYED.size + length:
            break
        at += KEYED.size + length
    return at


class StreamItself:
    """Deserialises the second stage: the stream from the JVM is what the task reads."""

    def load_stream(self, stream: Any) -> Iterator[Any]:
        """The stream."""
        yield stream


class InputOfSlots:
    """The function of the second stage: passes frames on to the slots of its place."""

    def __init__(self, carriage: Carriage) -> None:
        self._carriage = carriage

    def __call__(self, index: int, streams: Iterable[Any]) -> Iterator[Any]:
        with _called(self._carriage, index, LIVE_INPUT) as connections:
            self._pass_on(next(iter(streams)), connections)
        return iter(())

    def _pass_on(self, stream: Any, connections: dict[int, socket.socket]) -> None:
        places, read = self._carriage.places, stream.read
        while True:
            head = read(LENGTH.size)
            (length,) = LENGTH.unpack(head)
            if length < 0:
                return
            frame = read(length)
            connections[slot_of(frame, places)].sendall(head + frame)


@contextlib.contextmanager
def _called(carriage: Carriage, index: int, role: str) -> Iterator[dict[int, socket.socket]]:
    """Connections to the slots of a task."""
    with contextlib.ExitStack() as stack:
        connections = {}
        for slot, host in enumerate(carriage.hosts):
            if host == index:
                address = carriage.slots[slot]
                channel = connect(address.data_address, address.tcp_address)
                request = TaskRequest(carriage.attempt, carriage.number, "", slot, role)
                channel.send(request.signed(carriage.token).to_json())
                connections[slot] = stack.enter_context(channel.bare())
        yield connections
