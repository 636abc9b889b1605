"""A few lines at the bottom of the terminal, redrawn in place while output scrolls above."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO, cast

_UP = "\x1b[{}F"
_CLEAR_BELOW = "\x1b[J"
_HIDE_CURSOR = "\x1b[?25l"
_SHOW_CURSOR = "\x1b[?25h"

BOLD, DIM, GREEN, RESET = "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[0m"


def is_live_terminal(stream: TextIO) -> bool:
    """Whether lines can be redrawn there."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def colours_wanted() -> bool:
    """Whether colours are welcome; see no-color.org."""
    return not os.environ.get("NO_COLOR")


class Panel:
    """Draws lines at the bottom; what is written through `scroll` goes above them."""

    def __init__(self, terminal: TextIO, size: Callable[[], os.terminal_size]) -> None:
        self._terminal = terminal
        self._size = size
        self._lock = threading.RLock()
        self._lines: list[tuple[str, str]] = []
        self._drawn = 0

    def show(self, lines: list[tuple[str, str]]) -> None:
        """Draw these instead of the last ones; each is a style and a text."""
        with self._lock:
            self._lines = lines
            self._write("")

    def scroll(self, text: str) -> None:
        """Write whole lines above the panel."""
        with self._lock:
            self._write(text)

    def leave(self) -> None:
        """Let the panel stand where it is; what follows is written below it."""
        with self._lock:
            self._lines, self._drawn = [], 0
            self._terminal.flush()

    def _write(self, above: str) -> None:
        # One write for all of it: a terminal that shows half of it flickers.
        width, height = self._size()
        shown = self._lines[: max(height - 1, 1)]
        erase = (_UP.format(self._drawn) + _CLEAR_BELOW) if self._drawn else ""
        drawn = "".join(_line(style, text, width) for style, text in shown)
        self._terminal.write(erase + above + drawn)
        self._terminal.flush()
        self._drawn = len(shown)


def _line(style: str, text: str, width: int) -> str:
    cut = text if len(text) < width else text[: max(width - 2, 1)] + "~"
    return f"{style}{cut}{RESET}\n" if style else cut + "\n"


class _ScrollingStream(io.TextIOBase):
    """Stands in for standard output or error while the panel is there."""

    def __init__(self, panel: Panel, encoding: str) -> None:
        self._panel = panel
        self._encoding = encoding
        self._rest = ""
        self._lock = threading.Lock()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            whole, newline, self._rest = (self._rest + text).rpartition("\n")
        if newline:
            self._panel.scroll(whole + newline)
        return len(text)

    def finish(self) -> None:
        if self._rest:
            self.write("\n")


@contextlib.contextmanager
def panel_below_output() -> Iterator[Panel]:
    """A panel on this terminal; meanwhile all output of this process scrolls above it."""
    descriptor = sys.stdout.fileno()
    encoding = sys.stdout.encoding
    # A descriptor of its own: while Spark starts, that of standard output leads elsewhere.
    with os.fdopen(os.dup(descriptor), "w", encoding=encoding, errors="replace") as terminal:
        panel = Panel(terminal, lambda: os.get_terminal_size(terminal.fileno()))
        saved = sys.stdout, sys.stderr
        streams = [_ScrollingStream(panel, encoding)]
        sys.stdout = cast("TextIO", streams[0])
        if is_live_terminal(saved[1]):
            streams.append(_ScrollingStream(panel, encoding))
            sys.stderr = cast("TextIO", streams[1])
        terminal.write(_HIDE_CURSOR)
        try:
            yield panel
        finally:
            sys.stdout, sys.stderr = saved
            for stream in streams:
                stream.finish()
            panel.leave()
            terminal.write(_SHOW_CURSOR)
