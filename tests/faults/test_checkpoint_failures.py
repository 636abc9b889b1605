"""Checkpoints that fail, take too long or find the disk full; functions and slots that fail."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.counting_job import CountingJob
from tests.faults.fragile import Fragile
from tests.faults.laden import laden
from tests.faults.live_process_carrier import EITHER_CARRIER
from tests.faults.processes import alive

PAGES_OF_A_CHECKPOINT = 18
"""More than one takes: two small parts, two that are laden, and the metadata."""
PAGE = 4096

Start = Callable[..., CountingJob]

pytestmark = EITHER_CARRIER


@pytest.fixture
def start(tmp_path: Path, carrier: Any) -> Iterator[Start]:
    started: list[CountingJob] = []

    def run(**settings: str) -> CountingJob:
        given = {f"execution.checkpointing.{k.replace('_', '-')}": v for k, v in settings.items()}
        job = CountingJob(
            tmp_path, given, lambda rows: laden(rows).map(Fragile(tmp_path)), carrier=carrier
        )
        started.append(job)
        return job

    yield run
    for job in started:
        (tmp_path / "slow").unlink(missing_ok=True)
        job.__exit__()


def statuses(job: CountingJob) -> list[str]:
    return [entry.status for entry in job.master.checkpoints.history]


def test_checkpoints_that_take_too_long_make_the_job_go_back(start: Start, tmp_path: Path) -> None:
    job = start(tolerable_failed_checkpoints="2", timeout="1 s")
    job.wait_for_rows(1)
    restarts = job.master.restarts
    (tmp_path / "slow").touch()
    job.wait_for(lambda: job.master.restarts > restarts, "a restart")
    (tmp_path / "slow").unlink()
    failure = job.master.history.root_failure
    assert failure is not None
    assert "3 checkpoints in a row failed and 2 are tolerated" in failure.message
    assert "not complete after 1000 ms" in failure.message
    job.wait_for_rows(1)
    job.finish_with_files()


def test_failures_that_are_tolerated_and_those_that_are_not(start: Start, tmp_path: Path) -> None:
    job = start(tolerable_failed_checkpoints="2")
    job.wait_for_rows(1)

    # A part that cannot be written: up to two in a row are tolerated.
    (tmp_path / "unwritable").touch()
    job.wait_for(lambda: "FAILED" in statuses(job), "a failed checkpoint")
    job.wait_for_rows(1)
    failed = [e for e in job.master.checkpoints.history if e.status == "FAILED"]
    assert "cannot be written" in (failed[-1].failure_message or "")
    assert job.master.restarts == 0

    # An exception in snapshot_state fails the task, tolerance or not, as in Flink.
    restarts = job.master.restarts
    (tmp_path / "refuse").touch()
    job.wait_for(lambda: job.master.restarts > restarts, "a restart")
    failure = job.master.history.root_failure
    assert failure is not None
    assert failure.exception_name == "ValueError"
    assert "no snapshot now" in failure.message
    assert "(in snapshot_state)" in failure.message
    job.wait_for_rows(1)

    # An exception in a function: task and process are known afterwards.
    restarts = job.master.restarts
    (tmp_path / "raise").touch()
    job.wait_for(lambda: job.master.restarts > restarts, "a restart")
    failure = job.master.history.root_failure
    assert failure is not None
    assert "was one too many" in failure.message
    assert "fragile.py" in failure.stacktrace, "the user's own trace"
    assert failure.task_name is not None
    assert failure.task_name.endswith(("(1/2)", "(2/2)"))
    assert failure.location is not None
    job.wait_for_rows(1)
    job.finish_with_files()

    heard = [line.split() for line in (tmp_path / "heard").read_text().splitlines()]
    assert {"completed", "aborted"} == {what for what, _ in heard}
    ids = [entry.id for entry in job.master.checkpoints.history]
    assert ids == sorted(set(ids)), "ids rise, also over restarts"
    states = [change.status.name for change in job.master.history.states]
    assert states[:3] == ["CREATED", "RUNNING", "RESTARTING"]
    assert states[-2:] == ["RUNNING", "FINISHED"]
    assert "FAILING" not in states


def test_a_stale_slot_that_wakes_up_late_does_no_harm(tmp_path: Path, carrier: Any) -> None:
    settings = {"heartbeat.interval": "200 ms", "heartbeat.timeout": "6 s"}
    with CountingJob(tmp_path / "stale", settings, carrier=carrier) as job:
        job.wait_for_rows(1)
        stale = job.slots()
        for slot in stale:
            os.kill(slot, signal.SIGSTOP)
        try:
            job.wait_for_restarts(1)
            job.wait_for_rows(20)
            failure = job.master.history.root_failure
            assert failure is not None
            assert "has not answered" in failure.message
            assert all(map(alive, stale)), "they are still there, asleep"
            restarts = job.master.restarts
        finally:
            for slot in stale:
                os.kill(slot, signal.SIGCONT)
        job.wait_for(lambda: not any(map(alive, stale)), "their end")
        job.wait_for_rows(20)
        assert job.master.restarts == restarts, "nobody noticed"
        job.finish_with_files()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of one megabyte."""
    directory = tmp_path / "disk"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "headrace-test", str(directory)]
    try:
        mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command to make a small disk with")
    if mounted.returncode != 0:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield directory
    subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory: Path, leave: int) -> Path:
    """Take all but so many pages of a disk."""
    filler = directory / "filler"
    with filler.open("wb", buffering=0) as file:
        while (free := os.statvfs(directory).f_bavail) > leave:
            file.write(b"x" * PAGE * min(free - leave, 16))
    return filler


def failure_with(job: CountingJob, disk: Path, words: str) -> str:
    """Let checkpoints find ever a little more room, until one fails in the way that is wanted."""
    for leave in range(3 * PAGES_OF_A_CHECKPOINT):
        seen = job.master.checkpoints.history[-1].id
        filler = fill(disk, leave % PAGES_OF_A_CHECKPOINT)
        job.wait_for(
            lambda n=seen: job.master.checkpoints.history[-1].id > n + 1, "two checkpoints"
        )
        filler.unlink()
        reasons = [e.failure_message or "" for e in job.master.checkpoints.history if e.id > seen]
        found = [reason for reason in reasons if reason is not None and words in reason]
        if found:
            return found[0]
    raise AssertionError(f"no checkpoint failed with {words!r}")


def test_a_full_disk_during_a_snapshot_and_during_metadata(start: Start, small_disk: Path) -> None:
    job = start(tolerable_failed_checkpoints="1000", dir=str(small_disk / "checkpoints"))
    job.wait_for_rows(1)
    for words in ("could not write its snapshot", "its metadata could not be written"):
        assert "No space left" in failure_with(job, small_disk, words)
        job.wait_for_rows(1)
    assert job.master.restarts == 0
    job.finish_with_files()
