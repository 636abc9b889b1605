"""One attempt: its slots, what they report, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordination.carrier import SlotsWanted
from headrace.coordination.job.attempt import (
    AttemptCancelledError,
    AttemptFailedError,
    JobAttempt,
)
from headrace.coordination.job.source_coordinator import SourceCoordinator
from headrace.graph.ids import CheckpointId, EpochId, SlotId
from headrace.graph.job_graph import JobGraph
from headrace.graph.physical_graph import build_physical_graph
from headrace.runtime.epoch import EpochPlan
from headrace.runtime.slot import messages as m
from headrace.runtime.slot.deployment import JobSettings, pack_job
from headrace.testing import ManualClock
from headrace.testing.clock import SimulatedTime
from headrace.testing.local_carrier import LocalCarrier
from tests.unit.coordination.job.jobs import Sum, sums


class Attempt:
    """An attempt with slots in this process."""

    def __init__(self, graph: JobGraph) -> None:
        physical = build_physical_graph(graph)
        self.carrier = LocalCarrier(ManualClock())
        self.output: list[Any] = []
        self.committed: list[int] = []
        self.attempt = JobAttempt(
            SlotsWanted(1, physical),
            self.carrier,
            self.output.append,
            self.output.append,
            self.committed.append,
            clock=SimulatedTime(ManualClock()),
        )
        self._job = pack_job(graph, physical, JobSettings("0" * 32, graph.job_name))
        self._sources = SourceCoordinator(graph)
        self._epoch = 0

    def deploy(self) -> JobAttempt:
        self.attempt.deploy(self._job, {})
        return self.attempt

    def plan(self, commit: int | None = None) -> EpochPlan:
        self._epoch += 1
        return EpochPlan(
            EpochId(self._epoch),
            1,
            2,
            60_000,
            self._sources.discover(0),
            self._sources.finished_vertices,
            commit=None if commit is None else CheckpointId(commit),
        )


def test_every_subtask_reports_on_an_epoch() -> None:
    job = Attempt(sums(Sum()))
    attempt = job.deploy()
    reports = attempt.run_epoch(job.plan())
    assert {(r.vertex, r.subtask) for r in reports} == set(attempt.reports)
    assert sum(r.records_read for r in reports if r.source) == 2
    assert job.carrier.services.printed == ["1", "3"]
    assert len(attempt.slots) == 1


def test_a_function_that_cannot_be_opened_fails_the_deployment() -> None:
    class Closed(Sum):
        def open(self, runtime_context: Any) -> None:
            raise OSError("no way in")

    job = Attempt(sums(Closed()))
    with pytest.raises(AttemptFailedError, match="no way in"):
        job.deploy()
    assert job.attempt.failed_task is not None
    assert "sum" in job.attempt.failed_task
    assert job.attempt.failed_location is not None


def test_the_first_failure_counts() -> None:
    function = Sum(fail_at=1)
    job = Attempt(sums(function))
    attempt = job.deploy()
    with pytest.raises(AttemptFailedError, match="does not like 1"):
        attempt.run_epoch(job.plan())
    attempt.fail("the sky fell")
    with pytest.raises(AttemptFailedError, match="does not like 1"):
        attempt.check()
    attempt.close()
    assert function.closed == 1


def test_what_a_slot_reported_says_more_than_what_the_carrier_raised() -> None:
    job = Attempt(sums(Sum()))
    attempt = job.deploy()
    other = RuntimeError("a task was cancelled")
    assert attempt.reason_of(other) is other
    attempt.fail("slot 0 is gone")
    assert str(attempt.reason_of(other)) == "slot 0 is gone"


def test_a_cancelled_attempt_runs_no_further_epoch() -> None:
    job = Attempt(sums(Sum()))
    attempt = job.deploy()
    attempt.cancel()
    with pytest.raises(AttemptCancelledError):
        attempt.run_epoch(job.plan())
    assert isinstance(attempt.reason_of(RuntimeError()), AttemptCancelledError)


def test_a_lost_slot_fails_the_attempt_and_is_not_waited_for() -> None:
    job = Attempt(sums(Sum()))
    attempt = job.deploy()
    attempt.on_lost(SlotId(0), "slot 0 ended unexpectedly")
    with pytest.raises(AttemptFailedError, match="ended unexpectedly"):
        attempt.run_epoch(job.plan())
    assert [closed.slot for closed in attempt.close()] == [0]


def test_a_message_that_is_too_much_for_the_driver_fails_the_attempt() -> None:
    attempt = Attempt(sums(Sum())).deploy()
    attempt.on_error(KeyError("what"))
    with pytest.raises(AttemptFailedError, match="could not handle a slot's message"):
        attempt.check()


def test_commits_are_known_when_all_slots_have_answered() -> None:
    job = Attempt(sums(Sum()))
    attempt = job.deploy()
    attempt.run_epoch(job.plan(commit=1))
    assert attempt.committed == 0
    attempt.commit(CheckpointId(1))
    attempt.wait_for_commit(CheckpointId(1))
    assert attempt.committed == 1
    assert job.committed == [1]


def test_close_lets_functions_have_the_last_word() -> None:
    function = Sum()
    job = Attempt(sums(function))
    attempt = job.deploy()
    attempt.run_epoch(job.plan())
    (closed,) = attempt.close()
    assert isinstance(closed, m.Closed)
    assert closed.failure is None
    assert function.closed == 1


def test_waiting_ends_when_somebody_wakes_it() -> None:
    attempt = Attempt(sums(Sum())).deploy()
    attempt.wake()
    attempt.wait(lambda: None)
    attempt.on_message(m.DataAvailable(SlotId(0)))
    attempt.wait(lambda: None)
    assert not attempt.wait_until(lambda: False, 1.0)
