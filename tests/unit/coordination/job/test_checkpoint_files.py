"""What becomes of a job's checkpoints when it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_coordinator import CheckpointSettings
from headrace.coordination.job.checkpoint_files import CheckpointFiles


@pytest.mark.parametrize(
    ("status", "kept_on_cancellation", "kept"),
    [
        (JobStatus.FINISHED, True, False),
        (JobStatus.CANCELED, False, False),
        (JobStatus.CANCELED, True, True),
        (JobStatus.FAILED, False, True),
    ],
)
def test_checkpoints_go_with_the_job_unless_somebody_may_want_them(
    tmp_path: Path, status: JobStatus, kept_on_cancellation: bool, kept: bool
) -> None:
    settings = CheckpointSettings(
        directory=str(tmp_path), keep_on_cancellation=kept_on_cancellation
    )
    files = CheckpointFiles("job", settings)
    (tmp_path / "job" / "chk-1").mkdir(parents=True)
    files.clean_up(status)
    assert (tmp_path / "job" / "chk-1").exists() == kept


def test_without_a_directory_they_are_in_a_temporary_one() -> None:
    files = CheckpointFiles("job", CheckpointSettings())
    directory = Path(files.store.directory.removeprefix("file://"))
    assert directory.parent.is_dir()
    files.clean_up(JobStatus.FAILED)
    assert not directory.parent.exists()
