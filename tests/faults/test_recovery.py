"""Kill anything at any moment: what is committed is what an undisturbed run commits."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.counting_runs import CountingRuns
from tests.faults.processes import assert_gone, descendants_of

pytestmark = pytest.mark.timeout(900)

Start = Callable[[str], CountingRuns]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[CountingRuns] = []

    def run(master: str) -> CountingRuns:
        started.append(CountingRuns(master, tmp_path))
        started[-1].start()
        return started[-1]

    yield run
    for runs in started:
        runs.end()


@pytest.mark.usefixtures("either_carrier")
def test_slots_workers_and_the_driver_killed_at_random_moments(start: Start) -> None:
    """One slot, both slots at once, Spark's Python workers, and a slot and the driver at once."""
    moments = random.Random(7)
    runs = start("local[2]")
    pids: list[int] = []
    for attempt, whom in enumerate(("slot", "both", "workers", "slot and driver"), 1):
        # Where no task was under way nobody misses a worker, and no attempt follows.
        driver, slots = runs.attempt(attempt) if attempt < 4 else runs.last_attempt()
        pids += slots
        runs.wait_for_rows()
        time.sleep(moments.uniform(0.0, 1.0))
        _daemon, *workers = descendants_of(driver, b"pyspark.worker")
        victims = {
            "slot": slots[:1],
            "both": slots,
            "workers": workers,
            "slot and driver": [slots[0], driver],
        }[whom]
        for victim in victims:
            kill(victim)
    assert_gone(pids)
    runs.start()
    runs.wait_for_rows()
    runs.finish()


def kill(pid: int) -> None:
    """Kill a process; Spark's idle workers may have ended by themselves a moment ago."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
