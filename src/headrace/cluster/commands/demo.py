"""`headrace demo`: a live job that loses a process half-way and still counts exactly."""

from __future__ import annotations

import argparse

from headrace.cluster.commands import run_application
from headrace.cluster.commands.example import find_examples
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program import Program
from headrace.cluster.program_options import add_settings, run_program

NAME = "demo"
USAGE = "[options]"
SUMMARY = "watch a live job lose a process and recover"
EPILOG = """\
examples:
  headrace demo
  headrace demo --seconds 60 --rate 50000
  headrace demo --dashboard                   the same with a JobManager and its dashboard
  headrace example --show sensor_alarms       print its code"""

_NEXT = """
Try next:
  headrace new my-project                     a project of your own, with a test
  headrace demo --dashboard                   the same job in a browser; needs headrace[cluster]
  headrace sql                                SQL at a prompt; needs headrace[sql-client]"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument("--seconds", default="20", help="how long it runs (default 20)")
    parser.add_argument("--rate", default="20000", help="readings a second (default 20000)")
    parser.add_argument("--plain", action="store_true", help="lines only, nothing redrawn")
    parser.add_argument(
        "--dashboard", action="store_true", help="run it with a JobManager, and show its address"
    )


def run(options: argparse.Namespace) -> int:
    """Run the demo; its exit code."""
    program = find_examples()["sensor_alarms"]
    arguments = ["--accident", "--seconds", options.seconds, "--rate", options.rate]
    arguments += ["--plain"] if options.plain else []
    if options.master is None:
        # A Spark of our own has what live jobs need; this one has an end, so it has to ask.
        options.settings = ["execution.carrier=live", *options.settings]
    if options.dashboard:
        code = run_application.run(_submitted(options, [str(program), *arguments]))
    else:
        code = run_program(Program(program, tuple(arguments)), options)
    if code == ExitCode.OK:
        print(_NEXT)
    return code


def _submitted(options: argparse.Namespace, program: list[str]) -> argparse.Namespace:
    """The options with which the program is handed to a JobManager of its own."""
    parser = argparse.ArgumentParser()
    run_application.configure(parser)
    chosen = vars(options)
    parsed = parser.parse_args(program)
    return argparse.Namespace(**{**vars(parsed), **chosen, "program": program})
