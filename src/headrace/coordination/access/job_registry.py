"""Where the running jobs of a user are found: one small file for each job, in a private directory.

The process that runs a job writes its file and keeps it true. A job whose process is gone without
a word is noted as failed by whoever looks next. Ended jobs stay listed for a while.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headrace.common.errors import ConfigurationError
from headrace.common.files.private_directory import private_directory
from headrace.common.job_status import JobStatus
from headrace.coordination.slots.dependencies import cache_directory

__all__ = ["JobEntry", "JobRegistry", "run_directory"]

_KEPT_S = 24 * 3600
_KEPT = 100
_SUFFIX = ".job"


@dataclass(frozen=True)
class JobEntry:
    """A job as others see it; times are milliseconds, `ended_ms` is None while it runs.

    `checkpoints` is the directory of its checkpoints, `program` the program of a JobManager that
    started it, and `parallelism` what it was rescaled to.
    """

    job_id: str
    name: str
    pid: int
    process_start: str
    address: str
    state: str
    started_ms: int
    ended_ms: int | None = None
    error: str | None = None
    checkpoints: str | None = None
    program: str | None = None
    parallelism: int | None = None

    @property
    def running(self) -> bool:
        return self.ended_ms is None


def run_directory() -> Path:
    """`HEADRACE_RUN_DIR`, else a directory of the login session, else one in the user's cache."""
    given = os.environ.get("HEADRACE_RUN_DIR")
    session = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        directory = Path(given)
    elif session and os.access(session, os.W_OK):
        directory = Path(session) / "headrace"
    else:
        directory = cache_directory() / "run"
    try:
        return private_directory(directory)
    except (ConfigurationError, OSError) as error:
        raise ConfigurationError(
            f"the directory of running jobs {directory} cannot be used ({error}); set "
            "HEADRACE_RUN_DIR to your own directory"
        ) from error


class JobRegistry:
    """The jobs of this user on this host."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or run_directory()

    def put(self, entry: JobEntry) -> None:
        """Write a job's file, new or again."""
        path = self.directory / f"{entry.job_id}{_SUFFIX}"
        new = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        new.write_text(json.dumps(asdict(entry)))
        new.replace(path)

    def entries(self) -> list[JobEntry]:
        """All jobs, the newest first; those whose process is gone are noted as ended."""
        found = [e for path in self.directory.glob(f"*{_SUFFIX}") if (e := _read(path))]
        found.sort(key=lambda e: e.started_ms, reverse=True)
        return [self._checked(entry, index) for index, entry in enumerate(found)]

    def get(self, job_id: str) -> JobEntry | None:
        """One job as it is now."""
        entry = _read(self.directory / f"{job_id}{_SUFFIX}")
        return None if entry is None else self._checked(entry, 0)

    def _checked(self, entry: JobEntry, index: int) -> JobEntry:
        now_ms = int(time.time() * 1000)
        if entry.ended_ms is not None:
            if index >= _KEPT or now_ms - entry.ended_ms > _KEPT_S * 1000:
                self._remove(entry)
            return entry
        if process_start(entry.pid) == entry.process_start:
            return entry
        lost = replace(
            entry,
            state=JobStatus.FAILED.name,
            ended_ms=now_ms,
            error=f"the process of the job ({entry.pid}) ended without a report: it was killed",
        )
        with contextlib.suppress(OSError):
            os.unlink(entry.address)
        with contextlib.suppress(OSError):
            self.put(lost)
        return lost

    def _remove(self, entry: JobEntry) -> None:
        with contextlib.suppress(OSError):
            (self.directory / f"{entry.job_id}{_SUFFIX}").unlink()


def process_start(pid: int) -> str:
    """When a process was started, empty if there is none: an id may come to mean another one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return "" if not _exists(pid) else "unknown"
    return "" if fields[0] == "Z" else fields[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(path: Path) -> JobEntry | None:
    try:
        return JobEntry(**json.loads(path.read_text()))
    except (OSError, ValueError, TypeError):
        return None
