"""Processes of ours that are told what to do on their standard input.

It may be secret, and everybody on the machine can read a command line.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headrace.common.files.rolling_log import LogLimit, keep_output_small

__all__ = ["start", "what_was_told"]


def start(
    module: str,
    arguments: Sequence[str],
    told: Any,
    log: Path,
    limit: LogLimit,
    *,
    directory: Path | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a module in a process and a session of its own; its standard input is left open.

    Args:
        module: What to run.
        arguments: Its command line: what those may know who look at processes.
        told: What it is to do, as JSON.
        log: Where it writes, behind what is there.
        limit: How much of that is kept.
        directory: Its working directory; this one without it.
        environment: All of its environment; this one without it.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
    assert process.stdin is not None
    # One that ended at once is noticed by whoever waits for it.
    with contextlib.suppress(BrokenPipeError):
        all_told = {"told": told, "log": str(log.absolute()), "limit": asdict(limit)}
        process.stdin.write(json.dumps(all_told).encode() + b"\n")
        process.stdin.flush()
    return process


def what_was_told() -> Any:
    """In such a process: what it is to do. From now on it keeps its log small."""
    told = json.loads(sys.stdin.readline())
    keep_output_small(Path(told["log"]), LogLimit(**told["limit"]))
    return told["told"]
