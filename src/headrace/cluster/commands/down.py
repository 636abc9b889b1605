"""`headrace down`: ends the warm Spark process of `headrace up`."""

from __future__ import annotations

import argparse
import json
import time

from headrace.cluster.exit_codes import ExitCode
from headrace.common.display.waiting import waiting

NAME = "down"
USAGE = "[options]"
SUMMARY = "end the warm Spark process of `headrace up`"
EPILOG = """\
A run that has one keeps it until it ends."""

_END_S = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """End it, and wait until it is gone unless a run still has a Spark."""
    # Late: the commands that need no Spark start without it.
    from headrace.spark.idle.client import ask

    found = ask("end")
    deadline = time.monotonic() + _END_S
    with waiting("ending Spark"):
        while (left := ask("status")) is not None and not left["in_use"]:
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
    if options.json:
        print(json.dumps({"ended": found is not None and left is None}))
    elif found is None:
        print("no Spark was kept ready")
    elif left is not None:
        print("no other Spark is made; the run that has one keeps it until it ends")
    else:
        print("the Spark that was kept ready has ended")
    return ExitCode.OK
