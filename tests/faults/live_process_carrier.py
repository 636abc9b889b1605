"""A live carrier without Spark: Spark's tasks are threads here, and its shuffle is a pipe."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import SlotListener, SlotsWanted
from headrace.coordination.slots.live import (
    Carriage,
    LiveCarrier,
    LiveSettings,
    LiveSlots,
    NotLiveError,
)
from headrace.runtime.exchange.live import KEYED, LENGTH
from headrace.spark.live.tasks import InputOfSlots, OutputOfSlots
from tests.faults.process_carrier import ProcessCarrier

EITHER_CARRIER = pytest.mark.parametrize(
    "carrier", [ProcessCarrier, lambda: LiveProcessCarrier()], ids=["epochs", "live"]
)


class LiveProcessCarrier(ProcessCarrier, LiveCarrier):
    """Starts slots on this machine, and carries their frames live.

    Attributes:
        carriages: How many jobs have begun to carry frames.
        cancelled: How many were cancelled.
        refuses: Whether they do not begin at all.
    """

    def __init__(self, live: LiveSettings | None = None) -> None:
        ProcessCarrier.__init__(self)
        LiveCarrier.__init__(self, live or LiveSettings(demanded=True))
        self.carriages = 0
        self.running = 0
        self.cancelled = 0
        self.refuses = False
        self._ends: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def slots(self, wanted: SlotsWanted, listener: SlotListener) -> LiveSlots:
        return LiveCarrier.slots(self, wanted, listener)

    def hosts(self, slots: int) -> tuple[int, ...]:
        """Two places, so that a place has several slots and several have one."""
        return tuple(slot % 2 for slot in range(slots))

    def carry(self, carriage: Carriage) -> None:
        if self.refuses:
            raise NotLiveError("there is no room")
        self.carriages += 1
        self.running += 1
        try:
            self._carry(carriage)
        finally:
            self.running -= 1

    def _carry(self, carriage: Carriage) -> None:
        """Until all tasks are through or, as with Spark, one has failed."""
        places = range(max(carriage.hosts) + 1)
        pipes = [os.pipe() for _ in places]
        inputs = [os.fdopen(read, "rb") for read, _ in pipes]
        self._shuffle = shuffle = Shuffle([os.fdopen(write, "wb") for _, write in pipes])
        produce, consume = OutputOfSlots(carriage), InputOfSlots(carriage)
        self._ends = ends = queue.SimpleQueue()
        for i in places:
            _in_thread(lambda i=i: produce.dump_stream([i], shuffle), ends)
            _in_thread(lambda i=i: consume(i, [inputs[i]]), ends)
        for number in range(2 * len(places)):
            error = ends.get()
            if error is not None:
                shuffle.break_down()
                raise error
            if number + 1 == len(places):
                shuffle.end()

    def break_down(self) -> None:
        """Have a task fail."""
        self._shuffle.break_down()

    def cancel_carriage(self) -> None:
        """As with Spark, nobody waits for its tasks, which end with their slots."""
        self.cancelled += 1
        self._ends.put(HeadraceError("the job that carries frames was cancelled"))


class Shuffle:
    """Takes whole pairs of a place and a frame, and gives each place its frames."""

    def __init__(self, places: list[Any]) -> None:
        self._places = places
        self._lock = threading.Lock()

    def write(self, pairs: bytearray) -> None:
        at = 0
        while at < len(pairs):
            _, place, length = KEYED.unpack_from(pairs, at)
            at += KEYED.size
            with self._lock:
                self._places[place].write(LENGTH.pack(length) + pairs[at : at + length])
            at += length

    def flush(self) -> None:
        with self._lock:
            for place in self._places:
                place.flush()

    def end(self) -> None:
        for place in self._places:
            place.write(LENGTH.pack(-1))
            place.close()

    def break_down(self) -> None:
        with self._lock:
            for place in self._places:
                place.close()


def _in_thread(work: Callable[[], Any], ends: queue.SimpleQueue[Exception | None]) -> None:
    def run() -> None:
        try:
            work()
            ends.put(None)
        except Exception as error:
            # Without the frames that hold its connections.
            ends.put(error.with_traceback(None))

    threading.Thread(target=run, daemon=True).start()
