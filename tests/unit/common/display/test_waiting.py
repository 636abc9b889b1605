"""What is being waited for is said on a terminal, and leaves nothing behind."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

PROGRAM = """
import os, sys
from headrace.common.display.waiting import waiting

with waiting("starting Spark"):
    # As while Spark starts, whose output goes to a file.
    saved = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    sys.stdin.readline()
    os.dup2(saved, 2)
sys.stderr.write("done")
"""


def test_a_terminal_shows_it_until_it_is_over() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stderr=theirs, env=environment
    ) as program:
        os.close(theirs)
        shown = ""
        while "starting Spark ... " not in shown:
            shown += os.read(ours, 1000).decode()
        assert program.stdin is not None
        program.stdin.write(b"\n")
        program.stdin.close()
        while not shown.endswith("done"):
            shown += os.read(ours, 1000).decode()
    os.close(ours)
    # The line was cleared before anything else was written.
    assert shown.endswith("\r\x1b[Kdone")


def test_nothing_is_said_elsewhere() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=b"\n", capture_output=True, check=True
    )
    assert (ended.stdout, ended.stderr) == (b"", b"done")
