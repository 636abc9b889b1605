"""`headrace query`: reads the state of a key of a running job."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.client.jobs import add_job, jobs_of, literal
from headrace.cluster.exit_codes import EXPLAINED, ExitCode

NAME = "query"
USAGE = "[options] JOB NAME KEY"
SUMMARY = "read the state of a key of a running job"
EPILOG = f"""\
NAME is what the program gave to set_queryable() or as_queryable_state(). KEY is a Python literal,
such as 7 or ('ada', 2), or else text.

examples:
  headrace query 4f2a1c counts ada
  headrace query 4f2a1c counts --text 7     the text '7', not the number

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_job(parser)
    parser.add_argument("name", metavar="NAME", help="the queryable name of the state")
    parser.add_argument("key", metavar="KEY", help="the key")
    parser.add_argument("--text", action="store_true", help="take the key as text")


def run(options: argparse.Namespace) -> int:
    """Print the state."""
    key = options.key if options.text else literal(options.key)
    answer = jobs_of(options).query(options.job, options.name, key)
    shown = {"kind": answer["kind"], "value": answer["text"]}
    print(json.dumps(shown) if options.json else answer["text"])
    return ExitCode.OK
