"""`headrace logs`: shows what a job of a JobManager has written."""

from __future__ import annotations

import argparse
import codecs
import sys
import time

from headrace.cluster.client.jobs import add_job_manager, jobs_of
from headrace.cluster.exit_codes import ExitCode

NAME = "logs"
USAGE = "[options] JOB"
SUMMARY = "show the output and log of a job"
EPILOG = """\
This is for jobs of a JobManager, also when they have ended. A program that runs by itself prints to
its own terminal.

examples:
  headrace logs 4f2a1c
  headrace logs -f "my job"              go on as it is written, until the job ends
  headrace logs -m localhost:8081 4f2a1c"""

_POLL_S = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "job", metavar="JOB", help="the job: its id, the first digits of its id, or its name"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on until the job ends or Ctrl-C"
    )
    add_job_manager(parser)


def run(options: argparse.Namespace) -> int:
    """Print the log."""
    jobs = jobs_of(options)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    shown = 0
    while True:
        shown, text, ended = jobs.log(options.job, shown)
        sys.stdout.write(decoder.decode(text))
        sys.stdout.flush()
        if ended or not options.follow:
            return ExitCode.OK
        time.sleep(_POLL_S)
