"""The start of slots that are processes: who has called, and who never will."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.coordination.carrier import EpochRun, SlotsWanted
from headrace.coordination.slots.processes import ProcessCarrier, SlotProcesses
from headrace.graph.ids import CheckpointId, SlotId, VertexId
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import SlotLaunch
from tests.unit.coordination.job.jobs import Sum, sums

Start = Callable[[SlotLaunch], int | None]


class Starting(ProcessCarrier):
    """Leaves it to the test what becomes of a launch: the id of a process on this host, if any."""

    def __init__(self, start: Start) -> None:
        self._start = start

    def start_slots(self, launches: list[SlotLaunch]) -> dict[int, int]:
        started = {launch.slot: self._start(launch) for launch in launches}
        return {slot: pid for slot, pid in started.items() if pid is not None}

    def run_epoch(self, run: EpochRun) -> None:
        raise NotImplementedError

    def cancel(self) -> None:
        pass


class Listening:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_message(self, message: Any) -> None:
        self.heard.append(message)

    def on_lost(self, slot: SlotId, why: str) -> None:
        self.heard.append(why)

    def on_error(self, error: Exception) -> None:
        self.heard.append(error)

    def on_tick(self) -> None:
        pass


@pytest.fixture
def slots() -> Iterator[Callable[[Start], SlotProcesses]]:
    made: list[SlotProcesses] = []

    def make(start: Start) -> SlotProcesses:
        wanted = SlotsWanted(1, build_physical_graph(sums(Sum())))
        made.append(Starting(start).slots(wanted, Listening()))
        return made[-1]

    yield make
    for each in made:
        each.close()


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def write_log(launch: SlotLaunch, text: str) -> None:
    Path(launch.log_path).write_text(text)


def test_a_slot_whose_process_has_ended_is_not_waited_for(slots: Any) -> None:
    def start(launch: SlotLaunch) -> int:
        write_log(launch, "one\ntwo\nout of memory\n")
        return ended_process()

    with pytest.raises(HeadraceError, match=r"slot 0 \(process \d+\) did not start.*out of memory"):
        slots(start).start()


def test_what_a_slot_writes_says_nothing_about_its_life(slots: Any) -> None:
    calls: list[Any] = []

    def start(launch: SlotLaunch) -> int:
        write_log(launch, "ImportError: no module named fast; the slow one is used\n")
        connection = Client(launch.control_address, authkey=launch.token.encode())
        calls.append(connection)
        # As a slot that takes its time.
        hello = pickle.dumps(m.Hello(SlotId(0), 1, os.getpid(), "here", "", None))
        threading.Timer(1.5, connection.send_bytes, (hello,)).start()
        return os.getpid()

    started = slots(start)
    started.start()
    assert list(started.hellos) == [0]
    calls[0].close()


def test_whoever_lets_slots_go_waits_for_what_follows_from_their_last_snapshots(
    slots: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    handling, storage_answers = threading.Event(), threading.Event()
    heard: list[Any] = []

    def on_message(_: Listening, message: Any) -> None:
        if isinstance(message, m.Snapshotted):
            handling.set()
            storage_answers.wait(60)
        heard.append(message)

    monkeypatch.setattr(Listening, "on_message", on_message)
    calls: list[Any] = []

    def start(launch: SlotLaunch) -> int:
        calls.append(Client(launch.control_address, authkey=launch.token.encode()))
        calls[0].send_bytes(pickle.dumps(m.Hello(SlotId(0), 1, os.getpid(), "here", "", None)))
        return os.getpid()

    started = slots(start)
    started.start()
    snapshot = m.Snapshotted(SlotId(0), VertexId("v"), 0, CheckpointId(1), "path")
    calls[0].send_bytes(pickle.dumps(snapshot))
    assert handling.wait(60)
    threading.Timer(0.2, storage_answers.set).start()
    started.close()
    assert heard[-1] == snapshot
    calls[0].close()


def test_a_cancelled_start_is_over_at_once(slots: Any) -> None:
    def start(launch: SlotLaunch) -> None:
        threading.Thread(target=started.cancel).start()

    started = slots(start)
    with pytest.raises(HeadraceError, match="cancelled"):
        started.start()
