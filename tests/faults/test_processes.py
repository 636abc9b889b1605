"""No process survives its job, whatever was killed. Real processes, really killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.processes import Child, alive, assert_gone, children_of, descendants_of

PROGRAM = Path(__file__).with_name("programs.py")


class RunningJobs(Child):
    """Jobs of a process of its own, one after the other, whose slots are known."""

    def __init__(self, master: str, log: Path) -> None:
        super().__init__(PROGRAM, [master], log)

    def job(self, number: int) -> tuple[int, list[int]]:
        """Driver and slots of a job, once it runs."""
        driver, *slots = map(int, self.wait_for("pids", number).split()[1:])
        return driver, slots


@pytest.fixture
def jobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunningJobs]:
    started = RunningJobs(request.param, tmp_path / "jobs.log")
    yield started
    started.end()


@pytest.mark.usefixtures("either_carrier")
@pytest.mark.parametrize("jobs", ["local[2]"], indirect=True)
def test_slots_end_when_one_of_them_or_the_driver_is_killed(jobs: RunningJobs) -> None:
    _, slots = jobs.job(1)
    os.kill(slots[0], signal.SIGKILL)
    failed = jobs.wait_for("failed")
    assert "JobExecutionError" in failed
    assert "ended unexpectedly" in failed
    assert "Traceback" not in failed, "no Java or internal trace reaches the user"
    assert_gone(slots)

    driver, slots = jobs.job(2)
    assert all(map(alive, slots))
    java = children_of(driver)
    os.kill(driver, signal.SIGKILL)
    assert_gone([*slots, *java])


@pytest.mark.parametrize("jobs", ["local-cluster[2,1,1024]"], indirect=True)
def test_slots_end_when_their_executor_is_killed(jobs: RunningJobs) -> None:
    driver, slots = jobs.job(1)
    executors = descendants_of(driver, b"CoarseGrainedExecutorBackend")
    assert len(executors) == 2
    os.kill(executors[0], signal.SIGKILL)
    assert "JobExecutionError" in jobs.wait_for("failed")
    assert_gone(slots)
