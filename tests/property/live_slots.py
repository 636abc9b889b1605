"""Slots in this process whose frames are carried live: each works on a thread of its own.

What a slot does is what it does in a process: it sends frames while it makes them, and waits for
those of others over real connections.
"""

from __future__ import annotations

import contextlib
import queue
import selectors
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any
from unittest import mock

from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.graph.ids import SlotId
from headrace.runtime import subtask_input
from headrace.runtime.epoch import EpochPlan
from headrace.runtime.exchange import credit
from headrace.runtime.exchange.carry_over import Cutoff
from headrace.runtime.exchange.frame_queue import FrameMemory
from headrace.runtime.exchange.live import KEYED, LENGTH
from headrace.runtime.exchange.wire import MessageSocket
from headrace.runtime.slot import messages as m
from headrace.runtime.slot import worker as slot_worker
from headrace.runtime.slot.live_epochs import LiveEpochs
from headrace.runtime.slot.protocol import LIVE_INPUT, LIVE_OUTPUT, TaskRequest
from headrace.runtime.slot.worker import SlotWorker
from headrace.testing import runner
from headrace.testing.local_carrier import LocalCarrier, LocalSlots

_READ_BYTES = 1 << 16
CUTS = (None, 3, 0, 1, 8)


@contextlib.contextmanager
def carried(live: bool, cuts: Sequence[int | None] = CUTS, memory: int = 1_000) -> Iterator[None]:
    """Jobs that run in this process are carried live, or epoch by epoch.

    Args:
        live: Whether they are.
        cuts: After how many looks at the clock each live epoch is cut short, in turn; None where
            it is not.
        memory: What frames that wait may take of it.
    """
    carrier = LiveLocalCarrier if live else LocalCarrier
    resize = FrameMemory.resize
    with (
        mock.patch.object(runner, "LocalCarrier", carrier),
        mock.patch.object(LiveLocalCarrier, "cuts", cycle(cuts)),
        mock.patch.object(slot_worker, "Cutoff", CountedCutoff),
        mock.patch.object(subtask_input, "_FIRST_PIECE", 1),
        mock.patch.object(FrameMemory, "resize", lambda self, most: resize(self, memory)),
        # Less than two frames are on their way between any two slots.
        mock.patch.object(credit, "_MOST_BYTES", 100),
        mock.patch.object(credit, "_LEAST_BYTES", 0),
    ):
        yield


class CountedCutoff(Cutoff):
    """Comes after so many looks at it, whatever the time is."""

    def __init__(self, looks: int) -> None:
        super().__init__(looks and 10**9)
        self._left = looks

    def reached(self) -> bool:
        self._left -= 1
        return self._left < 0


class LiveLocalCarrier(LocalCarrier):
    """Has all slots of a job in this process, and carries what they send at once."""

    cuts: Iterator[int | None] = cycle((None,))

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LocalSlots:
        self._slots = LiveLocalSlots(self, wanted, listener)
        return self._slots


class LiveLocalSlots(LocalSlots):
    """The slots of one attempt, and the connections between them."""

    def __init__(self, carrier: LocalCarrier, wanted: SlotsWanted, listener: SlotListener) -> None:
        self._hear = listener.on_message
        self._working = False
        # What was said in an epoch is heard on the thread that runs the job.
        self._said: queue.SimpleQueue[Any] = queue.SimpleQueue()
        listener.on_message = self._tell  # type: ignore[method-assign]
        super().__init__(carrier, wanted, listener)

    def _tell(self, message: Any) -> None:
        (self._said.put if self._working else self._hear)(message)

    def start(self) -> None:
        super().start()
        physical = self._wanted.physical
        hosts = tuple(range(physical.slots))
        self._epochs: dict[SlotId, LiveEpochs] = {}
        self._outputs: list[socket.socket] = []
        self._inputs: list[socket.socket] = []
        for slot, worker in self._workers.items():
            epochs = LiveEpochs(slot, worker, self._listener.on_message)
            epochs.prepare(physical)
            epochs.handle(m.GoLive(1, hosts))
            for role, ends in ((LIVE_OUTPUT, self._outputs), (LIVE_INPUT, self._inputs)):
                near, far = socket.socketpair()
                epochs.connected(MessageSocket(near), TaskRequest(0, 1, "", 0, role))
                ends.append(far)
            self._epochs[slot] = epochs
        self._carrying = threading.Thread(target=self._carry, daemon=True)
        self._carrying.start()

    def goes_live(self) -> bool:
        return True

    def _run_levels(self, plan: EpochPlan) -> None:
        # Those that carry out an order are never cut.
        if plan.checkpoint is None:
            plan = replace(plan, cut_after_ms=next(LiveLocalCarrier.cuts))
        threads = [
            threading.Thread(target=self._run, args=(slot, worker, plan))
            for slot, worker in self._workers.items()
        ]
        self._working = True
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._working = False
        while not self._said.empty():
            self._hear(self._said.get())

    def _run(self, slot: SlotId, worker: SlotWorker, plan: EpochPlan) -> None:
        self._epochs[slot].handle(m.RunEpoch(plan))
        if worker.broken:
            # Others would wait for its barriers.
            for connection in self._inputs:
                connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for epochs in self._epochs.values():
            epochs.handle(m.HangUp(1))
        self._carrying.join()
        for connection in (*self._outputs, *self._inputs):
            connection.close()
        super().close()

    def _carry(self) -> None:
        """Pass frames on until all slots have hung up."""
        with selectors.DefaultSelector() as selector:
            for connection in self._outputs:
                selector.register(connection, selectors.EVENT_READ, bytearray())
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = key.fileobj.recv(_READ_BYTES)  # type: ignore[union-attr]
                    if not chunk:
                        selector.unregister(key.fileobj)
                    key.data.extend(chunk)
                    self._deliver(key.data)

    def _deliver(self, data: bytearray) -> None:
        while len(data) >= KEYED.size:
            _, host, length = KEYED.unpack_from(data)
            end = KEYED.size + length
            if len(data) < end:
                return
            with contextlib.suppress(OSError):
                self._inputs[host].sendall(LENGTH.pack(length) + data[KEYED.size : end])
            del data[:end]
