"""Log files that do not grow without end.

A file that has reached its size makes place for a new one and stays beside it, with the place of
its first byte in the whole log as the end of its name: `job.log.16777216`. So a place in the log
means the same whatever was rolled or deleted meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headrace.common import options
from headrace.common.configuration import Configuration

__all__ = [
    "DEFAULT_LIMIT",
    "LogLimit",
    "keep_file_small",
    "keep_output_small",
    "old_parts",
    "remove_log",
]

_LOOK_S = 1.0


@dataclass(frozen=True)
class LogLimit:
    """How much of a log is kept.

    Attributes:
        size: The size in bytes from which on a file makes place for a new one.
        kept: How many files are kept beside the current one.
    """

    size: int
    kept: int

    @classmethod
    def of(cls, configuration: Configuration) -> LogLimit:
        """The limit that is configured."""
        get = configuration.get
        return cls(get(options.ENV_LOG_MAX_SIZE), get(options.ENV_LOG_MAX))


DEFAULT_LIMIT = LogLimit.of(Configuration())


def old_parts(path: Path) -> list[tuple[int, Path]]:
    """What is left of a log beside its current file, oldest first, each with its place."""
    found = []
    for name in os.listdir(path.parent):
        place = name.removeprefix(f"{path.name}.")
        if place != name and place.isdecimal():
            found.append((int(place), path.with_name(name)))
    return sorted(found)


def remove_log(path: Path) -> None:
    """Delete all of a log."""
    for _, old in old_parts(path):
        old.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def keep_output_small(path: Path, limit: LogLimit) -> None:
    """Roll the file that standard output and error of this process go to, for as long as it lives.

    Nothing is lost, since whatever is written goes to the old file or to the new one. Children that
    were started before go on with the old one.
    """

    def move(old: Path) -> None:
        path.replace(old)
        new = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        for descriptor in (1, 2):
            os.dup2(new, descriptor)
        os.close(new)

    _watch(path, limit, move)


def keep_file_small(path: Path, limit: LogLimit) -> None:
    """Roll a file to which another process appends, until somebody deletes it.

    What that writes between the end of the copy and the truncation is lost.
    """

    def move(old: Path) -> None:
        shutil.copyfile(path, old)
        os.truncate(path, 0)

    _watch(path, limit, move)


def _watch(path: Path, limit: LogLimit, move: Callable[[Path], None]) -> None:
    def look() -> None:
        # A log that is gone, or on a full disk, is not worth the life of the process.
        with contextlib.suppress(OSError):
            while not pause.wait(_LOOK_S):
                if path.stat().st_size >= limit.size:
                    _roll(path, limit, move)

    pause = threading.Event()
    threading.Thread(target=look, name="rolling-log", daemon=True).start()


def _roll(path: Path, limit: LogLimit, move: Callable[[Path], None]) -> None:
    parts = old_parts(path)
    place = parts[-1][0] + parts[-1][1].stat().st_size if parts else 0
    move(path.with_name(f"{path.name}.{place}"))
    for _, old in old_parts(path)[: -limit.kept]:
        old.unlink(missing_ok=True)
