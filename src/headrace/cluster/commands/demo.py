"""`headrace demo`: a live job that loses a process half-way and still counts exactly."""

from __future__ import annotations

import argparse
import tempfile

from headrace.cluster.argument_types import above_zero, count
from headrace.cluster.client.cluster_start import start_job_manager
from headrace.cluster.commands.example import find_examples
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager.attachment import attach, dashboard_of
from headrace.cluster.manager.job_manager import cluster_directory
from headrace.cluster.program import Program
from headrace.cluster.program_options import add_settings, run_program
from headrace.cluster.this_command import this_command

NAME = "demo"
USAGE = "[options]"
SUMMARY = "watch a live job lose a process and recover"
EPILOG = """\
examples:
  headrace demo
  headrace demo --seconds 300 --rate 50000    longer and faster, with time for the dashboard
  headrace demo --no-dashboard                without a JobManager; starts sooner
  headrace example --show sensor_alarms       print its code"""

NEXT = (
    ("new my-project", "a project of your own, with a test"),
    ("demo --seconds 300", "the same for longer, to explore the dashboard"),
    ("sql", "SQL at a prompt"),
)
"""What is suggested at the end: arguments of `headrace`, and what they are for."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument(
        "--seconds", type=above_zero, default=20.0, help="how long it runs (default 20)"
    )
    parser.add_argument(
        "--rate", type=count, default=20_000, help="readings a second (default 20000)"
    )
    parser.add_argument("--plain", action="store_true", help="lines only, nothing redrawn")
    parser.add_argument(
        "--dashboard",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="start a JobManager with its dashboard, and print the address of the job there",
    )


def run(options: argparse.Namespace) -> int:
    """Run the demo; its exit code."""
    program = find_examples()["sensor_alarms"]
    arguments = ["--accident", "--seconds", str(options.seconds), "--rate", str(options.rate)]
    arguments += ["--plain"] if options.plain else []
    if options.master is None:
        # A Spark of our own has what live jobs need; this one has an end, so it has to ask.
        options.settings = ["execution.carrier=live", *options.settings]
    if options.dashboard:
        print(f"dashboard  {_job_in_dashboard(options)}", flush=True)
    code = run_program(Program(program, tuple(arguments)), options)
    if code == ExitCode.OK:
        print(_try_next(this_command()))
    return code


def _job_in_dashboard(options: argparse.Namespace) -> str | None:
    """Make the job one of a JobManager of its own; where its dashboard shows it."""
    directory = cluster_directory(tempfile.mkdtemp(prefix="headrace-demo-"))
    settings = ["rest.bind-port=0", *options.settings]
    if options.master is not None:
        settings.append(f"spark.master={options.master}")
    # It ends by itself when this process has.
    about = start_job_manager(directory, settings, application=True, temporary=True)
    return dashboard_of(attach(str(about["address"]), "demo"))


def _try_next(command: str) -> str:
    width = max(len(f"{command} {arguments}") for arguments, _ in NEXT) + 3
    lines = (f"  {f'{command} {arguments}':{width}}{purpose}" for arguments, purpose in NEXT)
    return "\nTry next:\n" + "\n".join(lines)
