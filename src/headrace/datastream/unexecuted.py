"""Says so when a program has ended and what it built never ran."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

__all__ = ["built", "forget", "looked_at"]

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep

_lines: dict[int, str] = {}
"""Where the main program last built something, by the number of the environment."""


def built(environment: int) -> None:
    """The main program has added an operator.

    Environments are known by number: one that is local to a function is gone when the program ends.
    What other modules build, such as tests and notebooks' helpers, may never be meant to run.
    """
    if not _lines:
        atexit.unregister(_tell)
        atexit.register(_tell)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    if frame.f_globals.get("__name__") == "__main__":
        _lines[environment] = f"{frame.f_code.co_filename}:{frame.f_lineno}"


def looked_at(environment: int) -> None:
    """What was built is run, or only its plan is wanted."""
    _lines.pop(environment, None)


def forget() -> None:
    """The program has failed, which says enough."""
    _lines.clear()


def _tell() -> None:
    # At a prompt and in a notebook programs are never at their end; a failed one has an error.
    if hasattr(sys, "ps1") or hasattr(sys, "last_value"):
        return
    for line in _lines.values():
        print(
            f"headrace: the program ended, but what it built up to {line} did not run; call "
            "env.execute() after it",
            file=sys.stderr,
        )
