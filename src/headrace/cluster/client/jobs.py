"""The jobs that commands act upon, wherever they run, and the options that say which."""

from __future__ import annotations

import argparse
import ast
import base64
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol

import cloudpickle

from headrace.cluster.client.configured import add_target, chosen_job_manager
from headrace.cluster.client.rest_client import RestJobs
from headrace.common.errors import HeadraceError
from headrace.coordination.access.control_client import OnProgress, call, cancel, find_job
from headrace.coordination.access.job_registry import JobEntry, JobRegistry
from headrace.coordination.bodies.flink_json import from_json
from headrace.coordination.bodies.jobs import JobDetails, ListedJob

__all__ = [
    "Jobs",
    "LocalJobs",
    "Progress",
    "add_job",
    "add_job_manager",
    "duration_text",
    "jobs_of",
]


class Jobs(Protocol):
    """What can be done with jobs. A job is an id, the beginning of one, or a name."""

    def overview(self) -> Sequence[ListedJob]:
        """All jobs, the newest first."""

    def savepoint(self, job: str, directory: str | None, on_progress: OnProgress) -> str:
        """Take a savepoint; its path."""

    def stop(self, job: str, drain: bool, directory: str | None, on_progress: OnProgress) -> str:
        """Take a savepoint and end the job; its path."""

    def cancel(self, job: str) -> str:
        """Cancel a job; its id."""

    def rescale(self, job: str, parallelism: int, on_progress: OnProgress) -> str:
        """Change the parallelism of a job; its id."""

    def query(self, job: str, name: str, key: Any) -> dict[str, Any]:
        """Read the state of a key, a literal: its `kind`, and as `text`."""

    def details(self, job: str) -> JobDetails:
        """A running job, with the rates of its vertices and a diagnosis."""

    def log(self, job: str, offset: int) -> tuple[int, bytes, bool]:
        """What a job wrote from a place on, the place behind it, and whether it has ended."""


class LocalJobs:
    """Jobs of this user on this host, through their control sockets."""

    def overview(self) -> list[ListedJob]:
        return [_listed(entry) for entry in JobRegistry().entries()]

    def savepoint(self, job: str, directory: str | None, on_progress: OnProgress) -> str:
        path: str = call(find_job(job), "savepoint", on_progress, directory=_absolute(directory))
        return path

    def stop(self, job: str, drain: bool, directory: str | None, on_progress: OnProgress) -> str:
        entry = find_job(job)
        path: str = call(entry, "stop", on_progress, drain=drain, directory=_absolute(directory))
        return path

    def cancel(self, job: str) -> str:
        entry = find_job(job)
        cancel(entry)
        return entry.job_id

    def rescale(self, job: str, parallelism: int, on_progress: OnProgress) -> str:
        entry = find_job(job)
        call(entry, "rescale", on_progress, parallelism=parallelism)
        return entry.job_id

    def query(self, job: str, name: str, key: Any) -> dict[str, Any]:
        packed = base64.b64encode(cloudpickle.dumps(key)).decode()
        answer: dict[str, Any] = call(find_job(job), "query", name=name, key=packed)
        return answer

    def details(self, job: str) -> JobDetails:
        return from_json(JobDetails, call(find_job(job), "details", part="job"))

    def log(self, job: str, offset: int) -> tuple[int, bytes, bool]:
        entry = find_job(job)
        raise HeadraceError(
            f"job {entry.job_id} ({entry.name}) runs by itself, in process {entry.pid}: what it "
            "prints is in the terminal or file that its program writes to"
        )


def jobs_of(options: argparse.Namespace) -> Jobs:
    """The jobs that the options mean."""
    address = chosen_job_manager(options)
    return LocalJobs() if address is None else RestJobs(address)


def add_job_manager(parser: argparse.ArgumentParser) -> None:
    """The option that says whose jobs."""
    parser.add_argument(
        "-m",
        "--jobmanager",
        metavar="HOST:PORT",
        help="act on jobs of this JobManager (default: rest.address and rest.port of the "
        "configuration, if set) instead of programs that run by themselves on this host; "
        "`local` for those",
    )
    add_target(parser)


def add_job(parser: argparse.ArgumentParser) -> None:
    """The argument that says which job, and how to answer."""
    parser.add_argument(
        "job", metavar="JOB", help="the job: its id, the first digits of its id, or its name"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_job_manager(parser)


def literal(text: str) -> Any:
    """A Python literal, or the text itself where it is none."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


class Progress:
    """Shows how far something is, on a terminal only: in one line that is written over."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = ""

    def __call__(self, progress: dict[str, Any]) -> None:
        if not sys.stderr.isatty():
            return
        text = f"{self._what} ..."
        if progress.get("subtasks"):
            text += (
                f" {progress['subtasks_done']} of {progress['subtasks']} subtasks, "
                f"{progress['bytes']:,} bytes"
            )
        elif progress.get("of"):
            text += f" {progress['bytes'] * 100 // progress['of']} % of {progress['of']:,} bytes"
        self._write(text)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(len(self._shown)) + ("" if text else "\r"))
        sys.stderr.flush()
        self._shown = text


def duration_text(ms: int) -> str:
    """A duration in the units that people use for it."""
    seconds = ms // 1000
    if seconds < 60:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


def _absolute(directory: str | None) -> str | None:
    """The job has a working directory of its own."""
    if directory is None or "://" in directory:
        return directory
    return os.path.abspath(directory)


def _listed(entry: JobEntry) -> ListedJob:
    ended = entry.ended_ms if entry.ended_ms is not None else -1
    until = ended if ended >= 0 else int(time.time() * 1000)
    return ListedJob(
        entry.job_id,
        entry.name,
        entry.state,
        entry.started_ms,
        ended,
        until - entry.started_ms,
        pid=entry.pid,
        error=entry.error or None,
    )
