"""A carrier without Spark and without processes: slots are objects, and everything is in order."""

from __future__ import annotations

import os
import random
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.graph.ids import SlotId
from headrace.runtime.epoch import EpochPlan, SubtaskKey
from headrace.runtime.exchange.wire import destination
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import now_ms
from headrace.runtime.slot.worker import SlotWorker
from headrace.runtime.snapshots.slots import SlotSnapshots
from headrace.runtime.subtask import Subtask
from headrace.testing.recording import RecordingServices

__all__ = ["LocalCarrier"]


class LocalCarrier:
    """Has all slots of a job in this process; who runs the job does their work.

    Records pass from subtask to subtask as the bytes that Spark would carry, so what cannot be
    pickled fails here too.

    Args:
        clock: Processing time.
        shuffle_seed: Deliver the frames of an epoch in a random order, as Spark may.
    """

    def __init__(self, clock: Callable[[], int] = now_ms, shuffle_seed: int | None = None) -> None:
        self.services = RecordingServices()
        self.clock = clock
        self.random = None if shuffle_seed is None else random.Random(shuffle_seed)
        self.deaf = False
        """Whether slots hear nothing of checkpoints: the hardest moment for a job to fail is
        between the completion of a checkpoint and the first commit."""
        self._slots: LocalSlots | None = None

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LocalSlots:
        """The slots of an attempt."""
        self._slots = LocalSlots(self, wanted, listener)
        return self._slots

    @property
    def subtasks(self) -> Mapping[SubtaskKey, Subtask]:
        """The subtasks of the attempt that is under way."""
        return {} if self._slots is None else self._slots.subtasks


class LocalSlots:
    """The slots of one attempt.

    As in a process of its own a slot does one thing after the other: what is said to it in the
    middle of an epoch waits for the end of the epoch.
    """

    def __init__(self, carrier: LocalCarrier, wanted: SlotsWanted, listener: SlotListener) -> None:
        self._carrier = carrier
        self._wanted = wanted
        self._listener = listener
        self._workers: dict[SlotId, SlotWorker] = {}
        self._inbox: deque[tuple[SlotWorker, Any]] = deque()
        # One that cancels the job comes on a thread of its own.
        self._lock = threading.RLock()
        self._busy = False
        self.hellos: dict[SlotId, m.Hello] = {}

    @property
    def subtasks(self) -> dict[SubtaskKey, Subtask]:
        """All subtasks."""
        return {key: s for worker in self._workers.values() for key, s in worker.subtasks.items()}

    def start(self) -> None:
        """Make the slots."""
        tell = self._listener.on_message
        attempt = self._wanted.attempt
        for slot in map(SlotId, range(self._wanted.physical.slots)):
            snapshots = SlotSnapshots(slot, tell, at_once=True)
            self._workers[slot] = SlotWorker(
                slot, attempt, tell, self._carrier.services, snapshots, self._carrier.clock
            )
            self.hellos[slot] = m.Hello(slot, attempt, os.getpid(), "localhost", "", None)
        self._carrier.services.wake = lambda: tell(m.DataAvailable(SlotId(0)))

    def send(self, slot: SlotId, message: Any) -> None:
        """Tell a slot something."""
        self._inbox.append((self._workers[slot], message))
        self._work()

    def broadcast(self, message: Any) -> None:
        """Tell all slots."""
        self._inbox.extend((worker, message) for worker in self._workers.values())
        self._work()

    def goes_live(self) -> bool:
        """Epochs are carried one by one."""
        return False

    def run_epoch(self, plan: EpochPlan) -> None:
        """Let every subtask work once, level after level, until one fails."""
        with self._lock:
            self._busy = True
            try:
                self._run_levels(plan)
            finally:
                self._busy = False
        self._work()

    def _run_levels(self, plan: EpochPlan) -> None:
        levels = self._wanted.physical.levels
        inputs: list[list[list[bytes]]] = [[[] for _ in level] for level in levels]

        def send(frame: bytes) -> None:
            level, partition = destination(frame)
            inputs[level][partition].append(frame)

        for level, partitions in enumerate(levels):
            for number, partition in enumerate(partitions):
                frames = inputs[level][number]
                if self._carrier.random is not None:
                    self._carrier.random.shuffle(frames)
                worker = self._workers[partition.slot]
                subtask = worker.subtasks[partition.vertex, partition.subtask]
                if not worker.run_epoch(subtask, plan, frames, send):
                    return

    def cancel(self) -> None:
        """An epoch of this process cannot be interrupted, and is soon over."""

    def close(self) -> None:
        """Nobody is woken any more."""
        self._carrier.services.wake = lambda: None

    def _work(self) -> None:
        """Have the slots do what they were told, in order."""
        with self._lock:
            if self._busy:
                return
            self._busy = True
            try:
                while self._inbox:
                    self._take(*self._inbox.popleft())
            finally:
                self._busy = False

    def _take(self, worker: SlotWorker, message: Any) -> None:
        if isinstance(message, m.Close):
            # Who fails says so, and who lets the slots go says it again.
            for slot in [slot for slot, w in self._workers.items() if w is worker]:
                del self._workers[slot]
                self._listener.on_message(worker.close())
        elif not (self._carrier.deaf and isinstance(message, m.CheckpointsEnded)):
            worker.handle(message)
