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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from headrace.cluster.client.configured import LOCAL
from headrace.cluster.manager import attachment, told_process
from headrace.cluster.manager.attachment import OtherProcess
from headrace.cluster.manager.bodies import AllocatedSlot, JobState, ProgramStatus
from headrace.cluster.manager.empty_job import empty_parts
from headrace.cluster.manager.log_files import LocalLog
from headrace.cluster.manager.programs import Programs
from headrace.common.errors import CheckpointError, UnknownJobError
from headrace.common.files.rolling_log import DEFAULT_LIMIT, LogLimit, remove_log
from headrace.common.job_status import JobStatus
from headrace.coordination.access.control_client import JobSilentError, OnProgress, call, cancel
from headrace.coordination.access.job_registry import JobEntry, JobRegistry
from headrace.coordination.access.program_jobs import archived, program_environment
from headrace.coordination.bodies.flink_json import from_json, to_json
from headrace.coordination.bodies.jobs import PARTS, JobOverview, JobParts, SlotReport
from headrace.coordination.slots.logs import log_files, slot_log_directory

__all__ = ["Dispatcher", "Submission", "outcome_of_program"]

_log = logging.getLogger(__name__)

_TAIL = 4_000
_STARTING = "INITIALIZING"
_ENDED_KEPT = 100
_ANSWER_S = 3.0
_ASKED_AT_ONCE = 16


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
class _Program:
    """A submitted program, or a process beside the JobManager; it has the id of its first job."""

    id: str
    directory: Path
    submitted_ms: int
    process: subprocess.Popen[bytes] | OtherProcess | None = None
    ended: bool = False

    @property
    def log(self) -> Path:
        return self.directory / "job.log"

    @property
    def attached(self) -> bool:
        return isinstance(self.process, OtherProcess)

    def ended_file(self, job_id: str) -> Path:
        """Where is written how a job ended; that of the first says that the program has, too."""
        return self.directory / ("ended.json" if job_id == self.id else f"ended-{job_id}.json")


@dataclass
class _Job:
    id: str
    name: str
    program: _Program
    submitted_ms: int
    cancelled: bool = False
    ended: JobParts | None = None


class Dispatcher:
    """Starts, finds and recovers jobs. Methods may be called from any thread."""

    def __init__(
        self,
        directory: Path,
        programs: Programs,
        environment: dict[str, str],
        log_limit: LogLimit = DEFAULT_LIMIT,
        *,
        on_this_machine: bool = True,
    ) -> None:
        self._directory = directory
        self._programs = programs
        self._log_limit = log_limit
        for name in ("run", "jobs", "archive", "checkpoints"):
            (directory / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        self._registry = JobRegistry(directory / "run")
        self._environment = {
            **os.environ,
            **environment,
            "PYTHONPATH": _absolute_path(os.environ.get("PYTHONPATH", "")),
            "HEADRACE_RUN_DIR": str(directory / "run"),
        }
        # Slots on other hosts do not reach this directory.
        checkpoints = {"execution.checkpointing.dir": str(directory / "checkpoints")}
        self._defaults = checkpoints if on_this_machine else {}
        attachment.offer(directory, environment)
        self._lock = threading.Lock()
        self._programs_run: dict[str, _Program] = {}
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
        submitted_ms = int(time.time() * 1000)
        about = {
            "submission": asdict(submission),
            "file": str(file.relative_to((directory / "program").resolve())),
            "submitted_ms": submitted_ms,
        }
        _write(directory / "submission.json", about)
        program = self._take_up(directory, submission, submitted_ms)
        self._start(program, submission, file, again=False)
        return job_id

    def _take_up(self, directory: Path, submission: Submission, submitted_ms: int) -> _Program:
        program = _Program(directory.name, directory, submitted_ms)
        name = submission.program.partition("_")[2]
        with self._lock:
            self._programs_run[program.id] = program
            self._jobs[program.id] = _Job(program.id, name, program, submitted_ms)
        return program

    def recover(self) -> list[str]:
        """Take up the programs of an earlier JobManager; the ids of those that go on."""
        going_on = []
        for path in sorted((self._directory / "jobs").glob("*/submission.json")):
            about = json.loads(path.read_text())
            given = about["submission"]
            submission = Submission(**{**given, "arguments": tuple(given["arguments"])})
            program = self._take_up(path.parent, submission, about["submitted_ms"])
            self._add_ended(program)
            program.ended = program.ended_file(program.id).exists()
            if not program.ended:
                file = path.parent / "program" / about["file"]
                self._start(program, submission, file, again=True)
                going_on.append(program.id)
        for directory in attachment.attached_in(self._directory):
            self._attached(directory.name)
        return going_on

    def _add_ended(self, program: _Program) -> None:
        for path in program.directory.glob("ended*.json"):
            ended = archived(path)
            if ended is not None:
                overview = ended.overview
                job = _Job(overview.jid, overview.name, program, overview.start_time)
                self._jobs.setdefault(job.id, job).ended = ended

    def _start(self, program: _Program, submission: Submission, file: Path, *, again: bool) -> None:
        settings = {**self._defaults, **submission.settings}
        command = ["run", "-m", LOCAL]
        for key, value in settings.items():
            command += ["-D", f"{key}={value}"]
        if submission.parallelism is not None:
            command += ["-p", str(submission.parallelism)]
        if submission.savepoint is not None:
            command += ["-s", submission.savepoint]
        if submission.allow_non_restored_state:
            command += ["-n"]
        if submission.pyflink:
            command += ["--pyflink"]
        program.process = told_process.start(
            "headrace.cluster.manager.job_process",
            [program.id],
            [*command, str(file), *submission.arguments],
            program.log,
            self._log_limit,
            directory=program.directory / "program",
            environment={
                **self._environment,
                **slot_log_directory(program.directory / "slots"),
                **program_environment(program.id, self._archive, again=again),
            },
        )
        _log.info("program %s runs in process %s", program.id, program.process.pid)
        threading.Thread(target=self._await, args=(program,), daemon=True).start()

    def _attached(self, program_id: str) -> _Program | None:
        """A process beside the JobManager that has told of itself."""
        directory = self._directory / "jobs" / program_id
        about = attachment.about(directory)
        if about is None:
            return None
        with self._lock:
            if program_id in self._programs_run:
                return self._programs_run[program_id]
            program = _Program(program_id, directory, about.submitted_ms, about.process)
            self._programs_run[program_id] = program
            self._add_ended(program)
        threading.Thread(target=self._await, args=(program,), daemon=True).start()
        return program

    def _await(self, program: _Program) -> None:
        assert program.process is not None
        code = program.process.wait()
        if self._closing:
            return
        # The first one last: with its file the program counts as ended.
        for job in sorted(self._jobs_of(program), key=lambda job: job.id == program.id):
            ended = self._ended(job) or self._without_a_word(job, code)
            job.ended = replace(ended, exit_code=code)
            _write(program.ended_file(job.id), to_json(job.ended))
            _log.info("job %s is %s", job.id, ended.overview.state)
        program.ended = True
        if not self._jobs_of(program):
            shutil.rmtree(program.directory, ignore_errors=True)
        self._forget_old()

    def _jobs_of(self, program: _Program) -> list[_Job]:
        self._discover()
        with self._lock:
            return [job for job in self._jobs.values() if job.program is program]

    def _discover(self) -> None:
        """Find the jobs that programs have started after their first one."""
        for entry in self._registry.entries():
            program = self._programs_run.get(entry.program or "")
            if program is None and entry.program is not None:
                program = self._attached(entry.program)
            if program is not None:
                job = _Job(entry.job_id, entry.name, program, entry.started_ms)
                with self._lock:
                    if self._jobs.setdefault(job.id, job) is job and program.attached:
                        self._forget_old_jobs(program)

    @property
    def _archive(self) -> Path:
        return self._directory / "archive"

    def _archive_file(self, job: _Job) -> Path:
        return self._archive / f"{job.id}.json"

    def _without_a_word(self, job: _Job, code: int | None) -> JobParts:
        """What can be told of a program that ended without a job."""
        status = JobStatus.CANCELED if job.cancelled else JobStatus.FAILED
        overview = self._overview_of_process(job, status.name)
        overview = replace(overview, end_time=job.submitted_ms + overview.duration)
        log = self.log_file(job.id)
        said = b"".join(log.read(max(log.size() - _TAIL, 0), _TAIL)).decode(errors="replace")
        how = "" if code is None else f" with code {code}"
        return empty_parts(overview, f"the program ended{how} before its job did:\n{said}")

    def _forget_old(self) -> None:
        with self._lock:
            ended = [p for p in self._programs_run.values() if p.ended]
            ended.sort(key=lambda program: program.submitted_ms)
            for program in ended[:-_ENDED_KEPT]:
                del self._programs_run[program.id]
                for job in [j for j in self._jobs.values() if j.program is program]:
                    self._forget(job)
                # Not the rest of its directory: the program may have written there.
                remove_log(program.log)
                shutil.rmtree(program.directory / "slots", ignore_errors=True)
                (program.directory / "submission.json").unlink(missing_ok=True)
                attachment.forget(program.directory)

    def _forget_old_jobs(self, program: _Program) -> None:
        """A process beside the JobManager may run jobs for as long as the JobManager does."""
        ended = [j for j in self._jobs.values() if j.program is program and j.ended]
        ended.sort(key=lambda job: job.submitted_ms)
        for job in ended[:-_ENDED_KEPT]:
            self._forget(job)

    def _forget(self, job: _Job) -> None:
        del self._jobs[job.id]
        self._archive_file(job).unlink(missing_ok=True)

    # Looking.

    def overview(self) -> list[JobOverview]:
        """All jobs, the newest first."""
        self._discover()
        with self._lock:
            jobs = sorted(self._jobs.values(), key=lambda j: j.submitted_ms, reverse=True)
        # At once: one that does not answer holds up nobody else.
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:
            return list(asking.map(self._overview, jobs))

    def all_ended(self, nobody_comes: bool = False) -> bool:
        """Whether programs were submitted, or else attached, and all of them have ended.

        Without a program that is so if none will come.
        """
        for directory in attachment.attached_in(self._directory):
            self._attached(directory.name)
        with self._lock:
            known = list(self._programs_run.values())
        programs = [p for p in known if not p.attached] or known
        return (bool(programs) or nobody_comes) and all(program.ended for program in programs)

    def details(self, job_id: str, part: str) -> Any:
        """A part of what can be told about a job; see `JobParts`."""
        return self._ask(self._job(job_id), part)

    def program(self, job_id: str) -> ProgramStatus:
        """The program of a job: whether it has ended, and how, and all of its jobs in order."""
        program = self._job(job_id).program
        over = program.ended
        jobs = sorted(self._jobs_of(program), key=lambda job: job.submitted_ms)
        state = outcome_of_program([j.ended for j in jobs if j.ended]) if over else "RUNNING"
        shown = (JobState(job.id, self._overview(job).state) for job in jobs)
        return ProgramStatus(program.id, state, tuple(shown))

    def log_file(self, job_id: str) -> LocalLog:
        """What the program and the functions of a job wrote."""
        return LocalLog(f"{job_id}.log", self._job(job_id).program.log)

    def slot_logs(self, job_id: str, slot: int) -> list[LocalLog]:
        """What the functions in a slot wrote."""
        found = log_files(self._job(job_id).program.directory / "slots", slot)
        return [LocalLog(f"{job_id}-{path.name}", path) for path in found]

    def require(self, job_id: str) -> None:
        """Refuse a job that there is not."""
        self._job(job_id)

    def slots(self) -> list[AllocatedSlot]:
        """The slots of all jobs."""
        with self._lock:
            running = [job for job in self._jobs.values() if job.ended is None]
        found = []
        for job in running:
            with contextlib.suppress(JobSilentError):
                slots: tuple[SlotReport, ...] = self._ask(job, "slots")
                name = self._overview(job).name
                found += [AllocatedSlot(**vars(s), job_id=job.id, job_name=name) for s in slots]
        return found

    def _overview(self, job: _Job) -> JobOverview:
        overview: JobOverview = self._ask(job, "overview")
        return overview

    def _ask(self, job: _Job, part: str) -> Any:
        entry = self._running_entry(job)
        if entry is not None:
            try:
                answer = call(entry, "details", silence_s=_ANSWER_S, part=part)
                return from_json(PARTS[part], answer)
            except JobSilentError:
                if part != "overview":
                    raise
                return self._overview_of_process(job, entry.state)
            except UnknownJobError:
                pass
        known = self._ended(job) or empty_parts(self._overview_of_process(job, _STARTING))
        return getattr(known, part)

    def _running_entry(self, job: _Job) -> JobEntry | None:
        entry = self._registry.get(job.id) if job.ended is None else None
        return entry if entry is not None and entry.running else None

    def _ended(self, job: _Job) -> JobParts | None:
        """How a job ended; the process of its program may go on."""
        if job.ended is None:
            job.ended = archived(self._archive_file(job))
        return job.ended

    def _overview_of_process(self, job: _Job, state: str) -> JobOverview:
        running_ms = int(time.time() * 1000) - job.submitted_ms
        return JobOverview(
            job.id,
            job.name,
            state,
            job.submitted_ms,
            -1,
            running_ms,
            last_modification=job.submitted_ms,
        )

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
        entry = self._running_entry(job)
        if entry is not None and operation == "cancel":
            job.cancelled = True
            return cancel(entry)
        if entry is not None:
            return call(entry, operation, on_progress, **arguments)
        ended, process = self._ended(job), job.program.process
        if operation == "cancel" and ended is None and process is not None:
            job.cancelled = True
            process.kill()
            return None
        state = ended.overview.state if ended else _STARTING
        raise CheckpointError(f"job {job.id} is {state}")

    def _job(self, job_id: str) -> _Job:
        if job_id not in self._jobs:
            self._discover()
        job = self._jobs.get(job_id)
        if job is None:
            raise UnknownJobError(f"there is no job {job_id!r}")
        return job

    def close(self) -> None:
        """Let the processes go without ending their jobs: the next JobManager takes them up."""
        self._closing = True
        attachment.withdraw(self._directory)
        for program in self._programs_run.values():
            process = program.process
            # Others see for themselves that the JobManager is gone.
            if isinstance(process, subprocess.Popen) and process.poll() is None:
                process.kill()
                process.wait()


def outcome_of_program(ended: list[JobParts]) -> str:
    """How a program ended, of which all jobs have: as its last job did.

    A program that goes on after a failed job has dealt with that, and it may fail by itself.
    """
    last = max(ended, key=lambda job: job.overview.start_time)
    state = last.overview.state
    failed = state == JobStatus.FINISHED.name and last.exit_code
    return JobStatus.FAILED.name if failed else state


def _write(path: Path, content: Any) -> None:
    """As a whole: a JobManager that is killed must not leave half, the next would not start."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


def _absolute_path(python_path: str) -> str:
    """The same places for a process with another working directory."""
    return os.pathsep.join(os.path.abspath(p) for p in python_path.split(os.pathsep) if p)
