"""How an error is shown to a user: the user's lines and the message, and all of it when asked.

`headrace run` shows errors so, `python job.py` does once the program has an environment, and
notebooks do because the errors bring it along.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

__all__ = ["FULL_TRACEBACK", "full_text", "install_hook", "short_text", "wants_everything"]

FULL_TRACEBACK = "HEADRACE_FULL_TRACEBACK"
"""The environment variable that asks for everything."""

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
_EXAMPLES = str(Path(_PACKAGE, "examples")) + os.sep
_NOTEBOOKS = (f"{os.sep}IPython{os.sep}", f"{os.sep}ipykernel{os.sep}")


def wants_everything() -> bool:
    """Whether whole tracebacks are asked for."""
    return os.environ.get(FULL_TRACEBACK, "").lower() not in ("", "0", "false")


def full_text(error: BaseException) -> str:
    """The whole traceback, as Python shows it."""
    return "".join(traceback.format_exception(error))


def short_text(error: BaseException, everything: str = f"{FULL_TRACEBACK}=1") -> str:
    """An error of a user's program without frames of headrace; `everything` shows those, too."""
    headline = _headline(error)
    if headline:
        return f"{headline}: {error}\n({everything} shows everything)\n"
    own = headline is not None
    refused = isinstance(error, ImportError) and (error.name or "").startswith("pyflink")
    frames = _users_frames(error.__traceback__, also_last=own or refused)
    lines = ["Traceback (most recent call last):\n"] if frames else []
    lines += traceback.format_list(frames)
    # Our own errors are for reading: the module of their class says nothing.
    named = [f"{type(error).__name__}: {error}\n"]
    lines += named if own else traceback.format_exception_only(error)
    cause = error.__cause__
    if cause is not None and not own:
        lines.append(f"caused by {type(cause).__name__}: {cause}\n")
    return "".join(lines)


def _headline(error: BaseException) -> str | None:
    """That of an error of ours, see `HeadraceError`; None for all others."""
    headline: str | None = getattr(error, "headline", None)
    return headline


def _users_frames(tb: TracebackType | None, *, also_last: bool) -> list[traceback.FrameSummary]:
    """The frames from the user's first one on; `also_last` drops our own at the end, too."""
    frames = list(traceback.extract_tb(tb))
    while frames and _not_the_users(frames[0].filename):
        del frames[0]
    while also_last and frames and _not_the_users(frames[-1].filename):
        del frames[-1]
    return frames


def _not_the_users(file: str) -> bool:
    if file.startswith("<frozen importlib") or any(part in file for part in _NOTEBOOKS):
        return True
    return file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES)


def install_hook() -> None:
    """Let this process show errors of headrace so that nobody catches; a user's own hook stays."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _hook


def _hook(kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
    if _headline(error) is not None and not wants_everything():
        print(short_text(error), end="", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, tb)
