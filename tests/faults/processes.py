"""Processes that fault tests start, watch and kill."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.spark_classes import class_archive
from tools.processes import alive

LIMIT_S = 240.0

_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# JVMs of other programs say that the archive is not for them, but not in what they print.
_WITH_CLASSES = "-Xlog:disable -Xlog:all=warning:stderr -XX:SharedArchiveFile"


def short_lived() -> dict[str, str]:
    """For executors, too, which inherit it: they live too briefly for a good compiler."""
    archive = class_archive()
    # A JVM that is to write it does not start if it is also told to use it.
    classes = f" {_WITH_CLASSES}={archive.path}" if archive.is_whole() else ""
    return {"JAVA_TOOL_OPTIONS": _SHORT_LIVED + classes}


class Child:
    """A program in a process of its own, with its output in a file."""

    def __init__(self, program: Path | str, arguments: list[str], log: Path) -> None:
        self.log = log
        self._out = log.open("w")
        command = ["-m", program] if isinstance(program, str) else [str(program)]
        self.process = subprocess.Popen(
            [sys.executable, *command, *arguments],
            stdout=self._out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **short_lived()},
        )

    def lines(self, word: str) -> list[str]:
        """The lines of the output that start with a word and are complete."""
        whole = self.log.read_text().rpartition("\n")[0]
        return [line for line in whole.splitlines() if line.split(" ", 1)[0] == word]

    def wait_for(self, word: str, count: int = 1) -> str:
        """The line with which a word has come `count` times."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            found = self.lines(word)
            if len(found) >= count:
                return found[count - 1]
            if self.process.poll() is not None and len(self.lines(word)) < count:
                break
            time.sleep(0.1)
        raise AssertionError(f"{word!r} did not come {count} times:\n{self.log.read_text()}")

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        self._out.close()


def children_of(pid: int) -> list[int]:
    """Direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def descendants_of(pid: int, word: bytes) -> list[int]:
    """Processes below another one whose command line has a word in it."""
    found, waiting = [], [pid]
    while waiting:
        for child in children_of(waiting.pop()):
            waiting.append(child)
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes()
            except OSError:
                continue
            if word in command:
                found.append(child)
    return found


def assert_gone(pids: list[int]) -> None:
    """Wait until processes have ended."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline and any(map(alive, pids)):
        time.sleep(0.1)
    assert [pid for pid in pids if alive(pid)] == []
