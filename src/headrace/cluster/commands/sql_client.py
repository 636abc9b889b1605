"""`headrace sql-client`: SQL from a terminal, a file or the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cluster.client.configured import add_cluster, chosen_job_manager
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.manager.attachment import attach
from headrace.cluster.program_options import add_settings, settings_of
from headrace.cluster.sql_client.splitting import split_statements
from headrace.spark.idle.client import expect_another_run

if TYPE_CHECKING:
    from headrace.cluster.sql_client.client import Client

NAME = "sql-client"
USAGE = "[embedded|gateway] [options]"
SUMMARY = "run SQL statements from a prompt, a file (-f), or the command line (-e)"
EPILOG = """\
At the prompt, Tab completes, the arrow keys go through earlier statements, and Enter runs a
statement that ends with a semicolon. Jobs run inside the client and end with it; -f and -e wait for
them. With -m they are jobs of a cluster on this host, listed and controlled by its JobManager.
With `gateway`, statements run in a SQL gateway, and jobs of INSERTs continue there.

examples:
  headrace sql-client                              a prompt
  headrace sql-client -i tables.sql                the same, after the statements of a file
  headrace sql-client -f report.sql                the statements of a file
  headrace sql-client -e "SHOW FUNCTIONS;"         one statement
  headrace sql-client -D execution.checkpointing.interval=10s -f pipeline.sql
  headrace sql-client -m localhost:8081 -f pipeline.sql
  headrace sql-client gateway --endpoint localhost:8083 -f pipeline.sql"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "mode",
        nargs="?",
        choices=("embedded", "gateway"),
        default="embedded",
        help="where statements run: in the client (default), or in a SQL gateway",
    )
    parser.add_argument(
        "--endpoint",
        metavar="HOST:PORT",
        help="the SQL gateway, as host:port or a URL (default: what the configuration says)",
    )
    add_settings(parser)
    add_cluster(parser)
    parser.add_argument("-i", "--init", metavar="FILE", help="run these statements first")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "-f", "--file", metavar="FILE", help="run the statements in a file, then exit"
    )
    what.add_argument("-e", "--execute", metavar="SQL", help="run these statements, then exit")
    parser.add_argument("--history", metavar="FILE", help="keep the history of statements here")


def run(options: argparse.Namespace) -> int:
    """Run statements."""
    from headrace.cluster.sql_client.prompt import history_file, interact

    script = options.execute if options.file is None else _text(options.file)
    first = "" if options.init is None else _text(options.init)
    if script is None and not sys.stdin.isatty():
        script = sys.stdin.read()
    client = _client(options, interactive=script is None)
    try:
        if not _run_all(client, first):
            return ExitCode.FAILED
        if script is None:
            interact(client, Path(options.history) if options.history else history_file())
            return ExitCode.OK
        fine = _run_all(client, script) and client.wait_for_jobs()
        return ExitCode.OK if fine else ExitCode.FAILED
    finally:
        client.close()


def _client(options: argparse.Namespace, interactive: bool) -> Client:
    settings = settings_of(options)
    on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if options.mode == "gateway":
        from headrace.cluster.sql_client.gateway import GatewayClient, configured_gateway

        return GatewayClient(options.endpoint or configured_gateway(), settings, on_terminal)
    if options.endpoint is not None:
        raise UsageError("--endpoint is for `headrace sql-client gateway`")
    job_manager = chosen_job_manager(options, options.settings)
    if job_manager is not None:
        attach(job_manager, "SQL client")
    from headrace.cluster.sql_client.session import ClientSession
    from headrace.table import EnvironmentSettings, TableEnvironment

    if interactive:
        expect_another_run()
    builder = EnvironmentSettings.new_instance().with_configuration(settings)
    return ClientSession(TableEnvironment.create(builder.build()), on_terminal)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def _run_all(client: Client, script: str) -> bool:
    """Run a script up to its first error; each statement is shown before it runs."""
    for statement in split_statements(script):
        print(f"headrace SQL> {statement.strip()}")
        if not client.run(statement):
            return False
        if client.finished:
            break
    return True
