"""`headrace run`: runs a program."""

from __future__ import annotations

import argparse

from headrace.cluster.client.configured import add_target
from headrace.cluster.client.submission import job_manager_of, submit
from headrace.cluster.exit_codes import EXPLAINED
from headrace.cluster.program_options import add_program, program_of, run_program

NAME = "run"
USAGE = "[options] FILE [args ...]"
SUMMARY = "run a program"
EPILOG = f"""\
The file runs as with `python FILE args`, as the main program and with its own directory first on
the path. Settings on the command line override those of files and environment variables, and the
program overrides both. When a job fails you see your own traceback, the operator and the record.

examples:
  headrace run job.py
  headrace run -p 4 -D execution.runtime-mode=BATCH job.py --input data.txt
  headrace run --pyflink job.py
  headrace run --master spark://host:7077 job.py
  headrace run -s /savepoints/savepoint-4f2a1c-0b1c2d3e4f5a job.py
  headrace run -m localhost:8081 -d job.py

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_program(parser)
    recovery = parser.add_argument_group("recovery")
    recovery.add_argument(
        "-s",
        "--fromSavepoint",
        metavar="PATH",
        help="start from a savepoint or a retained checkpoint",
    )
    recovery.add_argument(
        "-n",
        "--allowNonRestoredState",
        action="store_true",
        help="ignore state that no operator of the program claims",
    )
    recovery.add_argument(
        "-cm",
        "--claimMode",
        "-rm",
        "--restoreMode",
        type=str.lower,
        choices=("no_claim", "claim", "legacy"),
        help="claim: the job owns the savepoint from now on and deletes it when newer checkpoints "
        "replace it; no_claim (default), or legacy: it stays yours",
    )
    cluster = parser.add_argument_group("cluster")
    cluster.add_argument(
        "-m",
        "--jobmanager",
        metavar="HOST:PORT",
        help="submit the program to this JobManager (default: rest.address and rest.port of the "
        "configuration, if they are set); `local` for none",
    )
    add_target(cluster)
    cluster.add_argument(
        "-d",
        "--detached",
        action="store_true",
        help="submit it and do not wait for it to end; without -m, to the cluster of this machine",
    )
    cluster.add_argument(
        "-sae",
        "--shutdownOnAttachedExit",
        action="store_true",
        help="as in Flink; a job that runs here ends with the command anyway",
    )
    cluster.add_argument(
        "--json", action="store_true", help="print the id of a submitted job as JSON"
    )
    parser.add_argument(
        "--live", action="store_true", help="show rates and watermarks of the job while it runs"
    )


def run(options: argparse.Namespace) -> int:
    """Run the program; the exit code."""
    job_manager = job_manager_of(options)
    if job_manager is not None:
        return submit(options, job_manager)
    program = program_of(options)
    if not options.live:
        return run_program(program, options)
    from headrace.cluster.live_view import LiveView

    with LiveView.of_all_jobs() as view:
        code = run_program(program, options)
    print(view.summary())
    return code
