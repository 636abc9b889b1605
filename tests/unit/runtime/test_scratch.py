"""Directories that go away with their owner, or after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from headrace.runtime.scratch import ScratchDirectory
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
