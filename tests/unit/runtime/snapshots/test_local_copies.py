"""Copies of snapshots on the host: used if they are intact, and gone when nobody needs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.graph.ids import CheckpointId
from headrace.runtime.snapshots.local_copies import CopyingStorage, LocalCopies, local_root
from headrace.runtime.storage import LocalStorage

CONTENT = b"0123456789" * 1_000


@pytest.fixture
def copies(tmp_path: Path) -> LocalCopies:
    return LocalCopies(str(tmp_path / "local"), "job")


@pytest.fixture(params=["streamed", "at once"])
def written(request: pytest.FixtureRequest, tmp_path: Path, copies: LocalCopies) -> str:
    """A file in storage, and its copy."""
    path = str(tmp_path / "storage" / "chk-1" / "a.snapshot")
    storage = CopyingStorage(LocalStorage(), copies)
    if request.param == "streamed":
        with storage.create(path) as file:
            file.write(CONTENT[:100])
            file.write(CONTENT[100:])
    else:
        storage.write(path, CONTENT)
    return path


def again(tmp_path: Path) -> CopyingStorage:
    """What the next attempt on the same host sees."""
    return CopyingStorage(LocalStorage(), LocalCopies(str(tmp_path / "local"), "job"))


def copy_of(tmp_path: Path) -> Path:
    (copy,) = (local_root(str(tmp_path / "local")) / "job").iterdir()
    return copy


def test_an_intact_copy_is_read_in_place_of_the_storage(written: str, tmp_path: Path) -> None:
    Path(written).write_bytes(b"the storage is slow today")
    assert again(tmp_path).read(written) == CONTENT
    assert again(tmp_path).read_range(written, -4, None) == CONTENT[-4:]


def test_a_damaged_or_lost_copy_is_not(written: str, tmp_path: Path) -> None:
    copy = copy_of(tmp_path)
    copy.write_bytes(CONTENT[:-1] + b"x")
    assert again(tmp_path).read_range(written, -1, None) == b"9"
    copy.unlink()
    assert again(tmp_path).read(written) == CONTENT


def test_a_copy_that_cannot_be_made_does_no_harm(
    tmp_path: Path, copies: LocalCopies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_directory", tmp_path / "not there")
    storage = CopyingStorage(LocalStorage(), copies)
    path = str(tmp_path / "b.snapshot")
    with storage.create(path) as file:
        file.write(CONTENT)
    storage.write(path + "2", CONTENT)
    assert Path(path).read_bytes() == Path(path + "2").read_bytes() == CONTENT


def test_what_failed_halfway_leaves_no_copy(tmp_path: Path, copies: LocalCopies) -> None:
    storage = CopyingStorage(LocalStorage(), copies)

    def fail() -> None:
        with storage.create(str(tmp_path / "c.snapshot")) as file:
            file.write(CONTENT)
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        fail()
    assert list((local_root(str(tmp_path / "local")) / "job").iterdir()) == []


def test_copies_stay_as_long_as_a_checkpoint_builds_upon_them(
    tmp_path: Path, copies: LocalCopies
) -> None:
    storage = CopyingStorage(LocalStorage(), copies)
    bases = {1: None, 2: 1, 3: 2, 4: None, 5: 4}
    paths = {n: str(tmp_path / f"{n}.snapshot") for n in bases}

    def take(number: int) -> None:
        base = bases[number]
        copies.began(
            CheckpointId(number), None if base is None else CheckpointId(base), paths[number]
        )
        storage.write(paths[number], CONTENT)

    def there() -> list[int]:
        return [n for n, path in paths.items() if copies.intact(path) is not None]

    for number in (1, 2):
        take(number)
        copies.ended(CheckpointId(number), completed=True)
    take(3)
    copies.ended(CheckpointId(3), completed=False)
    assert there() == [1, 2]
    copies._intact.clear()
    take(4)
    assert there() == [1, 2, 4]
    copies.ended(CheckpointId(4), completed=True)
    assert there() == [4]


def test_the_end_of_a_job_removes_its_copies(written: str, tmp_path: Path) -> None:
    LocalCopies.remove_job(str(tmp_path / "local"), "job")
    assert list(local_root(str(tmp_path / "local")).iterdir()) == []


def test_a_link_that_somebody_left_is_not_followed(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    for name in ("old", "job"):
        (mine / name).mkdir(parents=True)
        os.utime(mine / name, (0, 0))
    root = local_root(str(tmp_path / "local"))
    root.parent.mkdir()
    root.symlink_to(mine)
    assert not LocalCopies(str(tmp_path / "local"), "another job").usable
    LocalCopies.remove_job(str(tmp_path / "local"), "job")
    assert sorted(p.name for p in mine.iterdir()) == ["job", "old"]
