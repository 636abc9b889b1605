"""The jobs of a program that a JobManager runs in a process of its own.

The first job has the id of the program, the others ids that follow from it. So a JobManager that
runs the program again, because it or its host was killed, finds each job under its old id: one that
had ended is not run again, the others go on where they were.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common.errors import (
    CheckpointError,
    CheckpointFailureReason,
    JobCancelledError,
    JobExecutionError,
)
from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.job_id import JobID
from headrace.common.job_status import JobStatus
from headrace.coordination.access.job_registry import JobEntry, JobRegistry
from headrace.coordination.bodies.flink_json import from_json
from headrace.coordination.bodies.jobs import JobParts
from headrace.coordination.checkpoint_store import checkpoints_in
from headrace.runtime.storage import Storages

__all__ = ["EarlierRun", "EndedJob", "archive_file", "archived", "next_job", "program_environment"]

_PROGRAM = "HEADRACE_PROGRAM"
_AGAIN = "HEADRACE_PROGRAM_AGAIN"
_ARCHIVE = "HEADRACE_ARCHIVE_DIR"
_JOB = "HEADRACE_JOB_ID"
"""Says which id the next job of a process has that nobody else runs, to find its checkpoints."""


def program_environment(program: str, archive: Path, *, again: bool) -> dict[str, str]:
    """What the process of a program needs to know; `again` if it was run before."""
    return {_PROGRAM: program, _ARCHIVE: str(archive), _AGAIN: str(int(again))}


class _Program:
    """The program of this process, if a JobManager runs it."""

    def __init__(self) -> None:
        # Not left in the environment: what the program starts is another program.
        self.id = os.environ.pop(_PROGRAM, None)
        self.again = os.environ.pop(_AGAIN, "0") == "1"
        self._numbers = itertools.count()

    def next_id(self) -> str | None:
        number = next(self._numbers)
        if self.id is None or number == 0:
            return self.id
        return hashlib.sha256(f"{self.id}/{number}".encode()).hexdigest()[:32]


_program: _Program | None = None


@dataclass(frozen=True)
class EarlierRun:
    """What the next job of this process is called, and what is left of an earlier run of it.

    `again` if there was one, whatever is left of it.
    """

    job_id: str | None = None
    program: str | None = None
    checkpoints: str | None = None
    parallelism: int | None = None
    ended: JobParts | None = None
    again: bool = False


def next_job(storages: Storages) -> EarlierRun:
    """The job that this process starts now."""
    global _program
    given = os.environ.pop(_JOB, None)
    if given is not None:
        return EarlierRun(given)
    if _program is None:
        _program = _Program()
    job_id = _program.next_id()
    if job_id is None or not _program.again:
        return EarlierRun(job_id, _program.id)
    archive = archive_file(job_id)
    ended = None if archive is None else archived(archive)
    entry = JobRegistry().get(job_id)
    return EarlierRun(
        job_id,
        _program.id,
        None if entry is None else _checkpoints_of(entry, storages),
        None if entry is None else entry.parallelism,
        ended,
        again=True,
    )


def _checkpoints_of(entry: JobEntry, storages: Storages) -> str | None:
    directory = entry.checkpoints
    if directory and checkpoints_in(directory, storages.of(directory)):
        return directory
    return None


def archive_file(job_id: str) -> Path | None:
    """Where the process of a job leaves what can be told about it, if anybody wants it."""
    directory = os.environ.get(_ARCHIVE)
    return None if directory is None else Path(directory, f"{job_id}.json")


def archived(path: Path) -> JobParts | None:
    """What the process of a job that has ended left; None if it has not."""
    try:
        return from_json(JobParts, json.loads(path.read_text()))
    except FileNotFoundError:
        return None


class EndedJob:
    """A job of an earlier run of the program: it is over, and has the outcome that it had.

    As in Flink, accumulators are not among what is kept of it.
    """

    def __init__(self, details: JobParts) -> None:
        overview = details.overview
        self.job_id = JobID(overview.jid)
        self._status = JobStatus[overview.state]
        self._result: Future[JobExecutionResult] = Future()
        if self._status is JobStatus.FINISHED:
            self._result.set_result(JobExecutionResult(self.job_id, overview.duration, {}))
        else:
            kind = JobCancelledError if self._status is JobStatus.CANCELED else JobExecutionError
            why = details.exceptions.root_exception or "the job was cancelled"
            self._result.set_exception(kind(why, job_id=str(self.job_id), job_name=overview.name))

    def status(self) -> JobStatus:
        return self._status

    def cancel(self) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None
    ) -> Future[str]:
        raise self._over()

    def trigger_savepoint(self, savepoint_directory: str | None) -> Future[str]:
        raise self._over()

    def rescale(self, parallelism: int) -> Future[None]:
        raise self._over()

    def accumulators(self) -> dict[str, Any]:
        return {}

    def facts(self) -> dict[str, object]:
        return {}

    def result_future(self) -> Future[JobExecutionResult]:
        return self._result

    def _over(self) -> CheckpointError:
        return CheckpointError(
            f"the job is already {self._status.name}", CheckpointFailureReason.COORDINATOR_SHUTDOWN
        )
