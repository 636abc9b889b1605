from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.commit_marker import CommitMarker, read_commit_marker, read_together
from headrace.common.errors import HeadraceError
from headrace.coordination.commit_record import CommitRecord
from headrace.graph.ids import CheckpointId


def test_before_the_first_commit_there_is_no_marker(tmp_path: Path) -> None:
    CommitRecord(str(tmp_path / "marker"), "job")
    assert read_commit_marker(tmp_path / "marker") is None


def test_a_commit_is_recorded_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    record = CommitRecord(f"file://{path}", "job")
    record.begin(CheckpointId(3))
    marker = read_commit_marker(path)
    assert marker is not None
    assert (marker.job_id, marker.committing, marker.committed) == ("job", 3, None)
    assert not marker.consistent
    record.finish(CheckpointId(3))
    marker = read_commit_marker(path)
    assert marker is not None
    assert (marker.committing, marker.committed, marker.consistent) == (None, 3, True)


def test_the_next_commit_may_begin_before_the_last_is_over(tmp_path: Path) -> None:
    record = CommitRecord(str(tmp_path / "marker"), "job")
    record.begin(CheckpointId(1))
    record.begin(CheckpointId(2))
    record.finish(CheckpointId(1))
    marker = read_commit_marker(tmp_path / "marker")
    assert marker is not None
    assert (marker.committed, marker.committing) == (1, 2)


def test_a_job_that_goes_on_keeps_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    CommitRecord(str(path), "job").begin(CheckpointId(1))
    again = CommitRecord(str(path), "other")
    marker = read_commit_marker(path)
    assert marker is not None
    assert marker.committing == 1
    again.finish(CheckpointId(1))
    assert read_commit_marker(path) != marker


def test_outputs_are_read_again_when_the_marker_changes(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    record = CommitRecord(str(path), "job")
    record.finish(CheckpointId(1))
    reads: list[int] = []

    def read() -> int:
        reads.append(len(reads))
        if len(reads) == 1:
            record.begin(CheckpointId(2))
            record.finish(CheckpointId(2))
        return reads[-1]

    assert read_together(path, read) == 1


def test_an_error_counts_only_if_nothing_was_committed_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "marker"
    record = CommitRecord(str(path), "job")
    record.finish(CheckpointId(1))
    reads: list[int] = []

    def read() -> int:
        reads.append(len(reads))
        if len(reads) == 1:
            record.finish(CheckpointId(2))
            raise ValueError("half a file")
        return reads[-1]

    assert read_together(path, read) == 1
    with pytest.raises(ZeroDivisionError):
        read_together(path, lambda: 1 // 0)


def test_a_commit_that_hangs_is_an_error(tmp_path: Path) -> None:
    CommitRecord(str(tmp_path / "marker"), "job").begin(CheckpointId(1))
    with pytest.raises(HeadraceError, match="is the job recovering"):
        read_together(tmp_path / "marker", lambda: 1, timeout_s=0.01)


def test_another_file_is_no_marker(tmp_path: Path) -> None:
    (tmp_path / "marker").write_text("[]")
    with pytest.raises(HeadraceError, match="cannot be read as a commit marker"):
        read_commit_marker(tmp_path / "marker")
    assert CommitMarker("job").consistent
