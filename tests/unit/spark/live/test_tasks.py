"""What Spark's Python workers do with the connections to slots while a job is live."""

from __future__ import annotations

import io
import socket

import pytest

from headrace.runtime.exchange.live import KEYED
from headrace.runtime.exchange.wire import MessageSocket
from headrace.runtime.slot.protocol import REFUSED
from headrace.spark.live.tasks import OutputOfSlots

FRAME = KEYED.pack(8, 0, 5) + b"frame"


def passed_on(*sent: bytes) -> bytes:
    """What goes to Spark of what slots send before they hang up."""
    stream = io.BytesIO()
    slots = [socket.socketpair() for _ in sent]
    for (_, slot), data in zip(slots, sent, strict=True):
        slot.sendall(data)
        slot.close()
    try:
        OutputOfSlots(None)._pass_on([task for task, _ in slots], stream)  # type: ignore[arg-type]
    finally:
        for task, _ in slots:
            task.close()
    return stream.getvalue()


def test_frames_of_all_slots_are_passed_on() -> None:
    assert passed_on(2 * FRAME, FRAME) == 3 * FRAME


@pytest.mark.parametrize("cut", [3, KEYED.size, len(FRAME) - 1])
def test_a_connection_that_breaks_within_a_frame_fails_the_task(cut: int) -> None:
    with pytest.raises(ConnectionError, match="broke within a frame"):
        passed_on(FRAME + FRAME[:cut])


def test_a_task_that_a_slot_refuses_fails() -> None:
    near, far = socket.socketpair()
    MessageSocket(near).send(REFUSED)
    said = far.recv(100)
    near.close()
    far.close()
    with pytest.raises(ConnectionError, match="has served another task"):
        passed_on(said)
