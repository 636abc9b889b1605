"""Starts the process of a JobManager and waits until it answers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.job_manager import running_job_manager
from headrace.common.errors import HeadraceError

__all__ = ["LOG", "command_of", "start_job_manager"]

LOG = "job-manager.log"
_START_S = 180.0
_TAIL = 2_000


def command_of(directory: Path, settings: Iterable[str], *, application: bool) -> list[str]:
    """The command line of the process."""
    command = [sys.executable, "-m", "headrace.cluster.job_manager", str(directory)]
    for setting in settings:
        command += ["-D", setting]
    return [*command, "--application"] if application else command


def start_job_manager(
    directory: Path, settings: Iterable[str], *, application: bool = False
) -> dict[str, object]:
    """Start a JobManager in a directory; its process, host and port.

    Args:
        directory: Where it keeps its jobs, and its log.
        settings: As `-D` takes them.
        application: Whether it ends when its jobs have.

    Raises:
        UsageError: It cannot be started like this; the reason is in the message.
        HeadraceError: It ended, or did not answer in time.
    """
    for package in ("starlette", "uvicorn", "python_multipart"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{package} is missing: pip install 'headrace[cluster]'")
    if running_job_manager(directory) is not None:
        raise UsageError(f"a JobManager runs in {directory} already")
    path = directory / LOG
    with path.open("w") as log:
        child = subprocess.Popen(
            command_of(directory, settings, application=application),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        about = running_job_manager(directory)
        if about is not None and about["pid"] == child.pid:
            return about
        if child.poll() is not None:
            said = path.read_text()[-_TAIL:].rstrip()
            if child.returncode == ExitCode.USAGE:
                raise UsageError(said.removeprefix("headrace: "))
            raise HeadraceError(f"the JobManager ended with code {child.returncode}:\n{said}")
        time.sleep(0.1)
    child.kill()
    raise HeadraceError(f"the JobManager did not start in time; see {path}")
