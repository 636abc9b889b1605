"""What a job shows to the program that started it: printed lines and collected records."""

from __future__ import annotations

import pickle
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

_WAITING_RECORDS = 100_000


class Terminal:
    """Writes lines of all slots to the program's standard output, never mixing two of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def write(self, text: str, to_stderr: bool) -> None:
        stream = sys.stderr if to_stderr else sys.stdout
        with self._lock:
            stream.write(text)
            stream.flush()


class Collector:
    """A queue between the job and an iterator; the job waits when nobody takes from it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._batches: deque[list[Any]] = deque()
        self._waiting = 0
        self._error: BaseException | None = None
        self._ended = False
        self._abandoned = False

    @property
    def full(self) -> bool:
        """Whether the job should wait before it produces more."""
        with self._changed:
            return self._waiting > _WAITING_RECORDS and not self._abandoned

    def wait_while_full(self, timeout_s: float) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting <= _WAITING_RECORDS or self._abandoned, timeout_s
            )

    def put(self, payload: bytes) -> None:
        values = pickle.loads(payload)
        with self._changed:
            if not self._abandoned:
                self._batches.append(values)
                self._waiting += len(values)
                self._changed.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """Nothing follows; an error is raised by the iterator after the last record."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def abandon(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._abandoned = True
            self._batches.clear()
            self._waiting = 0
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._batches or self._ended or self._abandoned)
                if not self._batches:
                    if self._error is not None and not self._abandoned:
                        raise self._error
                    return
                batch = self._batches.popleft()
                self._waiting -= len(batch)
                self._changed.notify_all()
            yield from batch
