"""`headrace cancel`: ends a job now."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.client.jobs import Progress, add_job, jobs_of
from headrace.cluster.exit_codes import EXPLAINED, ExitCode
from headrace.common.display.waiting import waiting

NAME = "cancel"
USAGE = "[options] JOB"
SUMMARY = "end a running job now, without a savepoint"
EPILOG = f"""\
Checkpoints of the job are deleted unless it retains them (the setting
execution.checkpointing.externalized-checkpoint-retention). `headrace stop` takes a savepoint first.

examples:
  headrace cancel 4f2a1c

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-s",
        "--withSavepoint",
        metavar="DIRECTORY",
        help="take a savepoint first; `headrace stop` is the better way",
    )
    add_job(parser)


def run(options: argparse.Namespace) -> int:
    """Cancel the job."""
    jobs = jobs_of(options)
    done: dict[str, str] = {}
    if options.withSavepoint is not None:
        progress = Progress("taking a savepoint")
        done["savepoint"] = jobs.savepoint(options.job, options.withSavepoint, progress)
        progress.end()
    with waiting("cancelling the job"):
        done["cancelled"] = jobs.cancel(options.job)
    if options.json:
        print(json.dumps(done))
        return ExitCode.OK
    if "savepoint" in done:
        print(f"savepoint completed: {done['savepoint']}")
    print(f"cancelled job {done['cancelled']}")
    return ExitCode.OK
