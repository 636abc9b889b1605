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
        self._uncommitted: list[list[Any]] = []
        self._sealed: list[tuple[int, list[list[Any]]]] = []
        self._committed_epoch = 0
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
                self._uncommitted.append(values)

    def epoch_ended(self, epoch: int) -> None:
        """The records of an epoch are whole; they count as soon as the epoch is committed."""
        with self._changed:
            self._sealed.append((epoch, self._uncommitted))
            self._uncommitted = []
            self._release()

    def commit(self, epoch: int) -> None:
        """Epochs up to this one will not be repeated; it may still be running."""
        with self._changed:
            self._committed_epoch = max(self._committed_epoch, epoch)
            self._release()

    def _release(self) -> None:
        while self._sealed and self._sealed[0][0] <= self._committed_epoch:
            _, batches = self._sealed.pop(0)
            self._batches.extend(batches)
            self._waiting += sum(map(len, batches))
        self._changed.notify_all()

    def rewind(self, epoch: int) -> None:
        """The job goes back to its last checkpoint: what came after it will come again.

        The epoch that failed may be committed already, if it failed after its last snapshot.
        """
        if self._committed_epoch >= epoch:
            self.epoch_ended(epoch)
        with self._changed:
            self._uncommitted, self._sealed = [], []

    def end(self, error: BaseException | None = None) -> None:
        """Nothing follows; an error is raised by the iterator after the last record."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def abandon(self) -> None:
        """Nobody reads any more."""
        with self._changed:
            self._abandoned = True
            self._uncommitted, self._sealed = [], []
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
