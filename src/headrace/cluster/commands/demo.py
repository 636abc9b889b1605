"""`headrace demo`: a live job that loses a process half-way and still counts exactly."""

from __future__ import annotations

import argparse

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
  headrace example --show sensor_alarms       print its code"""

_NEXT = """
Try next:
  headrace example --list                     more programs, and --show NAME for their code
  headrace sql-client                         SQL at a prompt; needs headrace[sql-client]
  headrace start-cluster                      a dashboard for your jobs; needs headrace[cluster]"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument("--seconds", default="20", help="how long it runs (default 20)")
    parser.add_argument("--rate", default="20000", help="readings a second (default 20000)")
    parser.add_argument("--plain", action="store_true", help="lines only, nothing redrawn")


def run(options: argparse.Namespace) -> int:
    """Run the demo; its exit code."""
    arguments = ["--accident", "--seconds", options.seconds, "--rate", options.rate]
    arguments += ["--plain"] if options.plain else []
    code = run_program(Program(find_examples()["sensor_alarms"], tuple(arguments)), options)
    if code == ExitCode.OK:
        print(_NEXT)
    return code
