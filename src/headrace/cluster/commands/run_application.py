"""`headrace run-application`: a JobManager for one program, which ends with its job."""

from __future__ import annotations

import argparse
import sys
import tempfile

from headrace.cluster.client.cluster_start import start_job_manager
from headrace.cluster.client.rest_client import RestClient
from headrace.cluster.client.submission import end_of_application, submit
from headrace.cluster.commands import run as run_command
from headrace.cluster.commands.start_cluster import add_directory
from headrace.cluster.exit_codes import EXPLAINED
from headrace.cluster.manager.job_manager import cluster_directory

NAME = "run-application"
USAGE = "[options] FILE [args ...]"
SUMMARY = "run a program with its own JobManager"
EPILOG = f"""\
The JobManager has its own Spark application and REST server, runs only this program, and ends when
the job has. With -d it keeps running in the background. If it is killed, `headrace start-cluster`
with the same --dir resumes the job.

examples:
  headrace run-application job.py
  headrace run-application -d --dir /var/lib/my-job --master yarn job.py
  headrace run-application -t kubernetes-application --master k8s://https://host:6443 job.py

{EXPLAINED}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    run_command.configure(parser)
    add_directory(parser)


def run(options: argparse.Namespace) -> int:
    """Start the JobManager, submit the program, and wait for both to end."""
    directory = cluster_directory(options.dir or tempfile.mkdtemp(prefix="headrace-application-"))
    settings = list(options.settings)
    if options.master:
        settings.append(f"spark.master={options.master}")
    if not any(setting.startswith("rest.bind-port=") for setting in settings):
        settings.append("rest.bind-port=0")
    about = start_job_manager(directory, settings, application=True)
    address = str(about["address"])
    if not options.json:
        dashboard = RestClient(address).url
        told = f"JobManager {about['pid']} in {directory}, with a dashboard at {dashboard}"
        print(told, file=sys.stderr)
    return submit(options, address, ended=lambda job: end_of_application(directory, job))
