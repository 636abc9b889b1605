"""A run's side: takes the spare, or sees to it that there is one for the next run."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import ConfigurationError
from headrace.coordination.access.job_registry import run_directory
from headrace.spark.idle.keeper import ADDRESS
from headrace.spark.idle.request import SparkRequest

__all__ = ["ask", "expect_another_run", "idle_seconds", "start_keeper", "take"]

_log = logging.getLogger(__name__)
_ANSWER_S = 60.0
"""A spare that is being started is worth waiting for: it has begun earlier than ours would."""

_INTERACTIVE_S = 300.0
_another_run_expected = False

_kept: list[Any] = []
"""Connections that say to the keeper that this run goes on."""


def idle_seconds(configuration: Configuration) -> float:
    """How long a Spark is to wait for the next run after this one."""
    given = configuration.get(options.IDLE_SPARK)
    if given is not None:
        return float(given.total_seconds())
    return _INTERACTIVE_S if _another_run_expected or _in_notebook() else 0.0


def expect_another_run() -> None:
    """Say that somebody works at a prompt, who is often back soon."""
    global _another_run_expected
    _another_run_expected = True


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def take(request: SparkRequest, idle_s: float) -> dict[str, Any] | None:
    """The port and secret of a JVM that is this process's own from now on, or None.

    Args:
        request: What this process would start.
        idle_s: How long a spare waits for the next run after this one; 0 for none, unless a keeper
            is there already.
    """
    connection = _connect()
    if connection is None:
        if idle_s > 0:
            with contextlib.suppress(OSError, ConfigurationError):
                keeper = start_keeper(idle_s, request)
                _kept.append(keeper)
        return None
    # Kept open also where there was nothing to take: the next spare is for this one's like.
    _kept.append(connection)
    try:
        answer = _asked(connection, request.to_json())
    except (OSError, ValueError) as error:
        _log.info("the idle Spark cannot be taken: %s", error)
        return None
    if "port" not in answer:
        _log.info("the idle Spark cannot be taken: %s", answer.get("no"))
        return None
    return answer


def start_keeper(idle_s: float, first: SparkRequest) -> subprocess.Popen[bytes]:
    """Start a process that has a spare ready when its standard input has ended."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", "headrace.spark.idle.keeper", str(idle_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        keeper.stdin.write(first.line())
        keeper.stdin.flush()
    return keeper


def ask(what: str) -> dict[str, Any] | None:
    """What the keeper says to `status` or `end`; None if there is no keeper."""
    connection = _connect()
    if connection is None:
        return None
    with connection:
        try:
            return _asked(connection, {"ask": what})
        except (OSError, ValueError):
            return None


def _asked(connection: socket.socket, question: dict[str, Any]) -> dict[str, Any]:
    connection.settimeout(_ANSWER_S)
    connection.sendall(json.dumps(question).encode() + b"\n")
    with connection.makefile("rb") as stream:
        answer: dict[str, Any] = json.loads(stream.readline())
    return answer


def _connect() -> socket.socket | None:
    """A connection to the keeper of this user, if one is there."""
    try:
        path = json.loads((run_directory() / ADDRESS).read_text())["socket"]
        if os.stat(path).st_uid != os.getuid():
            return None
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            raise
    except (OSError, ValueError, KeyError, ConfigurationError):
        # None, or one that was killed.
        return None
    return connection
