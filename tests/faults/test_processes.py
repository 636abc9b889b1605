"""No process survives its job, whatever was killed. Real processes, really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("programs.py")
LIMIT_S = 120.0


class RunningJob:
    """A job in a process of its own, whose slots are known."""

    def __init__(self, master: str, log: Path) -> None:
        self.log = log
        self._out = log.open("w")
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), master], stdout=self._out, stderr=subprocess.STDOUT
        )
        words = self.wait_for("pids").split()
        self.driver, *self.slots = map(int, words[1:])

    def wait_for(self, word: str) -> str:
        """The first line of the program's output that starts with a word."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            for line in self.log.read_text().splitlines():
                if line.startswith(word):
                    return line
            if self.process.poll() is not None and word not in self.log.read_text():
                break
            time.sleep(0.1)
        raise AssertionError(f"no line {word!r} in:\n{self.log.read_text()}")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        self._out.close()


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningJob]:
    started = RunningJob(request.param, tmp_path / "job.log")
    yield started
    started.end()


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    """Direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def assert_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(map(alive, pids)):
        time.sleep(0.1)
    assert [pid for pid in pids if alive(pid)] == []


def executors_of(driver: int) -> list[int]:
    """The JVMs of executors of a local cluster: descendants of the driver that run one."""
    found, waiting = [], [driver]
    while waiting:
        for child in children_of(waiting.pop()):
            waiting.append(child)
            command = Path(f"/proc/{child}/cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command:
                found.append(child)
    return found


@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_slots_end_when_the_driver_is_killed(job: RunningJob) -> None:
    assert all(map(alive, job.slots))
    java = children_of(job.driver)
    os.kill(job.driver, signal.SIGKILL)
    assert_gone([*job.slots, *java])


@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_a_killed_slot_fails_the_job_and_ends_the_others(job: RunningJob) -> None:
    os.kill(job.slots[0], signal.SIGKILL)
    failed = job.wait_for("failed")
    assert "JobExecutionError" in failed
    assert "ended unexpectedly" in failed
    assert "Traceback" not in failed, "no Java or internal trace reaches the user"
    assert_gone(job.slots)


@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_an_interrupt_cancels_the_job(job: RunningJob) -> None:
    job.process.send_signal(signal.SIGINT)
    job.process.wait(LIMIT_S)
    assert_gone(job.slots)


@pytest.mark.parametrize("job", ["local-cluster[2,1,1024]"], indirect=True)
def test_slots_end_when_their_executor_is_killed(job: RunningJob) -> None:
    executors = executors_of(job.driver)
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)
    assert "JobExecutionError" in job.wait_for("failed")
    assert_gone(job.slots)
