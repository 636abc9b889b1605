"""Named points at which a fault test can have a process kill itself.

A test starts a job with `HEADRACE_CRASH_POINTS` set to a directory, and arms a point by making a
file there with the point's name: the first process that comes by removes the file and is gone, as
by `kill -9`. Without the variable a point is a call that does nothing, and none is in the way of
records.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

VARIABLE = "HEADRACE_CRASH_POINTS"

POINTS: dict[str, str] = {
    "epoch-begun": "slot: a subtask has its plan and reads nothing yet",
    "barrier-reached": "slot: all records of the epoch are processed, no snapshot is taken",
    "snapshot-taken": "slot: the child that writes the snapshot is on its own",
    "part-begun": "writer: the snapshot is not serialized yet",
    "part-written": "writer: the file is there, nobody knows",
    "commit-begun": "slot: sinks have something to commit",
    "commit-done": "slot: sinks have committed, nobody knows",
    "functions-notified": "slot: functions know that a checkpoint is complete",
    "restore-begun": "slot: nothing of the checkpoint is read yet",
    "restore-done": "slot: the state is there, the functions are not open",
    "checkpoint-begun": "driver: a checkpoint has its number, no slot knows of it",
    "metadata-begun": "driver: all parts are there, the metadata is not",
    "metadata-written": "driver: the checkpoint is complete, and nobody was told",
    "checkpoint-announced": "driver: collected records were handed over",
}
"""All points: in which process, and what has happened there."""

_directory = os.environ.get(VARIABLE)


def crash_point(name: str) -> None:
    """Kill this process here, if a test wants that."""
    if _directory is not None:
        _crash_if_armed(Path(_directory), name)


def _crash_if_armed(directory: Path, name: str) -> None:
    assert name in POINTS, name
    try:
        # Of several processes that come by only one finds the file.
        (directory / name).rename(directory / f"{name}.{os.getpid()}")
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
