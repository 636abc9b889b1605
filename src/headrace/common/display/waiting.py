"""Says on a terminal what is being waited for, as soon as it takes noticeably long."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

__all__ = ["waiting"]

_PATIENCE_S = 0.3
_TURN_S = 0.1
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[K"


@contextlib.contextmanager
def waiting(what: str | Callable[[], str], patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Show a line while the body runs, on a terminal only; nothing of it stays behind.

    Args:
        what: What the body does, as in `starting Spark`, or what says it again and again.
        patience_s: For how long nothing is shown.
    """
    if not _is_plain_terminal():
        yield
        return
    # A descriptor of its own: while Spark starts, that of standard error leads to a file.
    terminal = os.dup(sys.stderr.fileno())
    done = threading.Event()
    frames = _FRAMES if "utf" in sys.stderr.encoding.lower() else _PLAIN_FRAMES
    turning = threading.Thread(
        target=_turn,
        args=(terminal, what, patience_s, frames, done),
        daemon=True,
        name="headrace-waiting",
    )
    turning.start()
    try:
        yield
    finally:
        done.set()
        turning.join()
        os.close(terminal)


def _is_plain_terminal() -> bool:
    """Whether standard error is a terminal that nobody else redraws at the moment."""
    stream = sys.__stderr__
    if stream is None or sys.stderr is not stream:
        return False
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _turn(
    terminal: int,
    what: str | Callable[[], str],
    patience_s: float,
    frames: str,
    done: threading.Event,
) -> None:
    began = time.monotonic()
    if done.wait(patience_s):
        return
    turn = 0
    while True:
        elapsed = time.monotonic() - began
        text = what if isinstance(what, str) else what()
        line = f"{_CLEAR}{frames[turn % len(frames)]} {text} ... {elapsed:.0f} s"
        os.write(terminal, line.encode(errors="replace"))
        turn += 1
        if done.wait(_TURN_S):
            break
    os.write(terminal, _CLEAR.encode())
