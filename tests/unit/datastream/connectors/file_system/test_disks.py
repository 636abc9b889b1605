"""Disks that are full or cannot be written, real ones where the system lets us mount them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.common.errors import JobExecutionError
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.file_system import BucketAssigner, FileSink
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process

RECORDS = 3_000


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of its own with options of `mount`."""
    mounted: list[Path] = []

    def make(options: str) -> Path:
        directory = tmp_path / "disk"
        directory.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "headrace-test", str(directory)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command to make a disk with")
        if run.returncode != 0:
            pytest.skip(f"a disk cannot be mounted here: {run.stderr.strip()}")
        mounted.append(directory)
        return directory

    yield make
    for directory in mounted:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def write_lines(directory: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = (
        FileSink.for_row_format(str(directory / "out"), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )
    env.from_collection([f"{i:0100d}" for i in range(RECORDS)], Types.STRING()).sink_to(sink)
    run_in_process(env, epoch_records=100)


def seen(directory: Path) -> list[Path]:
    """Files that readers see."""
    with suppress(FileNotFoundError):
        return [p for p in (directory / "out").iterdir() if not p.name.startswith(".")]
    return []


def test_a_full_disk(mount: Callable[[str], Path]) -> None:
    disk = mount("size=1m")
    filler = disk / "filler"
    filler.write_bytes(b"x" * 900 * 1024)
    with pytest.raises(JobExecutionError, match=r"No space left on device.*free space") as caught:
        write_lines(disk)
    assert str(disk / "out") in str(caught.value)
    # No reader sees half a file; with room on the disk the job goes through.
    assert seen(disk) == []
    filler.unlink()
    write_lines(disk)
    lines = [int(line) for file in seen(disk) for line in file.read_text().splitlines()]
    assert lines == list(range(RECORDS))


def test_a_read_only_file_system(mount: Callable[[str], Path]) -> None:
    disk = mount("size=1m,ro")
    with pytest.raises(JobExecutionError, match=r"Read-only file system.*another path"):
        write_lines(disk)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_of_somebody_else(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(JobExecutionError, match=r"Permission denied.*the right to write there"):
        write_lines(tmp_path)
