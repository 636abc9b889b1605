"""A checkpoint that cannot be read: the job goes back to the one before it, and says so."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError
from headrace.coordination.checkpoint_store import CompletedCheckpoint
from headrace.runtime.snapshots.writer import TRAILER
from tests.faults.counting_job import WAIT_S, CountingJob
from tests.faults.live_process_carrier import EITHER_CARRIER

RETAINED = 3

pytestmark = EITHER_CARRIER


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def corrupt(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def another_subtasks(file: Path) -> None:
    """What is in it is intact, and belongs elsewhere."""
    (other,) = (f for f in file.parent.glob(f"{file.name.partition('-')[0]}-*") if f != file)
    file.write_bytes(other.read_bytes())


def an_older_checkpoints(file: Path) -> None:
    older = [f for f in file.parent.parent.glob(f"chk-*/{file.name}") if f != file]
    # The youngest of them: what is damaged already may still be there.
    file.write_bytes(max(older, key=lambda f: f.stat().st_mtime_ns).read_bytes())


def wrong_trailer(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-TRAILER.size] ^= 128
    file.write_bytes(content)


DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "damaged"),
    (corrupt, "damaged"),
    (Path.unlink, "missing"),
    (another_subtasks, "is not the one of this checkpoint"),
    (an_older_checkpoints, "is not the one of this checkpoint"),
    (wrong_trailer, "is not the one of this checkpoint"),
]


def kill_a_slot(job: CountingJob) -> None:
    """Kill, and wait until no checkpoint can come any more: the next attempt is held back."""
    job.carrier.hold()
    os.kill(job.slots()[0], signal.SIGKILL)
    job.wait_for(job.carrier.held.is_set, "the next attempt")


def state_file(checkpoint: CompletedCheckpoint) -> Path:
    """One with the keyed state."""
    return max(Path(checkpoint.directory).glob("*.snapshot"), key=lambda f: f.stat().st_size)


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path: Path, carrier: Any) -> None:
    settings = {"execution.checkpointing.num-retained": str(RETAINED)}
    with CountingJob(tmp_path, settings, carrier=carrier) as job:
        store = job.master.checkpoints.store
        for damage, word in DAMAGES:
            job.wait_for_checkpoints(RETAINED)
            job.wait_for_rows(50)
            kill_a_slot(job)
            *_, before, newest = store.completed
            damage(state_file(newest))
            restarts = job.master.restarts
            job.carrier.go_on()
            job.wait_for_restarts(restarts + 1)
            entry = job.master.history.root_failure
            assert entry is not None
            assert entry.exception_name == "CheckpointError"
            assert word in entry.message
            assert entry.checkpoint == newest.checkpoint
            assert f"goes back to checkpoint {before.checkpoint}" in (entry.note or "")
            assert newest not in store.completed
        job.wait_for_rows(50)
        # Now all of them.
        job.wait_for_checkpoints(RETAINED)
        committed = len(job.rows)
        kill_a_slot(job)
        for checkpoint in store.completed:
            state_file(checkpoint).unlink()
        job.carrier.go_on()
        with pytest.raises(JobExecutionError, match="no checkpoint is left") as failed:
            job.master.result_future().result(WAIT_S)
        assert str(failed.value).count("is missing") >= RETAINED
        assert "start over" in str(failed.value)
        assert [s.status.name for s in job.master.history.states][-2:] == ["FAILING", "FAILED"]
        assert len(job.rows) >= committed


def test_a_named_checkpoint_that_is_damaged_is_an_error_and_its_job_is_not(
    tmp_path: Path, carrier: Any
) -> None:
    keep = {
        "execution.checkpointing.num-retained": str(RETAINED),
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    }
    with CountingJob(tmp_path, keep, carrier=carrier) as job:
        job.wait_for_checkpoints(RETAINED)
        job.wait_for_rows(20)
        job.master.cancel().result(WAIT_S)
        *_, before, newest = job.master.checkpoints.store.completed
    truncate(state_file(newest))
    from_one = keep | {"execution.state-recovery.path": newest.directory}
    with CountingJob(tmp_path, from_one, carrier=carrier) as job:
        with pytest.raises(JobExecutionError, match="damaged") as failed:
            job.master.result_future().result(WAIT_S)
        assert before.directory in str(failed.value), "it says what else there is"
    from_job = keep | {"execution.state-recovery.path": str(Path(newest.directory).parent)}
    with CountingJob(tmp_path, from_job, carrier=carrier) as job:
        job.wait_for_rows(20)
        entry = job.master.history.root_failure
        assert entry is not None
        assert f"goes back to checkpoint {before.checkpoint}" in (entry.note or "")
        new = job.master.checkpoints.store.latest
        assert new is not None
        assert new.checkpoint > newest.checkpoint, "ids go on rising"
