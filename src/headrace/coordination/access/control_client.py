"""Finds running jobs of this user and asks something of them over their control sockets."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from typing import Any

from headrace.common import errors
from headrace.common.errors import HeadraceError, UnknownJobError
from headrace.coordination.access.job_registry import JobEntry, JobRegistry, process_start

__all__ = ["JobSilentError", "OnProgress", "call", "cancel", "find_job"]

_CONNECT_S = 10.0
_CANCEL_SILENCE_S = 10.0
"""A job that is asked to do something tells every half second that it is at it."""

OnProgress = Callable[[dict[str, Any]], None]
_SHORTEST_PREFIX = 4


class JobSilentError(HeadraceError):
    """The process of a job is there, but does not answer: it is stopped, or hangs."""


def find_job(wanted: str, registry: JobRegistry | None = None) -> JobEntry:
    """The running job with this id, beginning of an id, or name.

    Raises:
        UnknownJobError: There is none, it has ended, or there are several.
    """
    entries = (registry or JobRegistry()).entries()
    found = _matching(wanted, [e for e in entries if e.running])
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{e.job_id} ({e.name})" for e in found)
        raise UnknownJobError(
            f"{wanted!r} matches several running jobs: {listed}; be more specific"
        )
    ended = _matching(wanted, [e for e in entries if not e.running])
    if ended:
        raise UnknownJobError(f"job {ended[0].job_id} ({ended[0].name}) is {ended[0].state}")
    raise UnknownJobError(
        f"you have no running job {wanted!r} on this host; `headrace list` shows your jobs"
    )


def _matching(wanted: str, entries: list[JobEntry]) -> list[JobEntry]:
    exact = [e for e in entries if e.job_id == wanted.lower()]
    if exact:
        return exact
    begun = [
        e
        for e in entries
        if len(wanted) >= _SHORTEST_PREFIX and e.job_id.startswith(wanted.lower())
    ]
    return begun + [e for e in entries if e.name == wanted and e not in begun]


def call(
    entry: JobEntry,
    operation: str,
    on_progress: OnProgress = lambda progress: None,
    silence_s: float | None = None,
    **arguments: Any,
) -> Any:
    """Ask a job to do something and wait for the outcome, but not through a longer silence.

    Raises:
        UnknownJobError: The job has ended in the meantime.
        JobSilentError: It said nothing for so long.
        HeadraceError: What the job says against it, as the class that it raised.
    """
    request = json.dumps({"operation": operation, **arguments}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(silence_s or _CONNECT_S)
            connection.connect(entry.address)
            connection.sendall(request)
            # The job reports its progress every now and then; a savepoint may take long.
            connection.settimeout(silence_s)
            with connection.makefile("rb") as answers:
                for line in answers:
                    message = json.loads(line)
                    if "progress" in message:
                        on_progress(message["progress"])
                    elif "error" in message:
                        raise _rebuilt(message["error"])
                    else:
                        return message["result"]
    except TimeoutError:
        raise JobSilentError(
            f"job {entry.job_id} ({entry.name}) does not answer: its process {entry.pid} is "
            "stopped or hangs; `headrace cancel` kills it"
        ) from None
    except OSError:
        pass
    raise UnknownJobError(f"job {entry.job_id} ({entry.name}) has ended in the meantime")


def cancel(entry: JobEntry) -> None:
    """Cancel a job and wait for its end; a process that does not answer is killed."""
    try:
        call(entry, "cancel", silence_s=_CANCEL_SILENCE_S)
    except JobSilentError:
        if process_start(entry.pid) == entry.process_start:
            os.kill(entry.pid, signal.SIGKILL)


def _rebuilt(error: dict[str, str]) -> HeadraceError:
    known = getattr(errors, error["type"], None)
    if isinstance(known, type) and issubclass(known, HeadraceError):
        return known(error["message"])
    return HeadraceError(f"{error['type']}: {error['message']}")
