"""Ctrl+C: the jobs of this process are cancelled, and the program ends without a traceback."""

from __future__ import annotations

import contextlib
import sys
import weakref
from types import TracebackType

from headrace.common.job_client import JobHandle

__all__ = ["INTERRUPTED", "cancel_jobs", "end_quietly", "note_job"]

INTERRUPTED = "interrupted; running jobs were cancelled"

_jobs: weakref.WeakSet[JobHandle] = weakref.WeakSet()
_before = None


def note_job(job: JobHandle) -> None:
    """A job runs in this process."""
    _jobs.add(job)


def cancel_jobs() -> None:
    """Cancel all jobs of this process and wait for their end; a second Ctrl+C does not wait."""
    with contextlib.suppress(KeyboardInterrupt):
        running = [job.cancel() for job in list(_jobs) if not job.status().is_terminal_state()]
        for cancelled in running:
            cancelled.result()


def end_quietly() -> None:
    """Let an uncaught interrupt end the program quietly, with Python's usual exit code."""
    global _before
    if _before is None:
        _before, sys.excepthook = sys.excepthook, _hook


def _hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        cancel_jobs()
        print(INTERRUPTED, file=sys.stderr)
    elif _before is not None:
        _before(kind, error, traceback)
