"""A database's log, read on a thread of its own into a bounded buffer."""

from __future__ import annotations

import contextlib
import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any

from headrace.datastream.connectors.cdc.changes import Change

__all__ = ["ChangeLog", "LogEntry", "LogFeed"]

_log = logging.getLogger(__name__)

_CAPACITY = 20_000
_READ_S = 0.2
_STOP_WAIT_S = 5.0

LogEntry = tuple[Change | None, Any]
"""A change and the position after it; None where the log went on without a change for us."""


class ChangeLog(ABC):
    """A connection to the log. One thread calls all of its methods."""

    @abstractmethod
    def open(self, position: Any) -> None:
        """Connect, to go on from a position."""

    @abstractmethod
    def read(self, timeout_s: float) -> list[LogEntry]:
        """What has come; waits for it if there is nothing."""

    @abstractmethod
    def keep_alive(self) -> None:
        """Called every now and then while nothing is read, because nobody takes it."""

    def confirm(self, position: Any) -> None:  # noqa: B027
        """What is before a position is never needed again."""

    @abstractmethod
    def close(self) -> None:
        """Called once, also after a failure."""


class LogFeed:
    """Hands over entries of a log without waiting."""

    def __init__(self, log: ChangeLog, position: Any, wake: Callable[[], None]) -> None:
        self._log = log
        self._position = position
        self._wake = wake
        self._changed = threading.Condition()
        self._entries: deque[LogEntry] = deque()
        self._to_confirm: Any = None
        self._error: BaseException | None = None
        self._stopped = False
        self._waited_for = True
        self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-cdc-log")
        self._thread.start()

    def take(self, max_entries: int) -> list[LogEntry]:
        """The next entries; raises the error that ended the log, once all before it are taken."""
        with self._changed:
            count = min(max_entries, len(self._entries))
            if count == 0:
                if self._error is not None:
                    raise self._error
                self._waited_for = True
                return []
            taken = [self._entries.popleft() for _ in range(count)]
            self._changed.notify_all()
            return taken

    def confirm(self, position: Any) -> None:
        """What is before a position is never needed again."""
        with self._changed:
            self._to_confirm = position

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._thread.join(_STOP_WAIT_S)
        if self._thread.is_alive():
            _log.warning("the reader of the database's log did not stop; it ends with the process")

    # The thread.

    def _run(self) -> None:
        try:
            self._log.open(self._position)
            while not self._stopped:
                self._confirm()
                if self._has_room():
                    self._put(self._log.read(_READ_S))
                else:
                    self._log.keep_alive()
            self._confirm()
        except BaseException as error:  # noqa: BLE001 - a thread's top: reading raises it
            self._error = error
            self._announce()
        finally:
            # A connection may be broken, and the failure that this follows says more.
            with contextlib.suppress(Exception):
                self._log.close()

    def _confirm(self) -> None:
        with self._changed:
            position, self._to_confirm = self._to_confirm, None
        if position is not None:
            self._log.confirm(position)

    def _has_room(self) -> bool:
        with self._changed:
            return self._changed.wait_for(
                lambda: len(self._entries) < _CAPACITY or self._stopped, _READ_S
            )

    def _put(self, entries: list[LogEntry]) -> None:
        if not entries:
            return
        with self._changed:
            for change, position in entries:
                if change is None and self._entries:
                    # Nobody comes for a position alone, so it must not fill the buffer.
                    self._entries[-1] = (self._entries[-1][0], position)
                else:
                    self._entries.append((change, position))
        if any(change is not None for change, _ in entries):
            self._announce()

    def _announce(self) -> None:
        with self._changed:
            wanted, self._waited_for = self._waited_for, False
        if wanted:
            with contextlib.suppress(OSError):
                self._wake()
