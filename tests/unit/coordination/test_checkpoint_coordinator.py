"""When checkpoints start, and what becomes of those that fail, are late, or are overtaken."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.coordination.checkpoint_coordinator import (
    CheckpointCoordinator,
    CheckpointSettings,
    SavepointOrder,
)
from headrace.coordination.checkpoint_store import CheckpointStore, CompletedCheckpoint
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.ids import SlotId
from headrace.graph.job_graph import JobGraph, build_job_graph
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshots.writer import Seal


@pytest.fixture(scope="module")
def job_graph() -> JobGraph:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    environment.from_collection([1, 2]).map(str).print()
    return build_job_graph(environment.get_stream_graph())


class Checkpoints:
    """A coordinator whose parts are written by the test."""

    def __init__(self, job_graph: JobGraph, directory: Path, **settings: Any) -> None:
        self.vertices = [v.id for v in job_graph.vertices]
        self.store = CheckpointStore(str(directory / "job"), settings.get("retained", 1))
        self.completed: list[int] = []
        self.aborted: list[int] = []
        self.now_ms = 0
        self.coordinator = CheckpointCoordinator(
            job_graph,
            "0f" * 16,
            CheckpointSettings(**{"interval_ms": 100} | settings),
            self.store,
            self._ended,
            lambda: self.now_ms,
        )
        self.next_due(0)

    def _ended(self, checkpoint: int, completed: bool) -> None:
        (self.completed if completed else self.aborted).append(checkpoint)

    def next_due(self, now_ms: int) -> int | None:
        self.now_ms = now_ms
        return self.coordinator.next_due(now_ms)

    def expire(self, now_ms: int) -> CheckpointError | None:
        self.now_ms = now_ms
        return self.coordinator.expire()

    def begin(self, now_ms: int) -> CheckpointRequest | None:
        self.now_ms = now_ms
        begun = self.coordinator.begin(now_ms, dict)
        return None if begun is None else begun[0]

    def started(self, now_ms: int) -> CheckpointRequest:
        request = self.begin(now_ms)
        assert request is not None
        return request

    def answer(
        self, request: CheckpointRequest, now_ms: int, error: str | None = None
    ) -> CheckpointError | None:
        verdict = None
        self.now_ms = now_ms
        for vertex in self.vertices:
            path = Path(request.directory, f"{vertex}-0.snapshot")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
            seal = Seal(1, 0, request.checkpoint)
            part = Snapshotted(
                SlotId(0), vertex, 0, request.checkpoint, str(path), seal, error=error
            )
            verdict = verdict or self.coordinator.on_snapshot(part, now_ms)
        return verdict

    def complete(self, now_ms: int) -> CheckpointRequest:
        request = self.started(now_ms)
        assert self.answer(request, now_ms) is None
        return request


@pytest.fixture
def make(job_graph: JobGraph, tmp_path: Path) -> Any:
    return lambda **settings: Checkpoints(job_graph, tmp_path, **settings)


def test_one_is_started_each_interval(make: Any) -> None:
    checkpoints = make(interval_ms=100)
    assert checkpoints.begin(99) is None
    assert checkpoints.complete(100).checkpoint == 1
    assert checkpoints.begin(199) is None
    assert checkpoints.complete(205).checkpoint == 2
    assert checkpoints.next_due(210) == 305


def test_a_clock_that_is_set_changes_neither_interval_nor_timeout(make: Any) -> None:
    checkpoints = make(interval_ms=100, timeout_ms=500)
    hour = 3_600_000
    assert checkpoints.coordinator.next_due(-hour) == 100 - hour
    assert checkpoints.coordinator.begin(hour, dict) is None
    checkpoints.now_ms = 100
    assert checkpoints.coordinator.begin(100 - hour, dict) is not None
    assert checkpoints.coordinator.next_due(-hour) == 500 - hour
    assert checkpoints.expire(599) is None


def test_an_epoch_that_starts_does_not_wait_for_one_that_is_being_completed(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = make(interval_ms=100)
    found: list[CheckpointError | None] = []

    def expire_meanwhile(checkpoint: CompletedCheckpoint) -> None:
        other = threading.Thread(target=lambda: found.append(checkpoints.expire(100)), daemon=True)
        other.start()
        other.join(120)

    monkeypatch.setattr(CompletedCheckpoint, "write_metadata", expire_meanwhile)
    checkpoints.complete(100)
    assert found == [None]


def test_nobody_waits_while_an_old_one_is_deleted(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting, storage_answers = threading.Event(), threading.Event()
    discard = CompletedCheckpoint.discard

    def discard_late(checkpoint: CompletedCheckpoint, *needed: Any) -> None:
        deleting.set()
        storage_answers.wait(60)
        discard(checkpoint, *needed)

    monkeypatch.setattr(CompletedCheckpoint, "discard", discard_late)
    job = make()
    first = job.complete(100)
    completing = threading.Thread(target=job.complete, args=(200,))
    completing.start()
    asked = threading.Thread(target=job.coordinator.progress)
    try:
        assert deleting.wait(60)
        assert job.completed == [1, 2], "sinks commit meanwhile"
        asked.start()
        asked.join(10)
        assert not asked.is_alive()
    finally:
        storage_answers.set()
        completing.join()
    assert not Path(first.directory).exists()


def test_enumerators_are_asked_when_a_checkpoint_starts(make: Any) -> None:
    checkpoints = make(interval_ms=100)

    def refuse() -> Any:
        raise AssertionError("nothing is due")

    checkpoints.now_ms = 99
    assert checkpoints.coordinator.begin(99, refuse) is None
    assert checkpoints.begin(100) is not None


def test_the_minimum_pause_counts_from_the_end_of_the_last_one(make: Any) -> None:
    checkpoints = make(interval_ms=100, min_pause_ms=80, max_concurrent=5)
    request = checkpoints.started(100)
    assert checkpoints.begin(200) is None, "with a pause there is one at a time"
    checkpoints.answer(request, 190)
    assert checkpoints.begin(269) is None
    assert checkpoints.begin(270) is not None


def test_several_may_be_under_way_and_a_newer_one_overtakes(make: Any) -> None:
    checkpoints = make(max_concurrent=2)
    first, second = checkpoints.started(100), checkpoints.started(200)
    assert checkpoints.begin(300) is None
    checkpoints.answer(second, 310)
    assert checkpoints.completed == [2]
    assert checkpoints.aborted == [1]
    assert checkpoints.answer(first, 320) is None
    assert not Path(first.directory).exists(), "what comes late is not left behind"
    assert [c.checkpoint for c in checkpoints.store.completed] == [2]
    assert checkpoints.started(320).checkpoint == 3


def test_a_failure_beyond_the_tolerated_ones_fails_the_job(make: Any) -> None:
    checkpoints = make(tolerable_failures=1)
    assert checkpoints.answer(checkpoints.started(100), 110, "disk full") is None
    verdict = checkpoints.answer(checkpoints.started(200), 210, "disk full")
    assert verdict.reason is CheckpointFailureReason.TOO_MANY_FAILURES
    assert "2 checkpoints in a row failed and 1 are tolerated" in str(verdict)
    assert "disk full" in str(verdict)
    # The job has failed for these: the next attempt starts to count anew.
    assert checkpoints.answer(checkpoints.started(300), 310, "disk full") is None


def test_a_complete_one_ends_the_row_of_failures(make: Any) -> None:
    checkpoints = make(tolerable_failures=1)
    for now in range(100, 1000, 200):
        assert checkpoints.answer(checkpoints.started(now), now, "disk full") is None
        checkpoints.complete(now + 100)


def test_one_that_takes_too_long_is_given_up_and_counted(make: Any) -> None:
    checkpoints = make(timeout_ms=500)
    request = checkpoints.started(100)
    assert checkpoints.next_due(110) == 600
    assert checkpoints.expire(599) is None
    verdict = checkpoints.expire(600)
    assert verdict.reason is CheckpointFailureReason.TOO_MANY_FAILURES
    assert "not complete after 500 ms" in str(verdict)
    assert checkpoints.aborted == [1]
    checkpoints.answer(request, 610)
    assert checkpoints.completed == []
    assert not Path(request.directory).exists()
    assert checkpoints.coordinator.history[-1].status == "FAILED"


def test_metadata_that_cannot_be_written_fails_the_checkpoint(make: Any) -> None:
    checkpoints = make()
    request = checkpoints.started(100)
    Path(request.directory, "_metadata").mkdir(parents=True)
    verdict = checkpoints.answer(request, 110)
    assert verdict is not None
    assert checkpoints.completed == []


def test_the_end_of_an_attempt_is_nobodys_failure(make: Any) -> None:
    checkpoints = make()
    for now in range(100, 500, 100):
        checkpoints.started(now)
        checkpoints.coordinator.abort_pending(CheckpointFailureReason.JOB_FAILURE)
    assert checkpoints.complete(500).checkpoint == 5


def test_as_many_are_kept_as_wanted(make: Any) -> None:
    checkpoints = make(retained=2)
    directories = [Path(checkpoints.complete(now).directory) for now in range(100, 500, 100)]
    assert [d.exists() for d in directories] == [False, False, True, True]


def test_a_savepoint_that_the_job_goes_on_after_is_the_users(make: Any, tmp_path: Path) -> None:
    checkpoints = make()
    checkpoints.complete(100)
    order = SavepointOrder(str(tmp_path / "savepoints"))
    checkpoints.coordinator.order(order)
    checkpoints.complete(110)
    assert Path(order.done.result(0), "_metadata").exists()
    assert checkpoints.store.latest.checkpoint == 1, "recovery does not depend on it"
    assert checkpoints.completed == [1], "and sinks do not commit with it"


def test_a_savepoint_that_fails_does_not_fail_the_job(make: Any, tmp_path: Path) -> None:
    checkpoints = make()
    order = SavepointOrder(str(tmp_path / "savepoints"))
    checkpoints.coordinator.order(order)
    assert checkpoints.answer(checkpoints.started(10), 20, "disk full") is None
    with pytest.raises(CheckpointError, match="disk full"):
        order.done.result(0)


def test_ids_go_on_rising_after_those_of_another_run(make: Any) -> None:
    checkpoints = make()
    checkpoints.coordinator.continue_after(41)
    assert checkpoints.complete(100).checkpoint == 42


def test_a_driver_that_follows_uses_other_numbers_and_names(make: Any) -> None:
    first = make()
    first.complete(100)
    abandoned = first.started(200)
    second = make()
    second.coordinator.continue_after(second.store.last_number)
    request = second.started(100)
    assert request.checkpoint == abandoned.checkpoint + 1
    assert request.suffix != abandoned.suffix


def test_a_number_is_taken_before_a_checkpoint_needs_it(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = make()
    first = checkpoints.complete(100).checkpoint
    assert checkpoints.store.last_number == first + 1
    monkeypatch.setattr(checkpoints.store, "claim", None)
    assert checkpoints.started(200).checkpoint == first + 1


def test_a_number_that_cannot_be_taken_fails_the_checkpoint(make: Any, tmp_path: Path) -> None:
    (tmp_path / "job").write_text("a file where the directory should be")
    checkpoints = make(tolerable_failures=1)
    assert checkpoints.begin(100) is None
    assert checkpoints.aborted == [1]
    with pytest.raises(CheckpointError, match="its number could not be written"):
        checkpoints.begin(200)
