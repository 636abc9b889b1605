"""The jobs of this process when its program ends, at its end or with Ctrl+C."""

from __future__ import annotations

import contextlib
import sys
import weakref
from concurrent.futures import wait
from types import TracebackType

from headrace.common.job_client import JobHandle

__all__ = ["INTERRUPTED", "cancel_jobs", "end_quietly", "note_job", "wait_for_jobs"]

INTERRUPTED = "interrupted; running jobs were cancelled"

_jobs: weakref.WeakSet[JobHandle] = weakref.WeakSet()
_collecting: weakref.WeakSet[JobHandle] = weakref.WeakSet()
"""Those whose records the program takes."""

_before = None


def note_job(job: JobHandle, *, collecting: bool) -> None:
    """A job runs in this process, and the program takes its records, or not."""
    _jobs.add(job)
    if collecting:
        _collecting.add(job)


def wait_for_jobs() -> None:
    """Wait for the jobs that go on without the program: an INSERT, for instance, just runs.

    Nobody is left to take the records of the others, which end with this process.

    Raises:
        JobExecutionError: One of them failed.
    """
    running = {
        job.result_future()
        for job in list(_jobs)
        if job not in _collecting and not job.status().is_terminal_state()
    }
    if running:
        jobs = "its job goes" if len(running) == 1 else "its jobs go"
        print(f"the program has ended, {jobs} on; Ctrl+C cancels", file=sys.stderr)
        wait(running)
    for result in running:
        result.result()


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
