"""Epochs of a slot whose frames are carried by one job that outlives them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from headrace.common.errors import HeadraceError
from headrace.graph.ids import SlotId
from headrace.graph.physical_graph import PhysicalGraph
from headrace.runtime.exchange.live import LiveExchange
from headrace.runtime.exchange.wire import MessageSocket, PeerGoneError
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import LIVE_OUTPUT, REFUSED, TaskRequest
from headrace.runtime.slot.worker import SlotWorker
from headrace.runtime.subtask import Subtask


class LiveEpochs:
    """Lets the subtasks of a slot work one after the other, upstream first.

    A subtask waits for its input, which ends with the barriers of all channels. It waits for
    subtasks of lower levels alone. Every slot has these work before, so none waits for itself.
    """

    def __init__(self, slot: SlotId, worker: SlotWorker, send: Callable[[Any], None]) -> None:
        self._slot = slot
        self._worker = worker
        self._send = send
        # The job whose tasks are served: those of earlier ones are not any more.
        self._number = 0
        self._roles: set[str] = set()
        self._exchange = LiveExchange(slot, memory=worker.memory)
        os.register_at_fork(after_in_child=self._exchange.close)
        self._locations: dict[tuple[str, int], tuple[int, int]] = {}

    def prepare(self, physical: PhysicalGraph) -> None:
        """Learn where the subtasks of the job are."""
        self._exchange.places = [[int(p.slot) for p in level] for level in physical.levels]
        self._locations = {
            key: (location.level, location.partition)
            for key, location in physical.locations().items()
        }

    def called(self, request: TaskRequest) -> None:
        """A task calls, while the main thread may be busy: others wait for nothing more."""
        self._send(m.Connected(self._slot, request.epoch, request.role))

    def connected(self, channel: MessageSocket, request: TaskRequest) -> None:
        """A task has called: each role is taken once for each job."""
        if request.epoch > self._number:
            self._hang_up()
            self._number = request.epoch
        if request.epoch < self._number or request.role in self._roles:
            with contextlib.suppress(PeerGoneError):
                channel.send(REFUSED)
            channel.close()
            return
        self._roles.add(request.role)
        connection = channel.bare()
        if request.role == LIVE_OUTPUT:
            self._exchange.take_output(connection)
        else:
            self._exchange.take_input(connection)

    def handle(self, message: Any) -> bool:
        """Do what the job master says, if it is about this."""
        try:
            if isinstance(message, m.RunEpoch):
                if not self._worker.broken:
                    self._worker.run_live(message.plan, self._exchange, self._frames)
            elif isinstance(message, m.GoLive):
                self._exchange.send_by(message.hosts)
            elif isinstance(message, m.Probe):
                if message.number == self._number:
                    self._exchange.probe()
                    self._send(m.Probed(self._slot, message.number))
            elif isinstance(message, m.HangUp):
                if message.number >= self._number:
                    self._hang_up()
                    self._number = message.number + 1
            else:
                return False
        except HeadraceError as error:
            # Outside of any subtask: what waits has no room.
            self._worker.fail(error)
        except PeerGoneError as error:
            # In an epoch: this slot's state is of no epoch any more.
            self._worker.broken = self._worker.broken or isinstance(message, m.RunEpoch)
            self._send(m.Disconnected(self._slot, self._number, str(error)))
        return True

    def _frames(self, subtask: Subtask) -> Iterable[bytes]:
        location = self._locations[subtask.vertex.id, subtask.task.subtask]
        return self._exchange.frames(*location, len(subtask.gate.channels))

    def _hang_up(self) -> None:
        self._exchange.hang_up()
        self._roles.clear()
