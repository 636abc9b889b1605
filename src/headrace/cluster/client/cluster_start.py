"""Starts the process of a server of ours and waits until it answers."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager import told_process
from headrace.cluster.manager.job_manager import running_job_manager
from headrace.common.display.waiting import waiting
from headrace.common.errors import HeadraceError
from headrace.common.files.rolling_log import LogLimit, remove_log
from headrace.common.option_loading import load_configuration, settings_from_arguments

__all__ = ["LOG", "start_job_manager", "start_process"]

LOG = "job-manager.log"
_START_S = 180.0
_TAIL = 2_000


def start_job_manager(
    directory: Path,
    settings: Iterable[str],
    *,
    application: bool = False,
    temporary: bool = False,
) -> dict[str, object]:
    """Start a JobManager in a directory; its process, host and port.

    Args:
        directory: Where it keeps its jobs, and its log.
        settings: As `-D` takes them.
        application: Whether it ends when its jobs have, or when this process has without a job.
        temporary: Whether the directory is removed at its end, or if it does not start.

    Raises:
        UsageError: It cannot be started like this; the reason is in the message.
        HeadraceError: It ended, or did not answer in time.
    """
    if running_job_manager(directory) is not None:
        raise UsageError(f"a JobManager is already running in {directory}")

    def running(pid: int) -> dict[str, object] | None:
        about = running_job_manager(directory)
        return about if about is not None and about["pid"] == pid else None

    arguments = [str(directory)]
    arguments += ["--application", str(os.getpid())] if application else []
    arguments += ["--temporary"] if temporary else []
    module = "headrace.cluster.manager.job_manager"
    try:
        made = settings_from_arguments(settings).to_dict()
        return start_process(module, arguments, made, directory / LOG, running, "JobManager")
    except BaseException:
        if temporary:
            shutil.rmtree(directory, ignore_errors=True)
        raise


def start_process(
    module: str,
    arguments: list[str],
    settings: dict[str, str],
    path: Path,
    running: Callable[[int], dict[str, object] | None],
    what: str,
) -> dict[str, object]:
    """Start a server that goes on when this process ends, and wait until it is there.

    Args:
        module: What to run.
        arguments: Its command line.
        settings: Its settings, which it is told.
        path: Its log.
        running: What the server of a process says about itself, once it does.
        what: Its name, for errors.
    """
    remove_log(path)
    limit = LogLimit.of(load_configuration(None, settings))
    child = told_process.start(module, arguments, settings, path, limit)
    deadline = time.monotonic() + _START_S
    with waiting(f"starting the {what}"), _ended_with(child):
        while time.monotonic() < deadline:
            about = running(child.pid)
            if about is not None:
                return about
            if child.poll() is not None:
                said = path.read_text()[-_TAIL:].rstrip()
                if child.returncode == ExitCode.USAGE:
                    raise UsageError(said.removeprefix("headrace: "))
                raise HeadraceError(f"the {what} ended with code {child.returncode}:\n{said}")
            time.sleep(0.1)
        raise HeadraceError(f"the {what} did not start in time; see {path}")


@contextlib.contextmanager
def _ended_with(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """End a process that nobody knows of if it is not waited for to the end, as with Ctrl-C."""
    try:
        yield
    except BaseException:
        child.kill()
        raise
