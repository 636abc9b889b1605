"""A `SourceFunction` as a source: its `run` has a thread in the slot."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from headrace.common.errors import FunctionTypeError, TypeMismatchError
from headrace.common.watermark_strategy import Watermark
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.threaded_reader import RecordBuffer, ThreadedReader
from headrace.datastream.functions import (
    CheckpointedFunction,
    ListCheckpointed,
    ParallelSourceFunction,
    RichFunction,
    SourceFunction,
)

__all__ = ["FunctionSource"]


@dataclass(frozen=True)
class FunctionSource(Source):
    """Runs a `SourceFunction`, one in each subtask if it is a `ParallelSourceFunction`.

    The source ends when `run` returns. Whether that will happen cannot be known before, so the
    source counts as unbounded.
    """

    function: SourceFunction[Any]

    def __post_init__(self) -> None:
        if isinstance(self.function, CheckpointedFunction):
            # Its state would not go where its split goes, and be lost at another parallelism.
            raise FunctionTypeError(
                f"the source {type(self.function).__name__} is a CheckpointedFunction, which "
                "sources cannot be; keep its state as ListCheckpointed (snapshot_state and "
                "restore_state), or write a Source with splits"
            )

    @property
    def bounded(self) -> bool:
        return False

    @property
    def max_parallel_readers(self) -> int | None:
        return None if isinstance(self.function, ParallelSourceFunction) else 1

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        splits = [FunctionSplit(f"function-{subtask}") for subtask in range(parallelism)]
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _FunctionReader(self.function, context)


@dataclass(frozen=True)
class FunctionSplit:
    """The whole function: its own state, and what it emitted that was not yet read."""

    split_id: str
    state: tuple[Any, ...] = ()
    pending: tuple[ReadBatch, ...] = ()
    restored: bool = False


class CheckpointLock:
    """A reentrant lock in which whoever takes a checkpoint has precedence.

    A function that does nothing but collect would otherwise take the lock again before anybody else
    wakes up.
    """

    def __init__(self) -> None:
        self.bare = threading.RLock()
        self.wanted = False
        self._given_back = threading.Condition()
        self._holder: int | None = None
        self._depth = 0

    def __enter__(self) -> CheckpointLock:
        if self.wanted:
            self.let_pass()
        self.bare.acquire()
        self._holder = threading.get_ident()
        self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._holder = None
        self.bare.release()

    def let_pass(self) -> None:
        """Wait for one who has precedence, unless this thread holds the lock."""
        if self._holder != threading.get_ident():
            with self._given_back:
                self._given_back.wait_for(lambda: not self.wanted)

    @contextmanager
    def first(self) -> Iterator[None]:
        """Hold the lock, before all who wait for it."""
        self.wanted = True
        try:
            with self.bare:
                yield
        finally:
            with self._given_back:
                self.wanted = False
                self._given_back.notify_all()


class _FunctionReader(ThreadedReader):
    def __init__(self, function: SourceFunction[Any], context: ReaderContext) -> None:
        super().__init__(context, f"function-{context.subtask}")
        self._function = function
        self._lock = CheckpointLock()

    def open(self) -> None:
        if isinstance(self._function, RichFunction):
            self._function.set_runtime_context(self.context.runtime_context)
        self._function.open(self.context.runtime_context)

    def add_splits(self, splits: Sequence[FunctionSplit]) -> None:
        for split in splits:
            self.buffer.restore(split.pending)
        if isinstance(self._function, ListCheckpointed) and any(s.restored for s in splits):
            self._function.restore_state([element for s in splits for element in s.state])
        self.start()

    def produce(self) -> None:
        context = _SourceContext(self.buffer, self._lock)
        self._function.run(context)
        context.close()

    def stop(self) -> None:
        self._function.cancel()

    def snapshot(self) -> list[FunctionSplit]:
        if self.exhausted:
            return []
        with self.buffer.without_bound(), self._lock.first():
            state: Sequence[Any] = ()
            if isinstance(self._function, ListCheckpointed):
                # A reader is not told the number of the checkpoint.
                state = self._function.snapshot_state(-1, self.context.now_ms())
            pending = tuple(self.buffer.contents())
        return [FunctionSplit(f"function-{self.context.subtask}", tuple(state), pending, True)]

    def close(self) -> None:
        super().close()
        self._function.close()


class _SourceContext(SourceFunction.SourceContext[Any]):
    def __init__(self, buffer: RecordBuffer, lock: CheckpointLock) -> None:
        self._buffer = buffer
        self._lock = lock
        self._bare = lock.bare

    def collect(self, element: Any) -> None:
        # The short way of `with self._lock`, for every record.
        if self._lock.wanted:
            self._lock.let_pass()
        with self._bare:
            self._buffer.put(element)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        if type(timestamp) is not int:
            timestamp = _milliseconds(timestamp, "collect_with_timestamp")
        if self._lock.wanted:
            self._lock.let_pass()
        with self._bare:
            self._buffer.put(element, timestamp)

    def emit_watermark(self, mark: Watermark | int) -> None:
        timestamp = mark.timestamp if isinstance(mark, Watermark) else mark
        with self._lock:
            self._buffer.put_watermark(_milliseconds(timestamp, "emit_watermark"))

    def mark_as_temporarily_idle(self) -> None:
        with self._lock:
            self._buffer.put_idle()

    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        return self._lock


def _milliseconds(timestamp: Any, where: str) -> int:
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float):
        raise TypeMismatchError(
            f"{where}: a timestamp is a number of milliseconds, not {timestamp!r}"
        )
    return int(timestamp)
