"""`headrace up`: keeps a warm Spark process for the next run."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from headrace.cluster.argument_types import above_zero
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program_options import add_settings, settings_of
from headrace.common.display.waiting import waiting

NAME = "up"
USAGE = "[options]"
SUMMARY = "keep a warm Spark process, so the next run starts in about a second"
EPILOG = """\
The next `python job.py` or `headrace run job.py` of the same user takes it instead of starting its
own, if it has the same settings, environment, working directory, Python and Java. A run has it to
itself, and it ends with the run; another is made then, like the one that the run needed. All of it
ends by itself when no run has come for some minutes, or with `headrace down`.

Only for Spark on this machine (`local`). An idle Spark takes about half a gigabyte of memory.

examples:
  headrace up && python job.py && python job.py
  headrace up --minutes 60
  headrace up --status"""

_START_S = 120.0
_STEP_S = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "--minutes",
        type=above_zero,
        default=10.0,
        metavar="N",
        help="how long it waits (default: 10)",
    )
    parser.add_argument("--status", action="store_true", help="only say what is there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_settings(parser)


def run(options: argparse.Namespace) -> int:
    """Start a keeper unless there is one, and wait until it has a Spark ready."""
    # Late: the commands that need no Spark start without it.
    from headrace.spark.idle.client import ask

    found = ask("status")
    if found is None and not options.status:
        with waiting("starting Spark"):
            found = _start(options)
    if options.json:
        print(json.dumps(found))
    else:
        print(_shown(found))
    return ExitCode.OK if found is not None else ExitCode.FAILED


def _start(options: argparse.Namespace) -> dict[str, Any]:
    from headrace.common.files.rolling_log import LogLimit
    from headrace.common.option_loading import load_configuration
    from headrace.coordination.access.job_registry import run_directory
    from headrace.spark.idle.client import ask, start_keeper
    from headrace.spark.live.choice import session_settings
    from headrace.spark.session import idle_request

    configuration = load_configuration(settings_of(options))
    # Where its address will be: the keeper has nowhere to say that this cannot be written.
    run_directory()
    request = idle_request(session_settings(configuration), LogLimit.of(configuration))
    keeper = start_keeper(options.minutes * 60, request)
    assert keeper.stdin is not None
    # As if a run with these settings had just ended.
    keeper.stdin.close()
    deadline = time.monotonic() + _START_S
    begun = False
    while time.monotonic() < deadline:
        status = ask("status")
        spare = "none" if status is None else status["spare"]
        if status is not None and spare == "ready":
            return status
        if (begun and spare == "none") or (status is None and keeper.poll() is not None):
            break
        begun = begun or spare == "starting"
        time.sleep(_STEP_S)
    raise UsageError("Spark does not start; a program that starts it says why")


def _shown(status: dict[str, Any] | None) -> str:
    if status is None:
        return "no Spark is kept ready; `headrace up` starts one"
    minutes = status["left_s"] / 60
    spare = {
        "ready": f"a Spark is ready for runs in {status['directory']}",
        "starting": f"a Spark is starting for runs in {status['directory']}",
        "none": "no Spark is ready",
    }[status["spare"]]
    used = f", {status['in_use']} in use" if status["in_use"] else ""
    return f"{spare}{used}; it ends after {minutes:.0f} min without a run, or with `headrace down`"
