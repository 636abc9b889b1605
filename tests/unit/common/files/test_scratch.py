"""Directories that go away with their owner, or after it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.common.files.scratch import ScratchDirectory

PROGRAM = """
import sys
from headrace.common.files.scratch import ScratchDirectory
made = ScratchDirectory("test", sys.argv[1])
print(made, flush=True)
sys.stdin.read()
"""


def owner(base: Path) -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", PROGRAM, str(base)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_what_a_killed_process_left_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    foreign = tmp_path / "headrace-test-foreign"
    foreign.mkdir()
    (tmp_path / "headrace-test-link").symlink_to(tmp_path)
    killed, left = owner(tmp_path)
    (left / "file").touch()
    end(killed)
    living, used = owner(tmp_path)
    next_one, own = owner(tmp_path)
    try:
        assert not left.exists()
        assert used.is_dir()
        assert own.is_dir()
        assert foreign.is_dir(), "without a lock it may be anybody's"
    finally:
        end(living)
        end(next_one)


DRIVER = """
import os, signal, sys, zipfile
from headrace.common.configuration import Configuration
from headrace.common.files.rolling_log import DEFAULT_LIMIT
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.caches import CachesOfJob
from headrace.datastream.connectors.file_system.remote import Workspace
from headrace.runtime.storage import Storages
from headrace.spark.session import java_output_in_a_file

archive = os.path.join(sys.argv[1], "archive.zip")
with zipfile.ZipFile(archive, "w") as file:
    file.writestr("name", "content")
prepared = prepare(Configuration.from_dict({"python.archives": archive}))
workspace = Workspace(Storages())
workspace.path_for("file")
env = StreamExecutionEnvironment.get_execution_environment()
cached = env.from_collection([1]).cache()
CachesOfJob([cached._transformation]).sinks(env.ids)
with java_output_in_a_file(DEFAULT_LIMIT) as log:
    pass
assert os.path.exists(log)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_temporary_files_of_killed_drivers_are_removed_by_the_next(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for _ in range(3):
        command = [sys.executable, "-c", DRIVER, str(tmp_path)]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        environment.pop("HEADRACE_LOG_DIR", None)
        done = subprocess.run(command, env=environment, check=False)
        assert done.returncode == -signal.SIGKILL
    kinds = sorted(path.name.rpartition("-")[0] for path in temporary.iterdir())
    assert kinds == ["headrace-cache", "headrace-files", "headrace-spark", "headrace-work"]


def test_sockets_find_a_short_path_where_that_of_temporary_files_is_long(tmp_path: Path) -> None:
    base = tmp_path / ("long" * 20)
    base.mkdir()
    made = ScratchDirectory("test", str(base), sockets=True)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(made.path / "12345-1234.sock"))
    finally:
        made.remove()
