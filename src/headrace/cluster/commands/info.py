"""`headrace info`: builds a program and shows its plan instead of running it."""

from __future__ import annotations

import argparse
import sys

from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.planned import planned
from headrace.cluster.program_options import add_program, program_of, run_program
from headrace.graph.drawing import drawing_of
from headrace.graph.job_graph import build_job_graph
from headrace.graph.plan import plan_json, plan_text

NAME = "info"
USAGE = "[options] FILE [args ...]"
SUMMARY = "show how a program would run, without running it"
EPILOG = """\
The program runs up to its first execute(): neither Java nor Spark is needed. A level is a stage of
Spark's, a line in it a vertex: a chain of operators that share their subtasks.

examples:
  headrace info job.py
  headrace info -p 8 job.py --input data.txt
  headrace info --json job.py           the plan as Flink's JSON"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_program(parser)
    parser.add_argument("--json", action="store_true", help="print the plan as Flink's JSON")


def run(options: argparse.Namespace) -> int:
    """Print the plan; the exit code."""
    program = program_of(options)
    code, plans = planned(lambda: run_program(program, options))
    if not plans:
        if code == ExitCode.OK:
            print("headrace info: the program ended without an execute()", file=sys.stderr)
            return ExitCode.FAILED
        return code
    if options.json:
        print(plan_json(plans[0]))
    else:
        print(f"{plan_text(plans[0])}\n\n{drawing_of(build_job_graph(plans[0]))}")
    return ExitCode.OK
