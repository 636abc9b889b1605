"""Every storage keeps the same promises; the faulty one breaks them as it is told."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.runtime.storage import (
    Storage,
    Storages,
    join,
    name_of,
    relative_to,
    resolve,
    shared,
)
from headrace.testing import memory_storage
from headrace.testing.faulty_storage import Fault, FaultPlan, FaultyStorage
from tests.s3_server import BUCKET, running_s3_server

MORE_THAN_ONE_PART = 6 << 20


@pytest.fixture(scope="module")
def s3_settings() -> Iterator[dict[str, str]]:
    with running_s3_server() as server:
        yield server.settings


_S3 = pytest.param("s3", marks=pytest.mark.server)


@pytest.fixture(params=["local", "file", "memory", _S3, "faulty", "in-process"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Storage, str]:
    """A storage, and a directory in it."""
    settings = request.getfixturevalue("s3_settings") if request.param == "s3" else {}
    directory = {
        "local": str(tmp_path),
        "file": f"file://{tmp_path}",
        "memory": f"memory://{uuid4()}",
        "s3": f"s3://{BUCKET}/{uuid4()}",
        "faulty": f"faulty://{tmp_path}",
        "in-process": f"{memory_storage.SCHEME}://{uuid4()}",
    }[request.param]
    storages = Storages.from_configuration(Configuration.from_dict(settings))
    return storages.of(directory), directory


class TestEveryStorage:
    def test_files_below_a_directory_and_their_names(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        assert storage.files(directory) == []
        paths = [join(directory, name) for name in ("a", "deep/b", "deep/er/c")]
        for path in paths:
            storage.write(path, path.encode())
        assert storage.files(directory) == paths
        storage.move(paths[0], join(directory, "deep/d"))
        assert storage.files(directory) == [paths[1], join(directory, "deep/d"), paths[2]]
        assert storage.read(join(directory, "deep/d")) == paths[0].encode()

    def test_a_file_is_there_when_it_is_written(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        path = join(directory, "chk-1", "_metadata")
        assert not storage.exists(path)
        storage.write(path, b"one")
        storage.write(path, b"two")
        assert storage.exists(path)
        assert storage.read(path) == b"two"
        assert storage.names(join(directory, "chk-1")) == ["_metadata"]

    def test_a_file_is_written_in_order_and_read_anywhere(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        path = join(directory, "large")
        with storage.create(path) as file:
            file.write(b"a" * MORE_THAN_ONE_PART)
            file.write(b"tail")
        with storage.open(path) as file:
            file.seek(-4, 2)
            assert file.read() == b"tail"
            file.seek(MORE_THAN_ONE_PART - 2)
            assert file.read(4) == b"aata"

    def test_a_file_that_failed_halfway_is_not_there(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        if directory.startswith("memory"):
            pytest.skip("fsspec's memory shows a file while it is written")
        path = join(directory, "large")

        def write_half() -> None:
            with storage.create(path) as file:
                file.write(b"a" * MORE_THAN_ONE_PART)
                raise RuntimeError("no more")

        with pytest.raises((RuntimeError, OSError), match="no more"):
            write_half()
        assert not storage.exists(path)
        assert storage.names(directory) == []

    def test_what_is_deleted_is_gone(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        for name in ("a", "b"):
            storage.write(join(directory, "chk-1", name), b"x")
        storage.delete(join(directory, "chk-1", "a"))
        storage.delete(join(directory, "chk-1", "a"))
        assert storage.names(join(directory, "chk-1")) == ["b"]
        storage.delete_empty_directory(join(directory, "chk-1"))
        assert storage.names(join(directory, "chk-1")) == ["b"]
        storage.delete_directory(join(directory, "chk-1"))
        storage.delete_directory(join(directory, "chk-1"))
        assert storage.names(directory) == []

    def test_a_missing_file_is_an_error_of_the_system(self, place: tuple[Storage, str]) -> None:
        storage, directory = place
        with pytest.raises(FileNotFoundError):
            storage.read(join(directory, "missing"))
        with pytest.raises(FileNotFoundError):
            storage.open(join(directory, "missing")).read()


class TestLocal:
    def test_no_part_of_a_file_is_ever_seen(self, tmp_path: Path) -> None:
        storage = Storages().of(str(tmp_path))
        with storage.create(str(tmp_path / "file")) as file:
            file.write(b"half")
            file.flush()
            assert not (tmp_path / "file").exists()
        assert [p.name for p in tmp_path.iterdir()] == ["file"]


class TestSchemes:
    def test_an_unknown_one_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="there is no file system for nowhere"):
            Storages().of("nowhere://x")

    def test_a_missing_package_is_named_with_its_pip_line(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from fsspec.registry import _registry

        monkeypatch.setitem(sys.modules, "s3fs", None)
        monkeypatch.delitem(_registry, "s3", raising=False)
        with pytest.raises(ConfigurationError, match=r"pip install 'headrace\[s3\]'"):
            Storages().of("s3://bucket")

    @pytest.mark.slow
    def test_a_bucket_that_is_not_there_is_an_error_of_the_system(
        self, s3_settings: dict[str, str]
    ) -> None:
        storages = Storages.from_configuration(Configuration.from_dict(s3_settings))
        with pytest.raises(OSError, match="bucket"):
            storages.of("s3://elsewhere/y").write("s3://elsewhere/y", b"")

    def test_memory_is_refused_for_jobs(self) -> None:
        with pytest.raises(ConfigurationError, match="separate processes"):
            shared("memory://x")

    def test_local_places_do_not_depend_on_the_working_directory(self) -> None:
        assert shared("file:///a/b") == "/a/b"
        assert Path(shared("a")).is_absolute()
        assert shared("s3://a") == "s3://a"


class TestPaths:
    @pytest.mark.parametrize("root", ["/data", "s3://bucket/data", "data"])
    def test_they_lead_from_a_directory_and_back(self, root: str) -> None:
        there = resolve(f"{root}/chk-1", "../shared/x")
        assert there == f"{root}/shared/x"
        assert relative_to(f"{root}/chk-1", there) == "../shared/x"
        assert name_of(there) == "x"
        assert resolve(f"{root}/chk-1", "x") == f"{root}/chk-1/x"


class TestFaults:
    def test_the_disk_is_full_at_the_nth_write(self, tmp_path: Path) -> None:
        plan = FaultPlan(tmp_path)
        plan.install(Fault("full", files="*.snapshot", first=2))
        storage = Storages().of(plan.url)
        storage.write(f"{plan.url}/chk-1/a.snapshot", b"1234")
        storage.write(f"{plan.url}/chk-1/_metadata", b"1234")
        with pytest.raises(OSError, match="No space left") as caught:
            storage.write(f"{plan.url}/chk-1/b.snapshot", b"1234")
        assert caught.value.errno == errno.ENOSPC
        storage.write(f"{plan.url}/chk-1/c.snapshot", b"1234")
        assert storage.names(f"{plan.url}/chk-1") == ["_metadata", "a.snapshot", "c.snapshot"]
        assert plan.count(0) == 3

    def test_files_are_lost_or_torn_without_a_word(self, tmp_path: Path) -> None:
        plan = FaultPlan(tmp_path)
        plan.install(Fault("lost", files="lost"), Fault("torn", files="torn"))
        storage = FaultyStorage(plan)
        for name in ("lost", "torn"):
            storage.write(str(tmp_path / name), b"1234")
        assert storage.names(str(tmp_path)) == ["torn"]
        assert storage.read(str(tmp_path / "torn")) == b"12"

    def test_reading_and_deleting_can_be_refused(self, tmp_path: Path) -> None:
        plan = FaultPlan(tmp_path)
        plan.install(
            Fault("denied", "read", times=None), Fault("denied", "delete"), Fault("slow", "write")
        )
        storage = FaultyStorage(plan)
        path = str(tmp_path / "file")
        storage.write(path, b"x")
        with pytest.raises(PermissionError):
            storage.read(path)
        with pytest.raises(PermissionError):
            storage.delete(path)
        storage.delete(path)
        assert not storage.exists(path)
