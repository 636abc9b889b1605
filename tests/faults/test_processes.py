"""No process survives its job, whatever was killed. Real processes, really killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import LIMIT_S, Child, alive, assert_gone, children_of, descendants_of

PROGRAM = Path(__file__).with_name("programs.py")


class RunningJob(Child):
    """A job in a process of its own, whose slots are known."""

    def __init__(self, master: str, log: Path) -> None:
        super().__init__(PROGRAM, [master], log)
        self.driver, *self.slots = map(int, self.wait_for("pids").split()[1:])


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningJob]:
    started = RunningJob(request.param, tmp_path / "job.log")
    yield started
    started.end()


@pytest.mark.usefixtures("either_carrier")
@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_slots_end_when_the_driver_is_killed(job: RunningJob) -> None:
    assert all(map(alive, job.slots))
    java = children_of(job.driver)
    os.kill(job.driver, signal.SIGKILL)
    assert_gone([*job.slots, *java])


@pytest.mark.usefixtures("either_carrier")
@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_a_killed_slot_fails_the_job_and_ends_the_others(job: RunningJob) -> None:
    os.kill(job.slots[0], signal.SIGKILL)
    failed = job.wait_for("failed")
    assert "JobExecutionError" in failed
    assert "ended unexpectedly" in failed
    assert "Traceback" not in failed, "no Java or internal trace reaches the user"
    assert_gone(job.slots)


@pytest.mark.usefixtures("either_carrier")
@pytest.mark.parametrize("job", ["local[2]"], indirect=True)
def test_an_interrupt_cancels_the_job(job: RunningJob) -> None:
    job.process.send_signal(signal.SIGINT)
    job.process.wait(LIMIT_S)
    assert_gone(job.slots)


@pytest.mark.parametrize("job", ["local-cluster[2,1,1024]"], indirect=True)
def test_slots_end_when_their_executor_is_killed(job: RunningJob) -> None:
    executors = descendants_of(job.driver, b"CoarseGrainedExecutorBackend")
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)
    assert "JobExecutionError" in job.wait_for("failed")
    assert_gone(job.slots)
