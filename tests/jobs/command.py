"""The `headrace` command, in this process where that proves the same: a start takes a second."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys

from headrace.cluster.cli import main

HEADRACE = [sys.executable, "-m", "headrace.cluster.cli"]
LIMIT_S = 240.0


def headrace(*arguments: str, code: int = 0) -> str:
    """Call a command that asks others to do something; what it prints, and errors if it fails."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        returned = main(arguments)
    assert returned == code, out.getvalue() + errors.getvalue()
    assert "Traceback" not in errors.getvalue()
    return out.getvalue() + (errors.getvalue() if code else "")


def headrace_process(*arguments: str) -> str:
    """Call a command that does or starts something itself, in a process of its own."""
    done = subprocess.run(
        [*HEADRACE, *arguments], capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
