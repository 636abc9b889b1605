"""What a slot does with tasks that call it."""

from __future__ import annotations

import socket
from typing import Any, cast
from unittest.mock import Mock

import pytest

from headrace.common.errors import HeadraceError
from headrace.graph.ids import SlotId
from headrace.runtime.epoch import EpochPlan
from headrace.runtime.exchange.frame_queue import FrameMemory
from headrace.runtime.exchange.wire import MessageSocket
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.live_epochs import LiveEpochs
from headrace.runtime.slot.protocol import LIVE_INPUT, LIVE_OUTPUT, REFUSED, TaskRequest


class Slot:
    """Its epochs, and what it has said."""

    def __init__(self) -> None:
        self.said: list[Any] = []
        self.worker = Mock(memory=FrameMemory(), broken=False)
        self.epochs = LiveEpochs(SlotId(0), self.worker, self.said.append)

    def call(self, number: int, role: str, *, gone: bool = False) -> socket.socket:
        """A task calls; its end of the connection."""
        near, far = socket.socketpair()
        if gone:
            far.close()
        request = TaskRequest(0, number, "", 0, role)
        self.epochs.called(request)
        self.epochs.connected(MessageSocket(near), request)
        return far


@pytest.fixture
def slot() -> Slot:
    return Slot()


def test_a_task_that_is_refused_may_be_gone(slot: Slot) -> None:
    with slot.call(1, LIVE_INPUT):
        slot.call(1, LIVE_INPUT, gone=True)
        slot.epochs.handle(m.HangUp(1))
    assert set(slot.said) == {m.Connected(SlotId(0), 1, LIVE_INPUT)}


def test_tasks_of_a_job_that_has_ended_are_refused(slot: Slot) -> None:
    slot.epochs.handle(m.HangUp(1))
    with slot.call(1, LIVE_OUTPUT) as refused:
        assert MessageSocket(refused).receive() == REFUSED
    with slot.call(2, LIVE_OUTPUT) as taken:
        taken.setblocking(False)
        with pytest.raises(BlockingIOError):
            taken.recv(1)


def test_the_end_of_an_earlier_job_does_not_end_the_next_one(slot: Slot) -> None:
    with slot.call(2, LIVE_OUTPUT) as task:
        slot.epochs.handle(m.HangUp(1))
        slot.epochs.handle(m.Probe(1))
        task.setblocking(False)
        with pytest.raises(BlockingIOError):
            task.recv(1)
        slot.epochs.handle(m.HangUp(2))
        assert task.recv(1) == b""


def test_what_fails_outside_of_a_subtask_fails_the_job(slot: Slot) -> None:
    error = HeadraceError("no space left")
    slot.worker.run_live.side_effect = error
    slot.epochs.handle(m.RunEpoch(cast(EpochPlan, None)))
    slot.worker.fail.assert_called_once_with(error)
