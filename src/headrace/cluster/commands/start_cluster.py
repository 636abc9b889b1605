"""`headrace start-cluster`: starts a JobManager on this machine."""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import time

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.job_manager import cluster_directory, running_job_manager

NAME = "start-cluster"
USAGE = "[options]"
SUMMARY = "start a JobManager that runs submitted programs"
EPILOG = """\
One process with one Spark application; every job gets a process of its own on it. Jobs that had not
ended when the JobManager was stopped or killed go on from their last checkpoint.

examples:
  headrace start-cluster
  headrace start-cluster --master spark://host:7077 -D rest.bind-port=8090
  headrace run -d job.py && headrace list -m localhost:8081"""

_START_S = 180.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_directory(parser)
    parser.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any setting, as often as you like",
    )
    parser.add_argument("--master", metavar="URL", help="Spark master (default: local[*])")
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_directory(parser: argparse.ArgumentParser) -> None:
    """The option that says which cluster."""
    parser.add_argument(
        "--dir",
        metavar="DIRECTORY",
        help="where the JobManager keeps its jobs (default: in the user's cache directory)",
    )


def run(options: argparse.Namespace) -> int:
    """Start it and wait until it answers."""
    for package in ("starlette", "uvicorn", "python_multipart"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(f"{package} is missing: pip install 'headrace[cluster]'")
    directory = cluster_directory(options.dir)
    if running_job_manager(directory) is not None:
        raise UsageError(f"a JobManager runs in {directory} already")
    settings = list(options.settings)
    if options.master:
        settings.append(f"spark.master={options.master}")
    command = [sys.executable, "-m", "headrace.cluster.job_manager", str(directory)]
    for setting in settings:
        command += ["-D", setting]
    path = directory / "job-manager.log"
    with path.open("w") as log:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        about = running_job_manager(directory)
        if about is not None and about["pid"] == child.pid:
            break
        if child.poll() is not None:
            print(path.read_text()[-2000:], end="", file=sys.stderr)
            return ExitCode.USAGE if child.returncode == ExitCode.USAGE else ExitCode.FAILED
        time.sleep(0.1)
    else:
        child.kill()
        print(f"the JobManager did not start in time; see {path}", file=sys.stderr)
        return ExitCode.FAILED
    shown = {**about, "directory": str(directory), "log": str(path)}
    text = f"JobManager {about['pid']} at {about['host']}:{about['port']}; its log is {path}"
    print(json.dumps(shown) if options.json else text)
    return ExitCode.OK
