"""Processes beside a JobManager whose jobs are jobs of its cluster: SQL clients and gateways.

They run on the host and as the user of the JobManager, on its Spark application. Each has a
directory among those of submitted programs, and its jobs are found, steered and kept in the same
way; they end with the process that started them.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.cluster.client.rest_client import RestClient
from headrace.common.errors import ConfigurationError
from headrace.coordination.access.job_registry import process_start
from headrace.coordination.access.program_jobs import program_environment
from headrace.coordination.slots.logs import slot_log_directory

__all__ = [
    "Attached",
    "OtherProcess",
    "about",
    "attach",
    "attached_in",
    "dashboard_of",
    "forget",
    "offer",
    "withdraw",
]

_OFFER = "spark.json"
_ATTACHED = "attached.json"
_LOOK_S = 0.5

_attached_to: list[str] = []
"""The JobManager of this process, if there is one."""


@dataclass(frozen=True)
class OtherProcess:
    """A process of this host that another one started."""

    pid: int
    start: str

    @classmethod
    def this(cls) -> OtherProcess:
        return cls(os.getpid(), process_start(os.getpid()))

    def runs(self) -> bool:
        return process_start(self.pid) == self.start

    def wait(self) -> int | None:
        """Wait for its end; nobody but its parent knows how it went."""
        while self.runs():
            time.sleep(_LOOK_S)
        return None

    def kill(self) -> None:
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Attached:
    """What a process tells of itself."""

    process: OtherProcess
    submitted_ms: int


# The JobManager.


def offer(directory: Path, environment: dict[str, str]) -> None:
    """Let processes attach to the JobManager of a directory, which is this one."""
    told = {"pid": os.getpid(), "start": process_start(os.getpid()), "environment": environment}
    _write(directory / _OFFER, told)


def withdraw(directory: Path) -> None:
    """Let no more processes attach."""
    (directory / _OFFER).unlink(missing_ok=True)


def attached_in(directory: Path) -> list[Path]:
    """The directories of all processes that ever attached to the JobManager of a directory."""
    return sorted(path.parent for path in (directory / "jobs").glob(f"*/{_ATTACHED}"))


def about(directory: Path) -> Attached | None:
    """The process that a directory belongs to, if it attached itself."""
    try:
        told = json.loads((directory / _ATTACHED).read_text())
    except FileNotFoundError:
        return None
    return Attached(OtherProcess(told["pid"], told["start"]), told["submitted_ms"])


def forget(directory: Path) -> None:
    """Do not take it up again."""
    (directory / _ATTACHED).unlink(missing_ok=True)


# The other process.


def attach(address: str, what: str) -> str:
    """Make the jobs of this process jobs of a cluster; it ends when the JobManager has.

    Args:
        address: The JobManager.
        what: What this process is, for those who look for its output.

    Returns:
        The id of the first job.

    Raises:
        ConfigurationError: The JobManager is another host's or another user's.
    """
    answer = RestClient(address).request("GET", "/jobmanager/environment")
    directory = Path(answer["directory"])
    try:
        told = json.loads((directory / _OFFER).read_text())
    except OSError:
        told = None
    # There may be such a directory on two hosts.
    if told is None or told["pid"] != answer["pid"]:
        raise ConfigurationError(
            f"the JobManager at {address} runs on another host or as another user: start the "
            f"{what} where the JobManager runs, or with -m local to run jobs by itself"
        )
    program = secrets.token_hex(16)
    own = directory / "jobs" / program
    own.mkdir(mode=0o700)
    (own / "job.log").write_text(
        f"the output of this job is in the output of the {what} {os.getpid()}\n"
    )
    this = OtherProcess.this()
    submitted_ms = int(time.time() * 1000)
    _write(own / _ATTACHED, {"pid": this.pid, "start": this.start, "submitted_ms": submitted_ms})
    os.environ.update(
        {
            **told["environment"],
            **slot_log_directory(own / "slots"),
            **program_environment(program, directory / "archive", again=False),
            "HEADRACE_RUN_DIR": str(directory / "run"),
        }
    )
    _attached_to.append(address)
    job_manager = OtherProcess(told["pid"], told["start"])
    threading.Thread(target=_end_with, args=(job_manager, address), daemon=True).start()
    return program


def dashboard_of(job_id: str) -> str | None:
    """Where the dashboard shows a job of this process, if that is attached."""
    return f"{RestClient(_attached_to[-1]).url}/#/jobs/{job_id}" if _attached_to else None


def _end_with(job_manager: OtherProcess, address: str) -> None:
    job_manager.wait()
    print(f"headrace: the JobManager at {address} has ended", file=sys.stderr, flush=True)
    os._exit(1)


def _write(path: Path, content: Any) -> None:
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    # What is needed to attach is a secret of this user.
    with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        json.dump(content, file)
    new.replace(path)
