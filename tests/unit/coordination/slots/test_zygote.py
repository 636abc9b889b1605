"""Slots that are copied from the zygote. Real processes, no Spark."""

from __future__ import annotations

import os
import queue
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import ConfigurationError
from headrace.coordination.slots.control import ControlServer
from headrace.coordination.slots.zygote import SlotZygote, slot_zygote, zygote_for
from headrace.graph.ids import SlotId
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.protocol import SlotLaunch

LIMIT_S = 60.0


@pytest.fixture(scope="module")
def zygote() -> Iterator[SlotZygote]:
    started = SlotZygote()
    yield started
    started.close()


class Coordinator:
    """Takes the calls of slots."""

    def __init__(self, directory: Path) -> None:
        self.messages: queue.Queue[Any] = queue.Queue()
        self.directory = directory
        self.server = ControlServer(
            str(directory / "control"),
            "secret",
            1,
            self.messages.put,
            lambda slot: None,
            self.messages.put,
        )

    def launch(self, slot: int, **settings: Any) -> SlotLaunch:
        return SlotLaunch(
            slot,
            1,
            self.server.address,
            "secret",
            str(self.directory),
            python_path=tuple(sys.path),
            **settings,
        )

    def hello(self) -> m.Hello:
        message = self.messages.get(timeout=LIMIT_S)
        assert isinstance(message, m.Hello)
        return message


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    started = Coordinator(tmp_path)
    yield started
    started.server.close()


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_S
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def test_each_launch_is_a_process_of_its_own(zygote: SlotZygote, coordinator: Coordinator) -> None:
    pids = [zygote.fork(coordinator.launch(slot)) for slot in range(2)]
    hellos = [coordinator.hello(), coordinator.hello()]
    assert {h.slot: h.pid for h in hellos} == {0: pids[0], 1: pids[1]}
    assert len({zygote.pid, os.getpid(), *pids}) == 4
    assert os.getsid(pids[0]) == pids[0], "the terminal's signals do not reach a slot"


def test_a_slot_has_nothing_open_of_the_zygote(
    zygote: SlotZygote, coordinator: Coordinator
) -> None:
    pid = zygote.fork(coordinator.launch(0))
    coordinator.hello()
    open_files = {
        name: os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")
    }
    assert open_files["0"] == os.devnull
    assert open_files["1"] == open_files["2"] == coordinator.launch(0).log_path
    socket_of_zygote = os.readlink(f"/proc/{zygote.pid}/fd/0")
    assert socket_of_zygote not in open_files.values()


def test_a_slot_ends_with_its_coordinator_and_the_zygote_goes_on(
    zygote: SlotZygote, coordinator: Coordinator
) -> None:
    pid = zygote.fork(coordinator.launch(0))
    coordinator.hello()
    coordinator.server.close()
    wait_until_gone(pid)
    assert zygote.alive


def test_a_slot_whose_job_ends_before_it_listens_ends_in_order(
    zygote: SlotZygote, coordinator: Coordinator
) -> None:
    for slot in range(5):
        launch = coordinator.launch(slot)
        pid = zygote.fork(launch)
        coordinator.hello()
        coordinator.server.send(SlotId(slot), m.Close())
        assert coordinator.messages.get(timeout=LIMIT_S) == m.Closed(SlotId(slot))
        wait_until_gone(pid)
        assert Path(launch.log_path).read_text() == ""


def test_a_slot_that_cannot_start_says_why(zygote: SlotZygote, coordinator: Coordinator) -> None:
    launch = coordinator.launch(0, preload=("no_such_module_anywhere",))
    wait_until_gone(zygote.fork(launch))
    failed = coordinator.messages.get(timeout=LIMIT_S)
    assert isinstance(failed, m.Failed)
    assert "no_such_module_anywhere" in failed.failure.message
    assert "ModuleNotFoundError" in Path(launch.log_path).read_text()
    assert zygote.alive


def test_what_slots_import_is_imported_once_for_all_of_them(
    zygote: SlotZygote, coordinator: Coordinator
) -> None:
    # A module that is not there is the slot's problem, if it needs it.
    modules = ("no_such_module_anywhere", "pyarrow")
    for slot in range(2):
        zygote.fork(coordinator.launch(slot, modules=modules))
        coordinator.hello()
    mapped = Path(f"/proc/{zygote.pid}/maps").read_text()
    assert "pyarrow" in mapped


def test_a_job_with_packages_of_its_own_gets_a_fresh_zygote(coordinator: Coordinator) -> None:
    with zygote_for(coordinator.launch(0)) as shared:
        assert shared is slot_zygote()
    assert shared.alive
    with zygote_for(coordinator.launch(0, first_python_path=("/packages",))) as own:
        assert own is not shared
        pid = own.fork(coordinator.launch(0, first_python_path=("/packages",)))
        assert coordinator.hello().pid == pid
    wait_until_gone(own.pid)
    assert Path(f"/proc/{pid}").exists(), "slots stay"


def test_the_zygote_ends_when_it_is_let_go() -> None:
    zygote = SlotZygote()
    zygote.close()
    wait_until_gone(zygote.pid)


def test_a_killed_zygote_is_replaced(coordinator: Coordinator) -> None:
    first = slot_zygote()
    assert slot_zygote() is first
    os.kill(first.pid, signal.SIGKILL)
    wait_for_end = time.monotonic() + LIMIT_S
    while first.alive:
        assert time.monotonic() < wait_for_end
        time.sleep(0.02)
    second = slot_zygote()
    assert second.pid != first.pid
    assert second.fork(coordinator.launch(0)) == coordinator.hello().pid


def test_another_python_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "python"
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    with pytest.raises(ConfigurationError, match="cannot be started: No such file"):
        SlotZygote()
    other.write_text("#!/bin/sh\necho 3.6\n")
    other.chmod(0o755)
    with pytest.raises(ConfigurationError, match=r"would run with Python 3\.6 .*PYSPARK_PYTHON"):
        SlotZygote()
