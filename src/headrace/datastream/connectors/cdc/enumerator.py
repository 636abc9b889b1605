"""Prepares a database for a source of changes, and gives its one split to the first subtask."""

from __future__ import annotations

import threading
import time
from typing import Any

from headrace.datastream.connectors.base import SplitEnumerator
from headrace.datastream.connectors.cdc.changes import Progress
from headrace.datastream.connectors.cdc.reader import CapturedDatabase

__all__ = ["ChangeEnumerator"]

_FIRST_WAIT_S = 10.0
_LATER_WAIT_S = 0.5
_LOOK_AGAIN_MS = 500
_CANCEL_AGAIN_S = 0.2
_CANCEL_S = 10.0


class ChangeEnumerator(SplitEnumerator):
    """Asks the database on a thread: a slot is made only when open transactions have ended."""

    def __init__(self, database: CapturedDatabase) -> None:
        self._database = database
        self._thread: threading.Thread | None = None
        self._found: Progress | None = None
        self._error: BaseException | None = None
        self._given = False

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if self._given:
            return {}
        first = self._thread is None
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-cdc")
            self._thread.start()
        self._thread.join(_FIRST_WAIT_S if first else _LATER_WAIT_S)
        if self._error is not None:
            raise self._error
        if self._found is None:
            return {}
        self._given = True
        return {0: [self._found]}

    def _run(self) -> None:
        try:
            self._found = self._database.begin()
        except BaseException as error:  # noqa: BLE001 - a thread's top: raised when asked
            self._error = error

    @property
    def finished(self) -> bool:
        return self._given

    def next_discovery(self, now_ms: int) -> int | None:
        return None if self._given else now_ms + _LOOK_AGAIN_MS

    def snapshot(self) -> Any:
        return self._given

    def restore(self, snapshot: Any) -> None:
        self._given = bool(snapshot)

    def close(self) -> None:
        deadline = time.monotonic() + _CANCEL_S
        # Again and again: a request that comes between two statements ends neither of them.
        while self._thread is not None and self._thread.is_alive() and time.monotonic() < deadline:
            self._database.cancel()
            self._thread.join(_CANCEL_AGAIN_S)
