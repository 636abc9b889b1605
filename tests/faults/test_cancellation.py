"""What a cancelled job does with its functions: each is closed, to the end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream.functions import MapFunction, RuntimeContext
from tests.faults.counting_job import WAIT_S, CountingJob
from tests.faults.live_process_carrier import EITHER_CARRIER
from tests.faults.processes import assert_gone

pytestmark = pytest.mark.fault


class Busy(MapFunction[Any, Any]):
    """Sleeps over each record, and takes its time to close."""

    def __init__(self, folder: Path, name: str, problem: type[BaseException] | None = None) -> None:
        self._folder = folder
        self._name = name
        self._problem = problem

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        time.sleep(0.02)
        return value

    def close(self) -> None:
        time.sleep(0.3)
        if self._problem is not None:
            raise self._problem
        (self._folder / f"{self._name}-{self._subtask}").touch()


@EITHER_CARRIER
def test_functions_are_closed_to_the_end_when_a_busy_job_is_cancelled(
    tmp_path: Path, carrier: Any
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    with CountingJob(
        tmp_path / "job",
        change=lambda s: (
            s.map(Busy(closed, "first"))
            .map(Busy(closed, "leaves", SystemExit))
            .map(Busy(closed, "last"))
        ),
        carrier=carrier,
    ) as job:
        job.wait_for_rows(20)
        job.master.cancel().result(WAIT_S)
    assert sorted(p.name for p in closed.iterdir()) == ["first-0", "first-1", "last-0", "last-1"]


class Deaf(MapFunction[Any, Any]):
    """Never returns, whoever interrupts it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def map(self, value: Any) -> Any:
        while True:
            try:
                (self._folder / "reached").touch()
                time.sleep(60)
            except KeyboardInterrupt:
                (self._folder / f"interrupted-{time.monotonic_ns()}").touch()


@EITHER_CARRIER
def test_a_function_that_does_not_listen_is_interrupted_again_and_then_killed(
    tmp_path: Path, carrier: Any
) -> None:
    settings = {"task.cancellation.interval": "200 ms", "task.cancellation.timeout": "3 s"}
    with CountingJob(
        tmp_path / "job", settings, change=lambda s: s.map(Deaf(tmp_path)), carrier=carrier
    ) as job:
        job.wait_for((tmp_path / "reached").exists, "the first record")
        slots = job.slots()
        job.master.cancel().result(WAIT_S)
        assert len(list(tmp_path.glob("interrupted-*"))) > 1
    assert_gone(slots)
