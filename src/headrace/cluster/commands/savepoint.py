"""`headrace savepoint`: takes a savepoint of a running job, or deletes one."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.client.jobs import Progress, add_job_manager, jobs_of
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import EXPLAINED, ExitCode
from headrace.coordination.checkpoint_store import load_checkpoint

NAME = "savepoint"
USAGE = "[options] JOB [DIRECTORY]"
SUMMARY = "take a savepoint of a running job, or delete one"
EPILOG = f"""\
The job continues. The path of the savepoint is printed when it is complete.

examples:
  headrace savepoint 4f2a1c /savepoints
  headrace savepoint "my job"           into execution.checkpointing.savepoint-dir
  headrace savepoint --dispose /savepoints/savepoint-4f2a1c-0b1c2d3e4f5a

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("job", metavar="JOB", nargs="?", help="the job: its id, or its name")
    parser.add_argument(
        "directory",
        metavar="DIRECTORY",
        nargs="?",
        help="where the savepoint goes (default: execution.checkpointing.savepoint-dir of the job)",
    )
    parser.add_argument(
        "-d", "--dispose", metavar="PATH", help="delete this savepoint instead of taking one"
    )
    parser.add_argument(
        "-type",
        "--type",
        choices=("canonical", "native"),
        default="canonical",
        help="accepted for compatibility: every savepoint can be restored with any state backend",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_job_manager(parser)


def run(options: argparse.Namespace) -> int:
    """Take or delete a savepoint."""
    if options.dispose is not None:
        if options.job is not None:
            raise UsageError("--dispose deletes a savepoint; leave out the job")
        return _dispose(options)
    if options.job is None:
        raise UsageError("which job? `headrace list` shows the running ones")
    progress = Progress("taking a savepoint")
    try:
        path = jobs_of(options).savepoint(options.job, options.directory, progress)
    finally:
        progress.end()
    print(json.dumps({"savepoint": path}) if options.json else f"savepoint completed: {path}")
    return ExitCode.OK


def _dispose(options: argparse.Namespace) -> int:
    load_checkpoint(options.dispose).discard()
    text = json.dumps({"disposed": options.dispose})
    print(text if options.json else f"savepoint deleted: {options.dispose}")
    return ExitCode.OK
