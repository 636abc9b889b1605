"""`headrace run -m`: hands a program to a JobManager and follows its job."""

from __future__ import annotations

import argparse
import codecs
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.cluster.client.configured import chosen_job_manager
from headrace.cluster.client.jobs import Progress
from headrace.cluster.client.rest_client import RestClient, packed
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager.bodies import JobState, ProgramStatus
from headrace.cluster.manager.dispatcher import outcome_of_program
from headrace.cluster.manager.job_manager import cluster_directory, running_job_manager
from headrace.cluster.manager.log_files import LocalLog
from headrace.cluster.program_options import settings_of
from headrace.common import options as declared
from headrace.common.errors import HeadraceError
from headrace.coordination.access.program_jobs import archived
from headrace.coordination.bodies.flink_json import from_json

__all__ = ["end_of_application", "job_manager_of", "submit"]

_POLL_S = 0.5
_NOT_SENT: tuple[declared.Option[Any], ...] = (
    declared.PYTHON_FILES,
    declared.SAVEPOINT_PATH,
    declared.PARALLELISM_DEFAULT,
    declared.SPARK_MASTER,
)
"""What travels in another way, or is the JobManager's to say."""
_ENDED = ("FINISHED", "CANCELED", "FAILED")

EndOfProgram = tuple[ProgramStatus, LocalLog]


def job_manager_of(options: argparse.Namespace) -> str | None:
    """The address of the JobManager that is to run a program; None to run it here.

    `-m` names it, else the configuration, else for `-d` it is the cluster that runs here.
    """
    address = chosen_job_manager(options, options.settings)
    if address is not None or not options.detached:
        return address
    about = running_job_manager(cluster_directory())
    if about is None:
        raise UsageError(
            "-d leaves the job with a JobManager, but none is running here: `headrace "
            "start-cluster` starts one, -m names another"
        )
    return str(about["address"])


def submit(
    options: argparse.Namespace,
    address: str,
    ended: Callable[[str], EndOfProgram | None] = lambda job: None,
) -> int:
    """Upload the program and run it; wait for its end unless it is detached.

    Args:
        options: Those of `headrace run`.
        address: The JobManager.
        ended: What is known of a job whose JobManager is gone.
    """
    rest: list[str] = list(options.program)
    if rest[:1] == ["--"]:
        del rest[0]
    if options.pyModule:
        raise UsageError("a cluster takes a FILE, a directory or a zip, not a module's name")
    if options.python:
        rest.insert(0, options.python)
    if not rest:
        raise UsageError(f"which program? headrace {options.command} FILE [args ...]")
    file, *arguments = rest
    path = Path(file)
    if not path.exists():
        raise UsageError(f"there is no file {file!r}")
    configuration = settings_of(options)
    settings = configuration.to_dict()
    for option in _NOT_SENT:
        for name in (option.key, *option.deprecated_keys):
            settings.pop(name, None)
    files = [Path(p.removeprefix("file://")) for p in configuration.get(declared.PYTHON_FILES)]
    more = files + _shipped(options, settings)
    client = RestClient(address)
    progress = Progress("uploading")
    try:
        program = client.upload(*packed(path, more), progress)
    finally:
        progress.end()
    job = client.submit(
        program,
        {
            "entry": path.name if path.suffix == ".py" and more else None,
            "programArgsList": arguments,
            "parallelism": configuration.get(declared.PARALLELISM_DEFAULT),
            "savepointPath": configuration.get(declared.SAVEPOINT_PATH),
            "allowNonRestoredState": options.allowNonRestoredState,
            "pyflink": options.pyflink,
            "settings": {key: str(value) for key, value in settings.items()},
        },
    )
    if options.json:
        print(json.dumps({"jobid": job, "jobmanager": address}), flush=True)
    else:
        print(f"Job has been submitted with JobID {job}", flush=True)
    return ExitCode.OK if options.detached else _follow(client, job, ended)


def _shipped(options: argparse.Namespace, settings: dict[str, str]) -> list[Path]:
    """Requirements and archives; settings name them as the program's directory will have them."""
    more: list[Path] = []
    if options.pyRequirements:
        requirements, _, cached = options.pyRequirements.partition("#")
        if cached:
            raise UsageError(
                "-pyreq takes a file of requirements, without a cache directory, for a cluster"
            )
        more.append(Path(requirements))
        settings["python.requirements"] = Path(requirements).name
    if options.pyArchives:
        archives = [a.partition("#") for a in options.pyArchives.split(",") if a]
        more += [Path(archive) for archive, _, _ in archives]
        named = [f"{Path(archive).name}{mark}{target}" for archive, mark, target in archives]
        settings["python.archives"] = ",".join(named)
    return more


def end_of_application(directory: Path, job: str) -> EndOfProgram | None:
    """What a JobManager that ended with its job left behind about it: its end, and its log."""
    program = directory / "jobs" / job
    # That of the first job is the last to be written.
    if not (program / "ended.json").exists():
        return None
    ended = [parts for path in program.glob("ended*.json") if (parts := archived(path))]
    jobs = tuple(JobState(e.overview.jid, e.overview.state) for e in ended)
    log = LocalLog("job.log", program / "job.log")
    return ProgramStatus(job, outcome_of_program(ended), jobs), log


def _follow(client: RestClient, job: str, ended: Callable[[str], EndOfProgram | None]) -> int:
    """Show what a program writes until its last job has ended; an interrupt leaves it alone."""
    shown = 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        while True:
            try:
                answer = client.request("GET", f"/jobs/{job}/program")
                program = from_json(ProgramStatus, answer)
                shown, more = client.log(job, shown)
            except HeadraceError:
                left = ended(job)
                if left is None:
                    raise
                program, log = left
                more = b"".join(log.read(shown, log.size()))
            sys.stdout.write(decoder.decode(more))
            sys.stdout.flush()
            if program.status in _ENDED:
                break
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        print(f"job {job} continues; `headrace cancel -m ...` ends it", file=sys.stderr)
        return ExitCode.INTERRUPTED
    for each in program.jobs:
        print(f"job {each.id} is {each.status}", file=sys.stderr)
    return ExitCode.OK if program.status == "FINISHED" else ExitCode.FAILED
