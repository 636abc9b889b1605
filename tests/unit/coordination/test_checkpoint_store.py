"""Checkpoints in storage: what they need is kept, what nobody needs goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import CheckpointError
from headrace.coordination.checkpoint_store import (
    METADATA,
    CheckpointStore,
    CompletedCheckpoint,
    Increment,
    OperatorEntry,
    load_checkpoint,
)
from headrace.graph.ids import CheckpointId
from headrace.runtime.storage import join

JOB = "job"


def completed(
    store: CheckpointStore, number: int, base: CompletedCheckpoint | None = None, size: int = 10
) -> CompletedCheckpoint:
    """Write a checkpoint with one file, that builds upon another one's."""
    directory = store.directory_of(CheckpointId(number))
    store.storages.of(directory).write(join(directory, "op-0.snapshot"), b"state")
    bases: tuple[str, ...] = ()
    increments: tuple[Increment, ...] = ()
    if base is not None:
        names = [Path(f).parent.name for f in base.chain_of("op", 0)]
        bases = tuple(f"../{name}/op-0.snapshot" for name in names)
        increments = base.increments
    entry = OperatorEntry("op", "uid", "name", 1, 128, ("op-0.snapshot",), (bases,))
    checkpoint = CompletedCheckpoint(
        CheckpointId(number),
        directory,
        JOB,
        0,
        False,
        (entry,),
        increments=(*increments, Increment(CheckpointId(number), size)),
    )
    checkpoint.write_metadata()
    store.add(checkpoint)()
    return checkpoint


def there(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


def test_a_checkpoint_reads_back_what_it_needs(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), 5)
    first = completed(store, 1)
    second = completed(store, 2, first)
    loaded = load_checkpoint(second.directory)
    assert loaded == second
    assert loaded.chain_of("op", 0) == [
        str(tmp_path / "chk-1" / "op-0.snapshot"),
        str(tmp_path / "chk-2" / "op-0.snapshot"),
    ]


def test_files_stay_as_long_as_a_later_checkpoint_needs_them(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), 1)
    full = completed(store, 1)
    second = completed(store, 2, full)
    # The first is no checkpoint any more, but the second needs its file.
    assert there(tmp_path) == [
        "chk-1/op-0.snapshot",
        f"chk-2/{METADATA}",
        "chk-2/op-0.snapshot",
    ]
    completed(store, 3, second)
    assert "chk-1/op-0.snapshot" in there(tmp_path)
    completed(store, 4)
    assert there(tmp_path) == [f"chk-4/{METADATA}", "chk-4/op-0.snapshot"]
    assert [p.name for p in tmp_path.iterdir()] == ["chk-4"]


def test_retained_checkpoints_can_be_read_when_older_ones_are_gone(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), 2)
    last = None
    for number in range(1, 6):
        last = completed(store, number, last)
    for checkpoint in store.completed:
        assert all(Path(file).exists() for file in checkpoint.all_files)
    assert sorted(str(p) for p in tmp_path.glob(f"*/{METADATA}")) == [
        str(tmp_path / f"chk-{n}" / METADATA) for n in (4, 5)
    ]


def test_nothing_is_left_when_all_checkpoints_go(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / JOB), 1)
    completed(store, 2, completed(store, 1))
    store.clear()
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_deleted_is_tried_again_and_hurts_nobody(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path), 1)
    completed(store, 1)
    metadata = tmp_path / "chk-1" / METADATA
    metadata.unlink()
    metadata.mkdir()
    completed(store, 2)
    assert metadata.exists()
    metadata.rmdir()
    completed(store, 3)
    assert [p.name for p in tmp_path.iterdir()] == ["chk-3"]


class TestBase:
    def test_there_is_none_before_the_first_checkpoint(self, tmp_path: Path) -> None:
        assert CheckpointStore(str(tmp_path), 1).base(JOB, 10) is None

    def test_it_is_the_last_checkpoint_of_the_job_itself(self, tmp_path: Path) -> None:
        store = CheckpointStore(str(tmp_path), 1)
        first = completed(store, 1)
        assert store.base(JOB, 10) == first
        assert store.base("another", 10) is None

    def test_after_many_increments_there_is_none(self, tmp_path: Path) -> None:
        store = CheckpointStore(str(tmp_path), 1)
        last = completed(store, 1, size=1_000)
        for number in range(2, 5):
            assert store.base(JOB, 3) == last
            last = completed(store, number, last, size=1)
        assert store.base(JOB, 3) is None
        assert store.base(JOB, 4) == last

    def test_changes_larger_than_what_they_change_are_too_many(self, tmp_path: Path) -> None:
        store = CheckpointStore(str(tmp_path), 1)
        second = completed(store, 2, completed(store, 1, size=100), size=100)
        assert store.base(JOB, 10) == second
        completed(store, 3, second, size=1)
        assert store.base(JOB, 10) is None


def test_metadata_of_an_unknown_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / METADATA).write_text('{"format": 99}')
    with pytest.raises(CheckpointError, match="this version reads formats 1, 2"):
        load_checkpoint(str(tmp_path))


def test_a_number_is_never_used_again_whatever_became_of_its_checkpoint(tmp_path: Path) -> None:
    store = CheckpointStore(str(tmp_path / "job"), 1)
    assert store.last_number == 0
    store.claim(CheckpointId(7))
    assert CheckpointStore(str(tmp_path / "job"), 1).last_number == 7
    # Of a version that did not count.
    (tmp_path / "job" / "chk-9").mkdir()
    assert store.last_number == 9
    completed(store, 10)
    store.clear()
    assert not (tmp_path / "job").exists()


def test_metadata_that_is_not_what_it_should_be_is_an_error_of_the_checkpoint(
    tmp_path: Path,
) -> None:
    for content in ("[]", "{}", '{"format": 2}', '{"format": 3, "checkpoint": 1}', "\x00"):
        (tmp_path / METADATA).write_text(content)
        with pytest.raises(CheckpointError, match=r"cannot be read|has format"):
            load_checkpoint(str(tmp_path))
