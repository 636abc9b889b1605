"""`headrace start-cluster`: starts a JobManager on this machine."""

from __future__ import annotations

import argparse
import json

from headrace.cluster.client.cluster_start import LOG, start_job_manager
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager.job_manager import cluster_directory

NAME = "start-cluster"
USAGE = "[options]"
SUMMARY = "start a JobManager that runs submitted programs"
EPILOG = """\
One process with one Spark application; every program gets its own process. Jobs that had not ended
when the JobManager was stopped or killed continue from their last checkpoint.

examples:
  headrace start-cluster
  headrace start-cluster --master spark://host:7077 -D rest.bind-port=8090
  headrace run -d job.py && headrace list -m localhost:8081"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_directory(parser)
    parser.add_argument(
        "-D",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="any setting, may be repeated",
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
    directory = cluster_directory(options.dir)
    settings = list(options.settings)
    if options.master:
        settings.append(f"spark.master={options.master}")
    about = start_job_manager(directory, settings)
    path = directory / LOG
    shown = {**about, "directory": str(directory), "log": str(path)}
    text = f"JobManager {about['pid']} at {about['address']}; its log is {path}"
    print(json.dumps(shown) if options.json else text)
    return ExitCode.OK
