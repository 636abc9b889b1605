"""What a job starts from and goes back to when files are missing or damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.coordination.checkpoint_store import CheckpointStore, CompletedCheckpoint
from headrace.coordination.restore_points import RestorePoints
from headrace.graph.ids import CheckpointId

DAMAGED = CheckpointError("is damaged", CheckpointFailureReason.RESTORE_FAILURE)


def written(directory: Path | str, number: int, *, savepoint: bool = False) -> CompletedCheckpoint:
    checkpoint = CompletedCheckpoint(CheckpointId(number), str(directory), "0f", 1, savepoint, ())
    checkpoint.write_metadata()
    return checkpoint


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """The directory of a job with three checkpoints."""
    for number in (8, 9, 10):
        written(tmp_path / "job" / f"chk-{number}", number)
    return tmp_path / "job"


@pytest.fixture
def points(tmp_path: Path) -> RestorePoints:
    return RestorePoints(CheckpointStore(str(tmp_path / "new"), 3))


def test_a_jobs_directory_stands_for_its_newest_checkpoint(
    points: RestorePoints, job: Path
) -> None:
    assert points.start_from(str(job)).checkpoint == 10
    assert points.highest == 10


@pytest.mark.parametrize("content", [None, b"", b'{"format": 1, "check', "flipped"])
def test_metadata_that_cannot_be_read_is_passed_over(
    points: RestorePoints, job: Path, content: bytes | str | None
) -> None:
    metadata = job / "chk-10" / "_metadata"
    if content == "flipped":
        # Still JSON, and still base64 where the positions of sources are.
        found = json.loads(metadata.read_text())
        found["sources"] = found["sources"].swapcase()
        content = json.dumps(found).encode()
    metadata.unlink() if content is None else metadata.write_bytes(content)
    assert points.start_from(str(job)).checkpoint == 9
    assert points.highest == (9 if content is None else 10)


def test_the_one_before_replaces_a_damaged_one(points: RestorePoints, job: Path) -> None:
    newest = points.start_from(str(job))
    before = points.fall_back(newest, DAMAGED)
    assert before.checkpoint == 9
    assert points.latest is before
    oldest = points.fall_back(before, DAMAGED)
    with pytest.raises(CheckpointError, match=r"no checkpoint is left .* start over"):
        points.fall_back(oldest, DAMAGED)
    with pytest.raises(CheckpointError, match="no checkpoint is left"):
        _ = points.latest
    assert (job / "chk-10" / "_metadata").exists(), "nothing of another job is deleted"


def test_a_named_checkpoint_is_not_replaced_by_another(points: RestorePoints, job: Path) -> None:
    named = points.start_from(str(job / "chk-10"))
    with pytest.raises(CheckpointError, match=r"is damaged.*beside it: .*chk-8, .*chk-9"):
        points.fall_back(named, DAMAGED)


def test_a_named_checkpoint_without_metadata_is_an_error(points: RestorePoints, job: Path) -> None:
    (job / "chk-10" / "_metadata").unlink()
    with pytest.raises(CheckpointError, match=r"chk-10: the file _metadata is missing.*chk-9"):
        points.start_from(str(job / "chk-10"))


def test_state_that_does_not_fit_the_program_is_no_reason_to_go_back(
    points: RestorePoints, job: Path
) -> None:
    newest = points.start_from(str(job))
    mismatch = CheckpointError("no such operator", CheckpointFailureReason.STATE_MISMATCH)
    with pytest.raises(CheckpointError, match="no such operator"):
        points.fall_back(newest, mismatch)


def test_own_checkpoints_come_after_what_the_job_started_from(tmp_path: Path, job: Path) -> None:
    store = CheckpointStore(str(tmp_path / "new"), 2)
    points = RestorePoints(store)
    given = points.start_from(str(job / "chk-10"))
    own = written(store.directory_of(CheckpointId(11)), 11)
    store.add(own)
    assert points.latest is own
    assert points.fall_back(own, DAMAGED) is given
    for number in (12, 13):
        store.add(written(store.directory_of(CheckpointId(number)), number))()
    assert given not in store.completed, "newer ones take its place"
    assert Path(given.directory, "_metadata").exists(), "it is not the job's to delete"
