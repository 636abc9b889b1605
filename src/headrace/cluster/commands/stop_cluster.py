"""`headrace stop-cluster`: ends the JobManager of this machine."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time

from headrace.cluster.commands.start_cluster import add_directory
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager.job_manager import cluster_directory, running_job_manager
from headrace.common.display.waiting import waiting

NAME = "stop-cluster"
USAGE = "[options]"
SUMMARY = "end the JobManager of this machine"
EPILOG = """\
Its jobs end with it and keep their checkpoints: the next start-cluster in the same directory
resumes them. Cancel or stop those that should not continue."""

_END_S = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_directory(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """End it and wait until it is gone."""
    directory = cluster_directory(options.dir)
    about = running_job_manager(directory)
    if about is None:
        raise UsageError(f"no JobManager is running in {directory}")
    os.kill(int(str(about["pid"])), signal.SIGTERM)
    deadline = time.monotonic() + _END_S
    with waiting("ending the JobManager"):
        while running_job_manager(directory) is not None and time.monotonic() < deadline:
            time.sleep(0.1)
    if options.json:
        print(json.dumps({"pid": about["pid"]}))
    else:
        print(f"JobManager {about['pid']} has ended")
    return ExitCode.OK
