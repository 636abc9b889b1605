"""A `SourceFunction` as a source: its `run` has a thread in the slot."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from headrace.common.errors import TypeMismatchError
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
    source counts as unbounded. A `CheckpointedFunction` has its state in the operator, where it is
    dealt out again at another parallelism; a `ListCheckpointed` has it in its split.
    """

    function: SourceFunction[Any]

    @property
    def bounded(self) -> bool:
        return False

    @property
    def max_parallel_readers(self) -> int | None:
        return None if isinstance(self.function, ParallelSourceFunction) else 1

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        splits = [FunctionSplit(f"function-{subtask}") for subtask in range(parallelism)]
        if isinstance(self.function, CheckpointedFunction):
            return _EverywhereEnumerator(splits, parallelism)
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _FunctionReader(self.function, context)


class _EverywhereEnumerator(StaticEnumerator):
    """Starts the function in all subtasks of another parallelism, since all get state."""

    def snapshot(self) -> Any:
        return self._parallelism if self.finished else None

    def restore(self, snapshot: Any) -> None:
        if snapshot == self._parallelism:
            self._splits = None


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
        self._barrier = ExitStack()

    @property
    def user_function(self) -> Any:
        return self._function if isinstance(self._function, CheckpointedFunction) else None

    def open(self) -> None:
        if isinstance(self._function, RichFunction):
            self._function.set_runtime_context(self.context.runtime_context)
        self._function.open(self.context.runtime_context)

    def add_splits(self, splits: Sequence[FunctionSplit]) -> None:
        for split in splits:
            self.buffer.restore(split.pending)
        if isinstance(self._function, ListCheckpointed) and any(s.restored for s in splits):
            self._function.restore_state([element for s in splits for element in s.state])
        if self._thread is None:
            self.start()

    def produce(self) -> None:
        context = _SourceContext(self.buffer, self._lock)
        self._function.run(context)
        context.close()

    def stop(self) -> None:
        self._function.cancel()

    def on_checkpoint(self, checkpoint: int) -> None:
        if isinstance(self._function, CheckpointedFunction):
            # Until `snapshot`: what was emitted and what the state knows of it belong together.
            self._barrier.enter_context(self._hold())

    @contextmanager
    def _hold(self) -> Iterator[None]:
        with self.buffer.without_bound(), self._lock.first():
            yield

    def snapshot(self) -> list[FunctionSplit]:
        with self._barrier:
            return [] if self.exhausted else [self._split()]

    def _split(self) -> FunctionSplit:
        with self._hold():
            state: Sequence[Any] = ()
            if isinstance(self._function, ListCheckpointed):
                # A reader is not told the number of the checkpoint.
                state = self._function.snapshot_state(-1, self.context.now_ms())
            pending = tuple(self.buffer.contents())
        return FunctionSplit(f"function-{self.context.subtask}", tuple(state), pending, True)

    def close(self) -> None:
        self._barrier.close()
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
            f"{where}: a timestamp must be a number of milliseconds, not {timestamp!r}"
        )
    return int(timestamp)
