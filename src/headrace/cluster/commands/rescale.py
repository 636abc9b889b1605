"""`headrace rescale`: changes the parallelism of a running job."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.argument_types import count
from headrace.cluster.client.jobs import Progress, add_job, jobs_of
from headrace.cluster.exit_codes import EXPLAINED, ExitCode

NAME = "rescale"
USAGE = "[options] JOB -p N"
SUMMARY = "change the parallelism of a running job"
EPILOG = f"""\
The job pauses between two epochs, takes a checkpoint, and continues from it with N subtasks for
each operator. No record is read twice. Operators whose parallelism the program sets keep it, and no
operator can have more subtasks than key groups (its max parallelism).

examples:
  headrace rescale 4f2a1c -p 8

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-p", "--parallelism", type=count, metavar="N", required=True, help="the new parallelism"
    )
    add_job(parser)


def run(options: argparse.Namespace) -> int:
    """Change the parallelism."""
    progress = Progress("changing the parallelism")
    try:
        job = jobs_of(options).rescale(options.job, options.parallelism, progress)
    finally:
        progress.end()
    done = {"job": job, "parallelism": options.parallelism}
    text = f"job {job} continues with parallelism {options.parallelism}"
    print(json.dumps(done) if options.json else text)
    return ExitCode.OK
