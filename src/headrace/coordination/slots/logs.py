"""What each slot of a job writes, in a file of its own, for a JobManager to show."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from headrace.graph.ids import SlotId

__all__ = ["SlotLogs", "log_files", "slot_log_directory"]

_DIRECTORY = "HEADRACE_SLOT_LOGS"
_LARGEST = 16 << 20


def slot_log_directory(directory: Path) -> dict[str, str]:
    """The environment of a process whose job keeps logs of its slots in a directory."""
    return {_DIRECTORY: str(directory)}


def log_files(directory: Path, slot: int) -> list[Path]:
    """The logs of a slot that there are, the newest first."""
    name = _name(slot)
    return [p for p in (directory / name, directory / f"{name}.1") if p.is_file()]


def _name(slot: int) -> str:
    return f"slot-{slot}.log"


class SlotLogs:
    """Appends to the file of each slot; one that grows large makes place, once, for a new one.

    Args:
        directory: Where to write; nothing is written without one.
        largest: The size in bytes from which on a file is large.
    """

    def __init__(self, directory: str | None, largest: int = _LARGEST) -> None:
        self._directory = None if directory is None else Path(directory)
        self._largest = largest
        self._lock = threading.Lock()
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    @classmethod
    def of_environment(cls) -> SlotLogs:
        """Where the JobManager that runs this job wants them; nowhere without one."""
        return cls(os.environ.get(_DIRECTORY))

    def write(self, slot: SlotId, text: str) -> None:
        """Add what a slot wrote."""
        if self._directory is None:
            return
        path = self._directory / _name(slot)
        # The same text is in the log of the job: a full disk is found out there.
        with self._lock, contextlib.suppress(OSError):
            with path.open("a", encoding="utf-8", errors="replace") as file:
                file.write(text)
                size = file.tell()
            if size >= self._largest:
                path.replace(path.with_name(f"{path.name}.1"))
