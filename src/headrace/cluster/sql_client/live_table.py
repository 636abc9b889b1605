"""Rows of a running query on the whole screen: the table as it is now, or its changes."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.sql.plan.expressions import Schema
from headrace.sql.session.tableau import Tableau

__all__ = ["LiveTable", "RowsSoFar"]

_REFRESH_S = 0.3
_KEPT_CHANGES = 10_000


class RowsSoFar:
    """What a query has given until now; filled by a thread of its own.

    Args:
        rows: Kinds and values, as they come.
        changelog: Keep the changes; otherwise the rows that are left after them.
    """

    def __init__(self, rows: Iterator[tuple[int, Sequence[Any]]], changelog: bool) -> None:
        self._source = rows
        self._changelog = changelog
        self._lock = threading.Lock()
        self._rows: list[tuple[int, tuple[Any, ...]]] = []
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._take, daemon=True, name="sql-client-rows")

    def start(self) -> None:
        self._thread.start()

    def _take(self) -> None:
        try:
            for kind, row in self._source:
                with self._lock:
                    self.apply(kind, tuple(row))
        except BaseException as error:  # noqa: BLE001 - a thread's top: the view shows it
            self.error = error
        finally:
            self.ended.set()

    def apply(self, kind: int, row: tuple[Any, ...]) -> None:
        """Take one change in."""
        if self._changelog:
            self._rows.append((kind, row))
            del self._rows[:-_KEPT_CHANGES]
        elif kind & 1:
            # The row that goes is most often among the last ones.
            for position in range(len(self._rows) - 1, -1, -1):
                if self._rows[position][1] == row:
                    del self._rows[position]
                    break
        else:
            self._rows.append((0, row))

    def last(self, most: int) -> tuple[list[tuple[int, tuple[Any, ...]]], int]:
        """The last rows, and how many there are."""
        with self._lock:
            return self._rows[-most:] if most else [], len(self._rows)


class LiveTable:
    """Shows rows until somebody presses Q."""

    def __init__(
        self, schema: Schema, zone: str, rows: RowsSoFar, changelog: bool, texts: bool = False
    ) -> None:
        self._tableau = Tableau(schema, zone, kinds=changelog, by_type=False, texts=texts)
        self._rows = rows
        self._title = "SQL Query Result (Changelog)" if changelog else "SQL Query Result (Table)"

    def show(self) -> None:
        """Take the screen, and give it back."""
        self._rows.start()
        with _screen() as keys:
            while self._rows.error is None:
                self._draw()
                if keys(_REFRESH_S) in ("q", "Q", "\x03", "\x1b"):
                    break
        if self._rows.error is not None:
            raise self._rows.error

    def _draw(self) -> None:
        width, height = shutil.get_terminal_size()
        ended = self._rows.ended.is_set()
        rows, total = self._rows.last(max(height - 7, 1))
        lines: list[str] = []
        self._tableau.print(iter(rows), lines.append)
        state = "ended" if ended else "running, refreshed as rows come"
        head = f"{self._title}   {total} rows   {state}"
        body = [head, "", *lines[:-1], "", "Q Quit"]
        text = "\r\n".join(line[:width] for line in body)
        sys.stdout.write(f"\x1b[H\x1b[2J{text}")
        sys.stdout.flush()


@contextlib.contextmanager
def _screen() -> Iterator[Any]:
    """The alternate screen with keys that come one by one; a function that waits for one."""
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)

    def key(timeout_s: float) -> str:
        ready, _, _ = select.select([number], [], [], timeout_s)
        return os.read(number, 1).decode(errors="replace") if ready else ""

    try:
        tty.setraw(number)
        sys.stdout.write("\x1b[?1049h\x1b[?25l")
        yield key
    finally:
        sys.stdout.write("\x1b[?25h\x1b[?1049l")
        sys.stdout.flush()
        termios.tcsetattr(number, termios.TCSADRAIN, before)
