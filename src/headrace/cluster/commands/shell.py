"""`headrace shell`: a Python prompt to try things at."""

from __future__ import annotations

import argparse

from headrace.cluster.program_options import add_settings, run_program
from headrace.cluster.prompt import Prompt

NAME = "shell"
USAGE = "[options]"
SUMMARY = "try things at a Python prompt, as in PyFlink's shell"
EPILOG = """\
The prompt begins with s_env, a stream execution environment, with st_env, a table environment on
top of it, and with the names that programs import. Statements may come from a file, too.

examples:
  headrace shell
  headrace shell --pyflink -p 2
  headrace shell < statements.py"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument(
        "--pyflink",
        action="store_true",
        help="let `import pyflink` find headrace, here and in slots",
    )


def run(options: argparse.Namespace) -> int:
    """Read and run statements; the exit code."""
    return run_program(Prompt(), options)
