"""`headrace sql-gateway`: a server that runs SQL statements of others, over Flink's REST."""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import time
from pathlib import Path

from headrace.cluster.client.cluster_start import start_process
from headrace.cluster.client.configured import add_cluster, chosen_job_manager
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program_options import add_settings, settings_of
from headrace.cluster.sql_gateway.server import SqlGateway, gateway_directory, running_gateways
from headrace.common.option_loading import load_configuration

NAME = "sql-gateway"
USAGE = "start|start-foreground|stop|stop-all [options]"
SUMMARY = "start or stop a server that runs SQL statements over REST"
EPILOG = """\
Paths and JSON are those of Flink's SQL gateway, so its clients work with this one. Every session
has its own tables and settings; jobs run inside the gateway and end with it. With -m they are jobs
of a cluster on this host, listed and controlled by its JobManager.

examples:
  headrace sql-gateway start
  headrace sql-gateway start -Dsql-gateway.endpoint.rest.port=8084 --master spark://host:7077
  headrace sql-gateway start -m localhost:8081
  headrace sql-client gateway --endpoint localhost:8083
  headrace sql-gateway stop"""

_ACTIONS = ("start", "start-foreground", "stop", "stop-all")
_END_S = 60.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "action", choices=_ACTIONS, help="what to do; stop ends the one started last"
    )
    add_settings(parser)
    add_cluster(parser)
    parser.add_argument(
        "--dir",
        metavar="DIRECTORY",
        help="where gateways are found and write logs (default: in the user's cache directory)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Do it."""
    directory = gateway_directory(options.dir)
    if options.action.startswith("start"):
        settings = settings_of(options).to_dict()
        job_manager = chosen_job_manager(options, options.settings)
        if options.action == "start":
            _start(directory, settings, job_manager, options.json)
        else:
            _serve(directory, settings, job_manager, options.json)
    else:
        _stop(directory, options.action == "stop-all", options.json)
    return ExitCode.OK


def _start(
    directory: Path, settings: dict[str, str], job_manager: str | None, as_json: bool
) -> None:
    module = "headrace.cluster.sql_gateway.server"
    log = directory / f"{time.time_ns()}.log"

    def running(pid: int) -> dict[str, object] | None:
        return next((g for g in running_gateways(directory) if g["pid"] == pid), None)

    arguments = [str(directory), *(["--jobmanager", job_manager] if job_manager else [])]
    about = start_process(module, arguments, settings, log, running, "SQL gateway")
    _show(about, f"SQL gateway {about['pid']} at {about['address']}; its log is {log}", as_json)


def _serve(
    directory: Path, settings: dict[str, str], job_manager: str | None, as_json: bool
) -> None:
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    def started(about: dict[str, object]) -> None:
        _show(about, f"SQL gateway {about['pid']} at {about['address']}; Ctrl-C ends it", as_json)

    SqlGateway(directory, load_configuration(None, settings), job_manager, started).run()


def _stop(directory: Path, every: bool, as_json: bool) -> None:
    running = running_gateways(directory)
    if not running:
        raise UsageError(f"no SQL gateway is running in {directory}")
    for about in running if every else running[-1:]:
        os.kill(int(str(about["pid"])), signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        while about in running_gateways(directory) and time.monotonic() < deadline:
            time.sleep(0.1)
        _show(about, f"SQL gateway {about['pid']} has ended", as_json)


def _show(about: dict[str, object], text: str, as_json: bool) -> None:
    print(json.dumps(about) if as_json else text, flush=True)
