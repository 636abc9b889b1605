"""The subcommands of `headrace`, one module each."""

from __future__ import annotations

import argparse
from typing import Protocol

from headrace.cluster.commands import (
    cancel,
    completion,
    config,
    demo,
    doctor,
    down,
    example,
    info,
    list_jobs,
    logs,
    new,
    query,
    rescale,
    run,
    run_application,
    savepoint,
    shell,
    sql,
    sql_client,
    sql_gateway,
    start_cluster,
    stop,
    stop_cluster,
    top,
    up,
    version,
)


class Command(Protocol):
    """What a subcommand's module has."""

    NAME: str
    USAGE: str
    SUMMARY: str
    EPILOG: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's options."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; the exit code."""


COMMANDS: tuple[Command, ...] = (
    run,
    run_application,
    info,
    doctor,
    list_jobs,
    top,
    logs,
    savepoint,
    stop,
    cancel,
    rescale,
    query,
    shell,
    sql,
    sql_client,
    sql_gateway,
    start_cluster,
    stop_cluster,
    up,
    down,
    demo,
    example,
    new,
    config,
    completion,
    version,
)
"""In the order in which the help lists them."""

__all__ = ["COMMANDS", "Command"]
