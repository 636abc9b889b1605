"""What follows a failure: whether a job goes on, and from where."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.common.errors import (
    CheckpointError,
    CheckpointFailureReason,
    JobCancelledError,
    JobExecutionError,
)
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_store import CheckpointStore, CompletedCheckpoint
from headrace.coordination.job.attempt import AttemptCancelledError
from headrace.coordination.job.failover import Failover
from headrace.coordination.job.history import JobHistory
from headrace.coordination.job.outputs import CollectedOutput
from headrace.coordination.job.restart_policy import FixedDelay, NoRestart, RestartPolicy
from headrace.coordination.restore_points import RestorePoints
from headrace.graph.ids import CheckpointId

ATTEMPT: Any = SimpleNamespace(failed_task="Map (1/2)", failed_location="host:7")
BROKEN = JobExecutionError("ValueError: no")


class Decided:
    """A failover with its surroundings; the job has the checkpoints 1 and 2, and is running."""

    def __init__(self, directory: Path, policy: RestartPolicy) -> None:
        self.store = CheckpointStore(str(directory), 3)
        for number in (1, 2):
            path = self.store.directory_of(CheckpointId(number))
            checkpoint = CompletedCheckpoint(CheckpointId(number), path, "0f", 1, False, ())
            checkpoint.write_metadata()
            self.store.add(checkpoint)
        self.history = JobHistory()
        self.history.move_to(JobStatus.RUNNING)
        self.cancelling = threading.Event()
        points, collected = RestorePoints(self.store), CollectedOutput({}, remember=True)
        self.failover = Failover("j", policy, self.history, points, collected, self.cancelling)

    @property
    def latest(self) -> CompletedCheckpoint:
        assert self.store.latest is not None
        return self.store.latest


@pytest.fixture
def decided(tmp_path: Path) -> Decided:
    return Decided(tmp_path, FixedDelay(1, 0.0))


def unreadable(reason: CheckpointFailureReason) -> JobExecutionError:
    error = JobExecutionError("the checkpoint cannot be read")
    error.__cause__ = CheckpointError("it is damaged", reason)
    return error


def test_the_state_of_the_job_says_at_once_what_will_happen(decided: Decided) -> None:
    decided.failover.decide(BROKEN, ATTEMPT, None)
    assert decided.history.status is JobStatus.RESTARTING
    assert decided.failover.goes_on(BROKEN)
    assert decided.failover.restarts == 1
    decided.history.move_to(JobStatus.RUNNING)
    decided.failover.decide(BROKEN, ATTEMPT, None)
    assert decided.history.status is JobStatus.FAILING
    assert not decided.failover.goes_on(BROKEN)
    assert decided.failover.restarts == 1


def test_a_failure_is_kept_with_its_place(decided: Decided) -> None:
    decided.failover.decide(BROKEN, ATTEMPT, decided.latest)
    (failure,) = decided.history.failures
    assert (failure.task_name, failure.location) == ("Map (1/2)", "host:7")
    assert (failure.checkpoint, failure.attempt, failure.message) == (2, 0, "ValueError: no")


def test_the_next_attempt_starts_from_the_latest_checkpoint(decided: Decided) -> None:
    decided.failover.decide(BROKEN, ATTEMPT, None)
    assert decided.failover.restore_after(BROKEN, None) == decided.latest


def test_a_damaged_checkpoint_is_replaced_by_the_one_before_it(tmp_path: Path) -> None:
    # The restart strategy is not asked: the job never ran.
    decided = Decided(tmp_path, NoRestart())
    newest, error = decided.latest, unreadable(CheckpointFailureReason.RESTORE_FAILURE)
    decided.failover.decide(error, ATTEMPT, newest)
    assert decided.failover.goes_on(error)
    before = decided.failover.restore_after(error, newest)
    assert before is not None
    assert before.checkpoint == 1
    assert "goes back to checkpoint 1" in (decided.history.failures[-1].note or "")
    with pytest.raises(CheckpointError, match="no checkpoint is left"):
        decided.failover.restore_after(error, before)


def test_state_that_does_not_fit_is_not_replaced_by_older_state(decided: Decided) -> None:
    newest, error = decided.latest, unreadable(CheckpointFailureReason.STATE_MISMATCH)
    decided.failover.decide(error, ATTEMPT, newest)
    with pytest.raises(CheckpointError, match="it is damaged"):
        decided.failover.restore_after(error, newest)
    assert decided.latest is newest


def test_a_job_that_is_cancelled_does_not_start_again(decided: Decided) -> None:
    decided.cancelling.set()
    decided.failover.decide(BROKEN, ATTEMPT, None)
    assert decided.history.status is JobStatus.FAILING
    assert not decided.failover.goes_on(BROKEN)
    assert not decided.failover.goes_on(JobCancelledError("the job was cancelled"))


def test_cancelling_ends_the_pause_before_a_restart(tmp_path: Path) -> None:
    decided = Decided(tmp_path, FixedDelay(1, 600.0))
    decided.failover.decide(BROKEN, ATTEMPT, None)
    decided.cancelling.set()
    with pytest.raises(AttemptCancelledError):
        decided.failover.goes_on(BROKEN)
    assert decided.failover.restarts == 0
