"""The jobs of a cluster: each in a process of its own, all on one Spark application.

What is needed to start a job again is on disk before its process is: after a restart of the
JobManager every job that had not ended goes on from its last checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import shutil
import subprocess
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headrace.cluster import told_process
from headrace.cluster.configured import LOCAL
from headrace.cluster.empty_job import empty_parts
from headrace.cluster.log_files import LocalLog
from headrace.cluster.programs import Programs
from headrace.common.errors import CheckpointError, UnknownJobError
from headrace.common.job_status import JobStatus
from headrace.coordination.checkpoint_store import checkpoints_in
from headrace.coordination.control_client import OnProgress, call
from headrace.coordination.job_overview import NO_TASKS
from headrace.coordination.job_registry import JobRegistry
from headrace.coordination.slot_logs import log_files, slot_log_directory
from headrace.runtime.storage import Storages

__all__ = ["Dispatcher", "Submission"]

_log = logging.getLogger(__name__)

_TAIL = 4_000
_STARTING = "INITIALIZING"
_ENDED_KEPT = 100


@dataclass(frozen=True)
class Submission:
    """How a program is to be run."""

    program: str
    entry: str | None = None
    arguments: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    parallelism: int | None = None
    savepoint: str | None = None
    allow_non_restored_state: bool = False
    pyflink: bool = False


@dataclass
class _Job:
    id: str
    directory: Path
    submission: Submission
    submitted_ms: int
    process: subprocess.Popen[bytes] | None = None
    cancelled: bool = False
    ended: dict[str, Any] | None = None


class Dispatcher:
    """Starts, finds and recovers jobs. Methods may be called from any thread."""

    def __init__(
        self,
        directory: Path,
        programs: Programs,
        environment: dict[str, str],
        storages: Storages | None = None,
        *,
        on_this_machine: bool = True,
    ) -> None:
        self._directory = directory
        self._programs = programs
        self._storages = storages or Storages()
        for name in ("run", "jobs", "archive", "checkpoints"):
            (directory / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        self._registry = JobRegistry(directory / "run")
        self._environment = {
            **os.environ,
            **environment,
            "PYTHONPATH": _absolute_path(os.environ.get("PYTHONPATH", "")),
            "HEADRACE_RUN_DIR": str(directory / "run"),
            "HEADRACE_ARCHIVE_DIR": str(directory / "archive"),
        }
        # Slots on other hosts do not reach this directory.
        checkpoints = {"execution.checkpointing.dir": str(directory / "checkpoints")}
        self._defaults = checkpoints if on_this_machine else {}
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._closing = False

    # Starting.

    def submit(self, submission: Submission) -> str:
        """Start a program; the id of its job."""
        job_id = secrets.token_hex(16)
        directory = self._directory / "jobs" / job_id
        (directory / "program").mkdir(parents=True, mode=0o700)
        try:
            target = directory / "program"
            file = self._programs.unpack(submission.program, target, submission.entry)
        except BaseException:
            shutil.rmtree(directory)
            raise
        job = _Job(job_id, directory, submission, int(time.time() * 1000))
        about = {
            "submission": asdict(submission),
            "file": str(file.relative_to((directory / "program").resolve())),
            "submitted_ms": job.submitted_ms,
        }
        new = directory / "submission.new"
        new.write_text(json.dumps(about))
        new.replace(directory / "submission.json")
        with self._lock:
            self._jobs[job_id] = job
        self._start(job, file, submission.savepoint)
        return job_id

    def recover(self) -> list[str]:
        """Take up the jobs of an earlier JobManager; the ids of those that go on."""
        going_on = []
        for path in sorted((self._directory / "jobs").glob("*/submission.json")):
            about = json.loads(path.read_text())
            given = about["submission"]
            submission = Submission(**{**given, "arguments": tuple(given["arguments"])})
            job = _Job(path.parent.name, path.parent, submission, about["submitted_ms"])
            ended = path.parent / "ended.json"
            if ended.exists():
                job.ended = json.loads(ended.read_text())
            self._jobs[job.id] = job
            if job.ended is None:
                file = path.parent / "program" / about["file"]
                self._start(job, file, self._restore_point(job))
                going_on.append(job.id)
        return going_on

    def _restore_point(self, job: _Job) -> str | None:
        """The directory of the job's checkpoints if it has any, else what it was started from."""
        entry = self._registry.get(job.id)
        directory = entry.checkpoints if entry is not None else None
        if directory and checkpoints_in(directory, self._storages.of(directory)):
            return directory
        return job.submission.savepoint

    def _start(self, job: _Job, file: Path, restore: str | None) -> None:
        submission = job.submission
        settings = {**self._defaults, **submission.settings}
        command = ["run", "-m", LOCAL]
        for key, value in settings.items():
            command += ["-D", f"{key}={value}"]
        if submission.parallelism is not None:
            command += ["-p", str(submission.parallelism)]
        if restore is not None:
            command += ["-s", restore]
        if submission.allow_non_restored_state:
            command += ["-n"]
        if submission.pyflink:
            command += ["--pyflink"]
        with (job.directory / "job.log").open("ab") as log:
            job.process = told_process.start(
                "headrace.cluster.job_process",
                [job.id],
                [*command, str(file), *submission.arguments],
                log,
                directory=job.directory / "program",
                environment={
                    **self._environment,
                    **slot_log_directory(job.directory / "slots"),
                    "HEADRACE_JOB_ID": job.id,
                },
            )
        _log.info("job %s runs in process %s", job.id, job.process.pid)
        threading.Thread(target=self._await, args=(job,), daemon=True).start()

    def _await(self, job: _Job) -> None:
        assert job.process is not None
        code = job.process.wait()
        if self._closing:
            return
        archive = self._directory / "archive" / f"{job.id}.json"
        if archive.exists():
            ended = json.loads(archive.read_text())
        else:
            ended = self._without_a_word(job, code)
        job.ended = ended
        # A JobManager that is killed here must not leave half of it: the next one would not start.
        new = job.directory / "ended.new"
        new.write_text(json.dumps(ended))
        new.replace(job.directory / "ended.json")
        _log.info("job %s is %s", job.id, ended["overview"]["state"])
        self._forget_old()

    def _without_a_word(self, job: _Job, code: int) -> dict[str, Any]:
        """What can be told of a program that ended without a job."""
        status = JobStatus.CANCELED if job.cancelled else JobStatus.FAILED
        overview = self._overview_of_process(job, status.name)
        now = int(time.time() * 1000)
        overview |= {"end-time": now, "duration": now - job.submitted_ms}
        log = self.log_file(job.id)
        said = b"".join(log.read(max(log.size() - _TAIL, 0), _TAIL)).decode(errors="replace")
        text = f"the program ended with code {code} before its job did:\n{said}"
        return empty_parts(overview, text, now)

    def _forget_old(self) -> None:
        ended = [j for j in self._jobs.values() if j.ended is not None]
        ended.sort(key=lambda j: j.submitted_ms)
        for job in ended[:-_ENDED_KEPT]:
            with self._lock:
                self._jobs.pop(job.id, None)
            (job.directory / "submission.json").unlink(missing_ok=True)

    # Looking.

    def overview(self) -> list[dict[str, Any]]:
        """All jobs, the newest first."""
        with self._lock:
            jobs = sorted(self._jobs.values(), key=lambda j: j.submitted_ms, reverse=True)
        return [self._ask(job, "overview") for job in jobs]

    def details(self, job_id: str, part: str) -> Any:
        """A part of what can be told about a job; see `job_details`."""
        return self._ask(self._job(job_id), part)

    def log_file(self, job_id: str) -> LocalLog:
        """What the program and the functions of a job wrote."""
        return LocalLog(f"{job_id}.log", self._job(job_id).directory / "job.log")

    def slot_logs(self, job_id: str, slot: int) -> list[LocalLog]:
        """What the functions in a slot wrote."""
        found = log_files(self._job(job_id).directory / "slots", slot)
        return [LocalLog(f"{job_id}-{path.name}", path) for path in found]

    def require(self, job_id: str) -> None:
        """Refuse a job that there is not."""
        self._job(job_id)

    def slots(self) -> list[dict[str, Any]]:
        """The slots of all jobs."""
        with self._lock:
            running = [job for job in self._jobs.values() if job.ended is None]
        found = []
        for job in running:
            about = {"jobId": job.id, "jobName": self._ask(job, "overview")["name"]}
            found += [{**slot, **about} for slot in self._ask(job, "slots")]
        return found

    def _ask(self, job: _Job, part: str) -> Any:
        if job.ended is None:
            entry = self._registry.get(job.id)
            if entry is not None and entry.running:
                with contextlib.suppress(UnknownJobError):
                    return call(entry, "details", part=part)
        if job.ended is not None and part in job.ended:
            return job.ended[part]
        state = job.ended["overview"]["state"] if job.ended else _STARTING
        return empty_parts(self._overview_of_process(job, state))[part]

    def _overview_of_process(self, job: _Job, state: str) -> dict[str, Any]:
        return {
            "jid": job.id,
            "name": job.submission.program.partition("_")[2],
            "state": state,
            "start-time": job.submitted_ms,
            "end-time": -1,
            "duration": int(time.time() * 1000) - job.submitted_ms,
            "last-modification": job.submitted_ms,
            "tasks": NO_TASKS,
            "pending-operators": 0,
            "parallelism": 0,
            "restarts": 0,
        }

    # Acting.

    def perform(
        self,
        job_id: str,
        operation: str,
        on_progress: OnProgress = lambda progress: None,
        **arguments: Any,
    ) -> Any:
        """Have a running job do something; see `job_control.operations`."""
        job = self._job(job_id)
        entry = self._registry.get(job.id)
        if job.ended is None and entry is not None and entry.running:
            return call(entry, operation, on_progress, **arguments)
        if operation == "cancel" and job.ended is None and job.process is not None:
            job.cancelled = True
            job.process.kill()
            return None
        state = job.ended["overview"]["state"] if job.ended else _STARTING
        raise CheckpointError(f"job {job.id} is {state}")

    def _job(self, job_id: str) -> _Job:
        job = self._jobs.get(job_id)
        if job is None:
            raise UnknownJobError(f"there is no job {job_id!r}")
        return job

    def close(self) -> None:
        """Let the processes go without ending their jobs: the next JobManager takes them up."""
        self._closing = True
        for job in self._jobs.values():
            if job.process is not None and job.process.poll() is None:
                job.process.kill()
                job.process.wait()


def _absolute_path(python_path: str) -> str:
    """The same places for a process with another working directory."""
    return os.pathsep.join(os.path.abspath(p) for p in python_path.split(os.pathsep) if p)
