"""What the command line's exit codes mean."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `headrace`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NO_JOB = 3
    INTERRUPTED = 130


EXPLAINED = """\
exit codes:
  0    success
  1    the job or the program failed, or what was asked of a job
  2    the command was used incorrectly (unknown option, missing file, bad setting)
  3    there is no such running job: it is unknown, has ended, or its name matches several
  130  interrupted (Ctrl-C); a running job was cancelled
A program that calls sys.exit() itself decides its own code."""
