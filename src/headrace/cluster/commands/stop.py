"""`headrace stop`: takes a savepoint of a job and ends it."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.client.jobs import Progress, add_job, jobs_of
from headrace.cluster.exit_codes import EXPLAINED, ExitCode

NAME = "stop"
USAGE = "[options] JOB"
SUMMARY = "take a savepoint of a running job and end it"
EPILOG = f"""\
Nothing is lost: `headrace run -s PATH` continues from there, with another parallelism or a
changed program if you like.

examples:
  headrace stop 4f2a1c -p /savepoints
  headrace stop --drain 4f2a1c          fire all windows and timers first; do not resume

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-p",
        "--savepointPath",
        "--savepoint-path",
        metavar="DIRECTORY",
        help="where the savepoint goes (default: execution.checkpointing.savepoint-dir of the job)",
    )
    parser.add_argument(
        "-d",
        "--drain",
        action="store_true",
        help="send the last watermark first, so that windows and event-time timers fire",
    )
    parser.add_argument(
        "-type",
        "--type",
        choices=("canonical", "native"),
        default="canonical",
        help="accepted for compatibility: every savepoint can be restored with any state backend",
    )
    add_job(parser)


def run(options: argparse.Namespace) -> int:
    """Stop the job."""
    progress = Progress("stopping the job with a savepoint")
    try:
        path = jobs_of(options).stop(options.job, options.drain, options.savepointPath, progress)
    finally:
        progress.end()
    print(json.dumps({"savepoint": path}) if options.json else f"savepoint completed: {path}")
    return ExitCode.OK
