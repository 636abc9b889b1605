"""`headrace list`: shows running and ended jobs."""

from __future__ import annotations

import argparse
import contextlib
import json
from dataclasses import replace
from datetime import datetime

from headrace.cluster.client.jobs import Jobs, add_job_manager, duration_text, jobs_of
from headrace.cluster.exit_codes import ExitCode
from headrace.common.errors import UnknownJobError
from headrace.coordination.bodies.flink_json import to_json
from headrace.coordination.bodies.jobs import ListedJob

NAME = "list"
USAGE = "[options]"
SUMMARY = "show running jobs, and those that ended recently"
EPILOG = """\
Jobs of the same user on this host are found wherever they were started.

examples:
  headrace list
  headrace list --why
  headrace list -r --json"""

_WAITING = ("CREATED", "INITIALIZING")
_ENDED = ("FINISHED", "CANCELED", "FAILED")
_ENDED_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-a", "--all", action="store_true", help="all jobs that are remembered")
    which.add_argument("-r", "--running", action="store_true", help="only running jobs")
    which.add_argument(
        "-s", "--scheduled", action="store_true", help="only jobs that have not started yet"
    )
    parser.add_argument("--why", action="store_true", help="say what limits each running job now")
    parser.add_argument("--json", action="store_true", help="print JSON, as Flink's /jobs/overview")
    add_job_manager(parser)


def run(options: argparse.Namespace) -> int:
    """Print the jobs."""
    known = jobs_of(options)
    jobs = known.overview()
    ended = [job for job in jobs if job.state in _ENDED]
    running = [job for job in jobs if job.state not in _ENDED]
    if options.running or options.scheduled:
        shown = [j for j in running if (j.state in _WAITING) == options.scheduled]
    else:
        shown = running + (ended if options.all else ended[:_ENDED_SHOWN])
    if options.why:
        shown = [_explained(known, job) for job in shown]
    if options.json:
        print(json.dumps({"jobs": to_json(shown)}, indent=2))
    elif not shown:
        print("no jobs")
    else:
        print(f"{'job id':32}  {'state':10}  {'started':19}  {'running for':>11}  name")
        for job in shown:
            print(_line(job))
            if job.diagnosis is not None:
                print(f"  {job.diagnosis.sentence} {job.diagnosis.advice}".rstrip())
    return ExitCode.OK


def _explained(known: Jobs, job: ListedJob) -> ListedJob:
    if job.state != "RUNNING":
        return job
    with contextlib.suppress(UnknownJobError):
        return replace(job, diagnosis=known.details(job.jid).diagnosis)
    return job


def _line(job: ListedJob) -> str:
    started = datetime.fromtimestamp(job.start_time / 1000)
    return (
        f"{job.jid:32}  {job.state:10}  {started:%Y-%m-%d %H:%M:%S}  "
        f"{duration_text(job.duration):>11}  {job.name}"
    )
