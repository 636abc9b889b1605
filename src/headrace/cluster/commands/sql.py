"""`headrace sql`: a statement, a file of statements, or a prompt for them."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cluster.client.configured import add_cluster
from headrace.cluster.commands import sql_client
from headrace.cluster.program_options import add_settings

NAME = "sql"
USAGE = "[options] [STATEMENTS | FILE]"
SUMMARY = "run SQL: a statement, a file, or a prompt; `sql-client` has more options"
EPILOG = """\
examples:
  headrace sql                                  a prompt
  headrace sql "SELECT UPPER('to be'), 6 * 7"   one statement or several
  headrace sql report.sql                       those of a file"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    add_cluster(parser)
    parser.add_argument(
        "what", nargs="?", metavar="STATEMENTS | FILE", help="what to run; a prompt if left away"
    )


def run(options: argparse.Namespace) -> int:
    """Run statements, as the SQL client does."""
    # A statement has spaces, and the name of a file that is meant is one that is there.
    is_file = options.what is not None and Path(options.what).suffix == ".sql"
    return sql_client.run(
        argparse.Namespace(
            **{**vars(options), "command": sql_client.NAME},
            mode="embedded",
            endpoint=None,
            init=None,
            history=None,
            file=options.what if is_file else None,
            execute=None if is_file else options.what,
        )
    )
