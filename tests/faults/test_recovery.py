"""Kill anything at any moment: the committed result is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.processes import Child, assert_gone, descendants_of
from tests.faults.recovery_program import KEYS, RECORDS

PROGRAM = Path(__file__).with_name("recovery_program.py")
FINALS = [[key, RECORDS // KEYS] for key in range(KEYS)]

pytestmark = pytest.mark.timeout(600)

Start = Callable[..., Child]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Child] = []

    def run(master: str = "local[2]", restore: str = "-") -> Child:
        log = tmp_path / f"job-{len(started)}.log"
        child = Child(PROGRAM, [master, str(tmp_path / "checkpoints"), restore], log)
        started.append(child)
        return child

    yield run
    for child in started:
        child.end()


def result_of(job: Child) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(job.wait_for("result").split(" ", 1)[1])
    return result


def assert_exactly_once(result: dict[str, Any]) -> None:
    assert result["doubled"] == 0
    assert result["rows"] == RECORDS
    assert result["finals"] == FINALS


def test_slots_and_workers_killed_at_random_moments(start: Start) -> None:
    """Three kills: of one slot, of both slots at once, and of Spark's Python workers."""
    moments = random.Random(7)
    job = start()
    pids: list[int] = []
    for attempt, whom in enumerate(("slot", "both", "workers"), 1):
        driver, *slots = map(int, job.wait_for("attempt", attempt).split()[1:])
        pids += slots
        time.sleep(moments.uniform(0.3, 1.5))
        victims = {"slot": slots[:1], "both": slots}.get(whom)
        if victims is None:
            victims = descendants_of(driver, b"pyspark.daemon")[1:]
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
    result = result_of(job)
    assert_exactly_once(result)
    assert result["restarts"] >= 2
    assert_gone(pids)


def latest_checkpoint(directory: Path) -> Path | None:
    found = [m.parent for m in directory.glob("*/chk-*/_metadata")]
    return max(found, key=lambda p: int(p.name.split("-")[1]), default=None)


def test_a_killed_driver_goes_on_from_its_last_checkpoint(start: Start, tmp_path: Path) -> None:
    job = start()
    driver, *slots = map(int, job.wait_for("attempt").split()[1:])
    directory = tmp_path / "checkpoints"
    deadline = time.monotonic() + 60
    while (latest_checkpoint(directory) is None) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(driver, signal.SIGKILL)
    assert_gone(slots)
    checkpoint = latest_checkpoint(directory)
    assert checkpoint is not None
    again = start(restore=str(checkpoint))
    result = result_of(again)
    # The first program's output died with it; the state did not: counts go on and end right.
    assert result["finals"] == FINALS
    assert result["doubled"] == 0
    assert 0 < result["rows"] < RECORDS


@pytest.mark.slow
def test_a_killed_executor_is_replaced(start: Start) -> None:
    job = start("local-cluster[2,1,1024]")
    driver, *slots = map(int, job.wait_for("attempt").split()[1:])
    time.sleep(1)
    os.kill(descendants_of(driver, b"CoarseGrainedExecutorBackend")[0], signal.SIGKILL)
    assert_exactly_once(result_of(job))
    assert_gone(slots)
