"""How the command line shows what went wrong: the user's side of it, and all of it when asked."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import TextIO

from headrace.common.errors import HeadraceError, JobExecutionError
from headrace.compat import is_installed

_PACKAGE = str(Path(__file__).resolve().parents[1])


class UsageError(Exception):
    """The command cannot be carried out as it was given; the message says what to do."""


def show_error(
    error: BaseException, *, verbose: bool = False, stream: TextIO | None = None
) -> None:
    """Write an error of a user's program, without frames of headrace unless `verbose`."""
    stream = stream or sys.stderr
    if verbose:
        traceback.print_exception(error, file=stream)
    elif isinstance(error, JobExecutionError):
        print(f"Job failed: {error}", file=stream)
        print("(headrace run --verbose shows everything)", file=stream)
    else:
        _show_users_part(error, stream)
    hint = _hint(error)
    if hint:
        print(hint, file=stream)


def _show_users_part(error: BaseException, stream: TextIO) -> None:
    own = isinstance(error, HeadraceError)
    refused = isinstance(error, ImportError) and (error.name or "").startswith("pyflink")
    frames = users_frames(error.__traceback__, also_last=own or refused)
    if frames:
        print("Traceback (most recent call last):", file=stream)
        print("".join(traceback.format_list(frames)), end="", file=stream)
    lines = traceback.format_exception_only(type(error), error)
    # Our own errors are for reading: the module of their class says nothing.
    text = f"{type(error).__name__}: {error}\n" if own else "".join(lines)
    print(text, end="", file=stream)
    cause = error.__cause__
    if cause is not None and not own:
        print(f"caused by {type(cause).__name__}: {cause}", file=stream)


def users_frames(
    tb: TracebackType | None, *, also_last: bool = False
) -> list[traceback.FrameSummary]:
    """The frames from the user's first one on; `also_last` drops our own at the end, too."""
    frames = list(traceback.extract_tb(tb))
    while frames and _ours(frames[0]):
        del frames[0]
    while also_last and frames and _ours(frames[-1]):
        del frames[-1]
    return frames


def _ours(frame: traceback.FrameSummary) -> bool:
    examples = str(Path(_PACKAGE, "examples"))
    if frame.filename.startswith("<frozen importlib"):
        return True
    return frame.filename.startswith(_PACKAGE) and not frame.filename.startswith(examples)


def _hint(error: BaseException) -> str | None:
    if not isinstance(error, ImportError):
        return None
    name = error.name or ""
    if (
        name.startswith("headrace")
        and is_installed()
        and not isinstance(error, ModuleNotFoundError)
    ):
        what = name.replace("headrace", "pyflink", 1)
        return f"headrace does not have this name of {what} yet; docs/coverage.md lists what it has"
    if name.split(".")[0] == "pyflink" and not is_installed():
        return "this is a PyFlink program: run it with headrace run --pyflink FILE"
    return None
