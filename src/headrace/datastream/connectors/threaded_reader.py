"""Readers whose records come from a thread of their own: a source function, a socket.

The thread puts records into a bounded buffer and waits when it is full; the subtask polls the
buffer and never waits. The job master is woken when the buffer gets its first record after a poll
that found
nothing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader

__all__ = ["RecordBuffer", "StoppedReading", "ThreadedReader"]

_log = logging.getLogger(__name__)

_CAPACITY = 100_000
_FIRST_RECORDS_S = 0.05
_STOP_WAIT_S = 2.0


class StoppedReading(BaseException):
    """Raised in the thread when it puts a record after the reader was closed, to unwind it.

    It is no `Exception`, so that a retry loop in user code does not swallow it.
    """


class RecordBuffer:
    """Records and marks, in the order in which the thread emitted them."""

    def __init__(self, split_id: str, wake: Callable[[], None], capacity: int = _CAPACITY) -> None:
        self._split_id = split_id
        self._wake = wake
        self._capacity = capacity
        # The bare lock for the way that every record takes: a condition's methods cost more.
        self._mutex = threading.Lock()
        self._changed = threading.Condition(self._mutex)
        self._batches: deque[ReadBatch] = deque()
        self._tail: list[Any] | None = None
        self._size = 0
        self._awake = False
        self._lifted = False
        self._stopped = False

    def put(self, value: Any, timestamp: int | None = None) -> None:
        """Add a record; waits while the buffer is full."""
        with self._mutex:
            if self._size >= self._capacity:
                self._wait_for_room()
            self._size += 1
            if timestamp is not None:
                last = self._open_batch(True)
                last.values.append(value)
                last.timestamps.append(timestamp)  # type: ignore[union-attr]
            elif self._tail is not None:
                self._tail.append(value)
            else:
                self._tail = self._open_batch(False).values
                self._tail.append(value)
        if not self._awake:
            self.announce()

    def put_all(self, values: list[Any]) -> None:
        """Add records that have no timestamps."""
        with self._changed:
            if self._size >= self._capacity:
                self._wait_for_room()
            self._open_batch(False).values.extend(values)
            self._size += len(values)
        if not self._awake:
            self.announce()

    def put_watermark(self, timestamp: int) -> None:
        """Add a watermark; of several in a row the last one counts."""
        with self._changed:
            self._check_stopped()
            last = self._last_batch()
            if last.idle:
                last = self._new_batch(None)
            self._tail = None
            before = last.watermark
            last.watermark = timestamp if before is None else max(before, timestamp)
        self.announce()

    def put_idle(self) -> None:
        """Say that nothing follows for a while."""
        with self._changed:
            self._check_stopped()
            self._tail = None
            self._last_batch().idle = True
        self.announce()

    def announce(self) -> None:
        """Wake the job master, unless it was woken since a poll last found nothing."""
        if not self._awake:
            self._awake = True
            with self._changed:
                self._changed.notify_all()
            self._wake()

    def take(self, max_records: int) -> ReadBatch | None:
        """The next records of one kind, with the mark after them; None if the buffer is empty."""
        with self._changed:
            if not self._batches:
                self._awake = False
                return None
            first = self._batches[0]
            if len(first.values) <= max_records:
                self._batches.popleft()
                if not self._batches:
                    self._tail = None
            else:
                first = _cut(first, max_records)
            was_full = self._size >= self._capacity
            self._size -= len(first.values)
            if was_full:
                self._changed.notify_all()
            return first

    def wait_for_first(self, timeout_s: float) -> None:
        """Wait until the buffer was announced once."""
        with self._changed:
            self._changed.wait_for(lambda: self._awake, timeout_s)

    def stop(self) -> None:
        """End the thread: its next `put` raises `StoppedReading`."""
        with self._changed:
            self._stopped = True
            self._size = self._capacity  # every put now looks whether it may go on
            self._changed.notify_all()

    @contextlib.contextmanager
    def without_bound(self) -> Iterator[None]:
        """Let a thread that waits for room finish what it is at."""
        with self._changed:
            self._lifted = True
            self._changed.notify_all()
        try:
            yield
        finally:
            self._lifted = False

    def contents(self) -> list[ReadBatch]:
        """What is in the buffer, for a checkpoint."""
        with self._changed:
            return [_copy(batch) for batch in self._batches]

    def restore(self, batches: Sequence[ReadBatch]) -> None:
        """Put the contents of a checkpoint in front."""
        with self._changed:
            self._batches.extendleft(reversed([_copy(b) for b in batches]))
            self._size += sum(len(b.values) for b in batches)

    @property
    def empty(self) -> bool:
        return not self._batches

    def _wait_for_room(self) -> None:
        self._changed.wait_for(lambda: self._size < self._capacity or self._lifted or self._stopped)
        self._check_stopped()

    def _check_stopped(self) -> None:
        if self._stopped:
            raise StoppedReading

    def _open_batch(self, stamped: bool) -> ReadBatch:
        """The batch that the next record belongs to."""
        last = self._batches[-1] if self._batches else None
        if (
            last is None
            or (last.timestamps is not None) != stamped
            or last.watermark is not None
            or last.idle
        ):
            return self._new_batch([] if stamped else None)
        return last

    def _last_batch(self) -> ReadBatch:
        return self._batches[-1] if self._batches else self._new_batch(None)

    def _new_batch(self, timestamps: list[int] | None) -> ReadBatch:
        self._tail = None
        batch = ReadBatch(self._split_id, [], timestamps)
        self._batches.append(batch)
        return batch


def _cut(batch: ReadBatch, count: int) -> ReadBatch:
    """Take records from the front of a batch; the marks stay with the rest."""
    front = ReadBatch(batch.split_id, batch.values[:count])
    del batch.values[:count]
    if batch.timestamps is not None:
        front.timestamps = batch.timestamps[:count]
        del batch.timestamps[:count]
    return front


def _copy(batch: ReadBatch) -> ReadBatch:
    stamps = None if batch.timestamps is None else list(batch.timestamps)
    return ReadBatch(batch.split_id, list(batch.values), stamps, batch.watermark, batch.idle)


class ThreadedReader(SourceReader):
    """Runs `produce` in a thread from the first split on; its end is the end of the source.

    An error of the thread is raised by `poll`, after the records that came before it.
    """

    def __init__(self, context: ReaderContext, split_id: str, capacity: int = _CAPACITY) -> None:
        self.context = context
        self.buffer = RecordBuffer(split_id, context.data_available, capacity)
        self._split_id = split_id
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._done = False
        self._told_finished = False

    @abstractmethod
    def produce(self) -> None:
        """Runs in the thread: puts records into `buffer` until there are no more."""

    @abstractmethod
    def stop(self) -> None:
        """Called from another thread: make `produce` return soon."""

    def start(self) -> None:
        """Start the thread. A source that is short, or quick, has something for the first poll."""
        name = f"headrace-{self._split_id}"
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)
        self._thread.start()
        self.buffer.wait_for_first(_FIRST_RECORDS_S)

    def _run(self) -> None:
        try:
            self.produce()
        except StoppedReading:
            pass
        except BaseException as error:  # noqa: BLE001 - a thread's top: raised when asked
            self._error = error
        self._done = True
        # Also when the job master was woken for records: it must come once more for the end.
        with contextlib.suppress(OSError):
            self.buffer.announce()

    def poll(self, max_records: int) -> ReadBatch | None:
        batch = self.buffer.take(max_records)
        if batch is None and self._done:
            # Its last records may have come in between.
            batch = self.buffer.take(max_records)
            if batch is None and self._error is not None:
                raise self._error
        return batch

    @property
    def running(self) -> bool:
        """Whether the thread was started and is not done."""
        return self._thread is not None and not self._done

    @property
    def exhausted(self) -> bool:
        if self._thread is None:
            return self.buffer.empty
        return self._done and self._error is None and self.buffer.empty

    def finished_splits(self) -> list[str]:
        if self._told_finished or self._thread is None or not self.exhausted:
            return []
        self._told_finished = True
        return [self._split_id]

    def close(self) -> None:
        if self.running:
            self.buffer.stop()
            self.stop()
            assert self._thread is not None
            self._thread.join(_STOP_WAIT_S)
            if self._thread.is_alive():
                _log.warning(
                    "%s did not stop within %.0f s; it ends with the process",
                    self._split_id,
                    _STOP_WAIT_S,
                )
