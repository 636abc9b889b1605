"""What a job shows to the program that started it: printed lines and collected records."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any, TextIO

from headrace.graph.ids import CheckpointId
from headrace.runtime.slot.messages import Collected

_log = logging.getLogger(__name__)

_WAITING_RECORDS = 100_000


class Terminal:
    """Writes lines of all slots to the program's standard output, never mixing two of them.

    A job does not depend on who looks at it: what cannot be written is dropped, as in Flink.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._warned = False

    def write(self, text: str, to_stderr: bool) -> None:
        stream = sys.stderr if to_stderr else sys.stdout
        with self._lock:
            try:
                stream.write(text)
                stream.flush()
            except (OSError, ValueError) as error:
                self._dropped(stream, error)

    def _dropped(self, stream: TextIO, error: Exception) -> None:
        if isinstance(error, BrokenPipeError):
            _write_to_nobody(stream)
        if not self._warned:
            self._warned = True
            _log.warning("the job continues, but what it prints is dropped: %s", error)


def _write_to_nobody(stream: TextIO) -> None:
    """Send what a stream still holds to the null device, so that the program ends quietly."""
    with contextlib.suppress(OSError, ValueError):
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, stream.fileno())
        os.close(nobody)


class Multiset:
    """Values and how often each is there; those that cannot be hashed count by their pickle."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()

    def __len__(self) -> int:
        return self._counts.total()

    def add(self, values: list[Any]) -> None:
        self._counts.update(map(_hashable, values))

    def without(self, values: list[Any]) -> list[Any]:
        """Those that are not in the set; the others are taken out of it."""
        return [value for value in values if not self._take(_hashable(value))]

    def _take(self, value: Any) -> bool:
        left = self._counts.get(value, 0)
        if left > 1:
            self._counts[value] = left - 1
        elif left:
            del self._counts[value]
        return left > 0


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return pickle.dumps(value, 5)
    return value


class Collector:
    """A queue between the job and an iterator; the job waits when nobody takes from it.

    Args:
        remember: Whether the job may go back to an older checkpoint than its last: then what was
            handed over since that one is kept, to be left out when it comes again.
    """

    def __init__(self, remember: bool = False) -> None:
        self.remember = remember
        self._changed = threading.Condition()
        self._batches: deque[list[Any]] = deque()
        self._waiting = 0
        self._uncommitted: list[list[Any]] = []
        self._sealed: list[tuple[int, list[list[Any]]]] = []
        self._committed_epoch = 0
        self._delivered: list[tuple[int, list[list[Any]]]] = []
        self._repeats = Multiset()
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
            epoch, batches = self._sealed.pop(0)
            if self.remember:
                self._delivered.append((epoch, batches))
            if self._repeats:
                batches = [self._repeats.without(batch) for batch in batches]
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

    def forget(self, epoch: int) -> None:
        """The job can no longer go back to before the end of an epoch."""
        with self._changed:
            self._delivered = [d for d in self._delivered if d[0] > epoch]

    def fall_back(self, epoch: int) -> None:
        """The job goes back to an older checkpoint, taken at the end of an epoch.

        What was handed over since cannot be taken back, so it is left out when it comes again.
        """
        with self._changed:
            for _, batches in (d for d in self._delivered if d[0] > epoch):
                for batch in batches:
                    self._repeats.add(batch)
            self._delivered = [d for d in self._delivered if d[0] <= epoch]

    def end(self, error: BaseException | None = None) -> None:
        """Nothing follows; an error is raised by the iterator after the last record."""
        if self._repeats and error is None:
            _log.warning(
                "%d records that were handed over before the job went back to an older checkpoint "
                "did not come again: the program is not deterministic, so they may appear twice "
                "in different forms",
                len(self._repeats),
            )
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def abandon(self) -> None:
        """Note that the reader is gone."""
        with self._changed:
            self._abandoned = True
            self._uncommitted, self._sealed, self._delivered = [], [], []
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


class CollectedOutput:
    """All collectors of a job: their records count when the checkpoint after them is complete."""

    def __init__(self, collectors: dict[str, Collector], remember: bool) -> None:
        self._collectors = collectors
        self._epoch_of: dict[CheckpointId, int] = {}
        self._lock = threading.Lock()
        self._attempt: int | None = None
        for collector in collectors.values():
            collector.remember = remember

    def attempt_started(self, attempt: int) -> None:
        """From now on records are those of another attempt."""
        with self._lock:
            self._attempt = attempt

    def put(self, attempt: int, message: Collected) -> None:
        """A slot sent records of the epoch that runs.

        One of an attempt that has failed may still do so until it notices: they do not count.
        """
        with self._lock:
            if attempt == self._attempt:
                self._collectors[message.collect_id].put(message.payload)

    def planned(self, checkpoint: CheckpointId, epoch: int) -> None:
        """A checkpoint is taken at the end of an epoch."""
        self._epoch_of[checkpoint] = epoch

    def epoch_ended(self, epoch: int, final: bool) -> None:
        """An epoch is over; if it is final no checkpoint need follow."""
        for collector in self._collectors.values():
            collector.epoch_ended(epoch)
            if final:
                collector.commit(epoch)

    def checkpoint_completed(self, checkpoint: CheckpointId, oldest: CheckpointId) -> None:
        """What came before a checkpoint counts; the job cannot go back to before the oldest one."""
        epoch_of = self._epoch_of
        for outdated in [c for c in list(epoch_of) if c < oldest]:
            del epoch_of[outdated]
        for collector in self._collectors.values():
            collector.commit(epoch_of[checkpoint])
            collector.forget(epoch_of.get(oldest, 0))

    def attempt_failed(self, epoch: int) -> None:
        """The job goes back to its last checkpoint."""
        with self._lock:
            self._attempt = None
            for collector in self._collectors.values():
                collector.rewind(epoch)

    def fall_back(self, checkpoint: CheckpointId) -> None:
        """The job goes back to an older checkpoint; one of an earlier process comes before all."""
        for collector in self._collectors.values():
            collector.fall_back(self._epoch_of.get(checkpoint, 0))

    def wait_while_full(self, cancelling: threading.Event) -> None:
        """Wait until whoever reads has caught up."""
        for collector in self._collectors.values():
            while collector.full and not cancelling.is_set():
                collector.wait_while_full(0.5)

    def end(self, error: BaseException | None) -> None:
        """The job is over."""
        for collector in self._collectors.values():
            collector.end(error)
