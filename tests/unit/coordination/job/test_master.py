"""The life of a job: its epochs, its failures, its checkpoints, and its ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.common.errors import CheckpointError, JobCancelledError, JobExecutionError
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_store import load_checkpoint
from headrace.coordination.job.master import JobMaster
from headrace.coordination.job.options import JobMasterOptions
from headrace.coordination.job.restart_policy import FixedDelay
from headrace.runtime.epoch import EpochPlan
from headrace.testing import ManualClock
from headrace.testing.clock import SimulatedTime
from headrace.testing.local_carrier import LocalCarrier, LocalSlots
from headrace.testing.memory_storage import MemoryStorage
from tests.unit.coordination.job.jobs import Job, Sum, every, sums

ALL = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55]


@pytest.fixture(autouse=True)
def _no_files() -> Iterator[None]:
    yield
    for directory in ("job", "savepoints"):
        MemoryStorage().delete_directory(f"in-process://{directory}")


def states(job: Job) -> list[str]:
    return [change.status.name for change in job.master.history.states]


def test_a_job_runs_to_its_end() -> None:
    epochs: list[int] = []
    function = Sum()
    job = Job(sums(function), lambda summary: epochs.append(summary.epoch))
    job.finish()
    assert job.printed == ALL
    assert epochs[:5] == [1, 2, 3, 4, 5]
    assert states(job) == ["CREATED", "RUNNING", "FINISHED"]
    assert job.master.result_future().result().get_job_id() == job.master.job_id
    assert function.closed == 1


def test_a_step_is_an_epoch() -> None:
    job = Job(sums(Sum()))
    job.run_epochs(0)
    assert (job.printed, job.master.status()) == ([], JobStatus.RUNNING)
    job.run_epochs(1)
    assert job.printed == ALL[:2]
    job.run_epochs(2)
    assert job.printed == ALL[:6]


def test_epochs_that_cannot_be_carried_live_are_as_long_as_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = iter([True, False, True, False])
    planned: list[tuple[bool, int, bool]] = []
    run = LocalSlots.run_epoch

    def run_epoch(slots: LocalSlots, plan: EpochPlan) -> None:
        planned.append((plan.brief, plan.max_read_ms, plan.commit is not None))
        run(slots, plan)

    monkeypatch.setattr(LocalSlots, "goes_live", lambda slots: next(live, False))
    monkeypatch.setattr(LocalSlots, "run_epoch", run_epoch)
    clock = SimulatedTime(ManualClock())
    options = JobMasterOptions(epoch_max_records=2)
    JobMaster(sums(Sum()), LocalCarrier(clock.now_ms), options, clock=clock).run()
    # The first live epoch commits at once, the next one after a while.
    assert planned[:4] == [
        (True, 100, True),
        (False, 1000, True),
        (True, 100, False),
        (False, 1000, True),
    ]


def test_it_can_run_on_a_thread_of_its_own() -> None:
    job = Job(sums(Sum()))
    job.master.start()
    job.master.result_future().result(60)
    assert job.printed == ALL


# Failures.


def test_a_failure_without_a_restart_policy_ends_the_job() -> None:
    function = Sum(fail_at=5)
    job = Job(sums(function))
    job.finish()
    with pytest.raises(JobExecutionError, match="does not like 5") as caught:
        job.master.result_future().result()
    assert isinstance(caught.value.__cause__, ValueError)
    assert states(job) == ["CREATED", "RUNNING", "FAILING", "FAILED"]
    assert function.closed == 1
    (failure,) = job.master.history.failures
    assert failure.task_name is not None
    assert failure.task_name.endswith("(1/1)")


def test_a_job_without_checkpoints_starts_from_the_beginning() -> None:
    job = Job(sums(Sum(fail_at=5)), restarts=FixedDelay(1, 0.0))
    job.finish()
    assert job.printed == [*ALL[:4], *ALL]
    assert job.master.restarts == 1
    assert states(job) == ["CREATED", "RUNNING", "RESTARTING", "RUNNING", "FINISHED"]


def test_a_job_goes_on_from_its_newest_checkpoint() -> None:
    job = Job(sums(Sum(fail_at=9)), restarts=FixedDelay(1, 0.0), checkpoints=every(2_000, "job"))
    job.finish()
    # The checkpoint rode on the third epoch, with which six records had been read.
    assert job.printed == [*ALL[:8], *ALL[6:]]
    assert job.master.restored is not None
    assert job.master.restored.id == 1
    job.master.result_future().result()


def test_no_restart_is_left() -> None:
    function = Sum(fail_at=3, failures=9)
    job = Job(sums(function), restarts=FixedDelay(2, 0.0))
    job.finish()
    with pytest.raises(JobExecutionError, match="attempt 2 does not like 3"):
        job.master.result_future().result()
    assert job.master.restarts == 2
    assert job.master.history.failure_count == 3
    assert function.closed == 3


def test_the_checkpoint_before_is_used_where_the_newest_cannot_be_read() -> None:
    job = Job(
        sums(Sum(fail_at=9)),
        restarts=FixedDelay(1, 0.0),
        checkpoints=every(1_000, "job", retained=2),
    )
    job.run_epochs(4)
    before, newest = job.master.checkpoints.store.completed
    for file in MemoryStorage().files(newest.directory):
        if file.endswith(".snapshot"):
            MemoryStorage().delete(file)
    job.finish()
    job.master.result_future().result()
    assert job.printed[-1] == 55
    assert job.master.restored is not None
    assert job.master.restored.id == before.checkpoint
    assert "goes back to checkpoint" in (job.master.history.failures[-1].note or "")


def test_a_failure_in_close_fails_the_job() -> None:
    class Stubborn(Sum):
        def close(self) -> None:
            raise RuntimeError("stays open")

    job = Job(sums(Stubborn()))
    job.finish()
    with pytest.raises(JobExecutionError, match="stays open"):
        job.master.result_future().result()


# Checkpoints.


def test_checkpoints_come_in_their_interval() -> None:
    newest: list[int] = []

    def note(_: object) -> None:
        latest = job.master.checkpoints.store.latest
        newest.append(0 if latest is None else latest.checkpoint)

    job = Job(sums(Sum(), last=20), note, checkpoints=every(3_000, "job"))
    job.finish()
    # The interval begins with the first epoch, which starts at 0.
    assert newest[:10] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]


def test_a_bounded_job_ends_with_a_last_checkpoint() -> None:
    job = Job(sums(Sum()), checkpoints=every(60_000, "job"))
    job.finish()
    assert job.master.checkpoints.totals == {"COMPLETED": 1, "FAILED": 0}
    assert not MemoryStorage().files("in-process://job"), "they go with the job"


def test_a_failed_job_leaves_its_checkpoints() -> None:
    job = Job(sums(Sum(fail_at=9)), checkpoints=every(2_000, "job"))
    job.finish()
    assert MemoryStorage().files("in-process://job")


def test_a_job_stops_with_a_savepoint_and_another_goes_on_from_it() -> None:
    job = Job(sums(Sum()))
    job.run_epochs(1)
    stopped = job.master.stop_with_savepoint(False, "in-process://savepoints")
    job.finish()
    path = stopped.result(0)
    assert load_checkpoint(path).savepoint
    assert job.master.status() is JobStatus.FINISHED
    # The savepoint rode on the second epoch.
    assert job.printed == ALL[:4]

    next_job = Job(sums(Sum()), restore_path=path)
    next_job.finish()
    assert next_job.printed == ALL[4:]


def test_a_job_goes_on_after_a_savepoint() -> None:
    job = Job(sums(Sum()))
    job.run_epochs(1)
    taken = job.master.trigger_savepoint("in-process://savepoints")
    job.finish()
    assert load_checkpoint(taken.result(0)).savepoint
    assert job.printed == ALL


def test_an_ended_job_takes_no_savepoint() -> None:
    job = Job(sums(Sum()))
    job.finish()
    with pytest.raises(CheckpointError, match="already FINISHED"):
        job.master.trigger_savepoint("in-process://savepoints")


def test_a_checkpoint_can_be_taken_between_two_steps() -> None:
    job = Job(sums(Sum(fail_at=9)), restarts=FixedDelay(1, 0.0))
    job.run_epochs(2)
    taken = job.master.checkpoint_now()
    job.finish()
    assert job.master.restored is not None
    assert job.master.restored.id == taken.checkpoint
    assert job.printed == [*ALL[:8], *ALL[4:]]


# Other ends, and changes.


def test_a_cancelled_job_closes_its_functions() -> None:
    function = Sum()
    job = Job(sums(function))
    job.run_epochs(1)
    done = job.master.cancel()
    job.finish()
    assert done.done()
    assert states(job) == ["CREATED", "RUNNING", "CANCELLING", "CANCELED"]
    assert (job.printed, function.closed) == (ALL[:2], 1)
    with pytest.raises(JobCancelledError):
        job.master.result_future().result()


def test_a_job_can_be_cancelled_before_it_has_slots() -> None:
    function = Sum()
    job = Job(sums(function))
    job.master.cancel()
    job.finish()
    assert job.master.status() is JobStatus.CANCELED
    assert function.closed == 0


def test_a_job_changes_its_parallelism_at_the_next_boundary() -> None:
    job = Job(sums(Sum()))
    job.run_epochs(1)
    resumed = job.master.rescale(2)
    job.run_epochs(2)
    assert resumed.done()
    assert {v.parallelism for v in job.master.job_graph.vertices} == {2}
    job.finish()
    printed = [line.rpartition("> ")[2] for line in job.carrier.services.printed]
    assert int(printed[-1]) == 55
    assert len(printed) == len(ALL)
    assert job.master.restarts == 0
