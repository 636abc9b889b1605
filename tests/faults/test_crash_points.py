"""Killed at every named step of the checkpoint protocol: nothing is lost, nothing doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.common.crash_points import POINTS, VARIABLE
from tests.faults.counting import assert_exactly_once
from tests.faults.counting_job import CountingJob
from tests.faults.laden import laden
from tests.faults.live_process_carrier import LiveProcessCarrier
from tests.faults.process_carrier import ProcessCarrier
from tests.faults.processes import LIMIT_S, Child, assert_gone
from tests.faults.row_files import committed_rows

OF_DRIVER = [point for point, where in POINTS.items() if where.startswith("driver")]
OF_SLOT = [point for point in POINTS if point not in OF_DRIVER]
AT_RESTORE = ["restore-begun", "restore-done"]


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which crash points are armed, for processes started from now on."""
    directory = tmp_path / "points"
    directory.mkdir()
    monkeypatch.setenv(VARIABLE, str(directory))
    return directory


def test_a_point_costs_nothing_and_kills_nobody_unless_armed(points: Path) -> None:
    code = "from headrace.common.crash_points import crash_point; crash_point('epoch-begun')"
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, check=False).returncode == 0
    (points / "epoch-begun").touch()
    assert subprocess.run(run, check=False).returncode == -signal.SIGKILL
    assert subprocess.run(run, check=False).returncode == 0, "once"


@pytest.mark.parametrize(
    ("carrier", "backend", "change"),
    [(ProcessCarrier, "hashmap", laden), (LiveProcessCarrier, "rocksdb", lambda stream: stream)],
    ids=["epochs, forking", "live, with RocksDB"],
)
def test_slots_killed_at_every_point(
    points: Path, tmp_path: Path, carrier: Any, backend: str, change: Any
) -> None:
    settings = {"execution.checkpointing.incremental": "true", "state.backend.type": backend}
    with CountingJob(tmp_path / "job", settings, change, carrier=carrier) as job:
        for point in OF_SLOT:
            job.wait_for_rows(1)
            restarts = job.master.restarts
            (points / point).touch()
            if point in AT_RESTORE:
                os.kill(random.Random(point).choice(job.slots()), signal.SIGKILL)
            job.wait_for(lambda p=points / point: not p.exists(), point)
            job.wait_for(lambda r=restarts: job.master.restarts > r, f"restart after {point}")
        job.wait_for_rows(1)
        job.finish_with_files()
        assert job.master.restarts >= len(OF_SLOT)


def test_the_driver_killed_at_every_point(points: Path, tmp_path: Path) -> None:
    directory = tmp_path / "job"
    for number, point in enumerate([*OF_DRIVER, None]):
        driver = Child("tests.faults.counting_driver", [str(directory)], tmp_path / f"{number}.log")
        try:
            slots = [int(pid) for pid in driver.wait_for("running").split()[1:]]
            if point is None:
                (directory / "end").touch()
                driver.wait_for("finished")
            else:
                (points / point).touch()
                assert driver.process.wait(LIMIT_S) == -signal.SIGKILL, driver.log.read_text()
            assert_gone(slots)
        finally:
            driver.end()
    rows = committed_rows(directory / "rows")
    assert len(rows) > 0
    assert_exactly_once(rows)
