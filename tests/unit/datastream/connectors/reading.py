"""Drives readers and writers as a subtask does, without one."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

from headrace.datastream.connectors.base import ReadBatch, Source, SourceReader


class FakeReaderContext:
    def __init__(self, subtask: int = 0, parallelism: int = 1, now: int | None = None) -> None:
        self.subtask = subtask
        self.parallelism = parallelism
        self.runtime_context = f"runtime context of {subtask}"
        self.now = now
        self.wake_ups = 0
        self.finds_idleness = False

    def now_ms(self) -> int:
        return self.now if self.now is not None else time.time_ns() // 1_000_000

    def data_available(self) -> None:
        self.wake_ups += 1

    def set_aside(self, record: Any, error: BaseException, timestamp: int | None = None) -> bool:
        return False


class FakeWriterContext:
    def __init__(self, now: int = 0, subtask: int = 0, parallelism: int = 1) -> None:
        self.subtask = subtask
        self.parallelism = parallelism
        self.runtime_context = None
        self.job_id = "job"
        self.operator_id = "operator"
        self.attempt = 1
        self.checkpointing = False
        self.restored_checkpoint: int | None = None
        self.restored_state: list[Any] = []
        self.restored_committables: list[Any] = []
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def current_watermark(self) -> int:
        return 7

    def print_lines(self, lines: list[str], to_stderr: bool = False) -> None: ...

    def collect(self, collect_id: str, values: list[Any]) -> None: ...


def opened(source: Source, context: FakeReaderContext | None = None) -> SourceReader:
    """A reader with the splits of its subtask."""
    context = context or FakeReaderContext()
    splits = source.create_enumerator(context.parallelism).discover(context.now_ms())
    reader = source.create_reader(context)
    reader.open()
    reader.add_splits(splits.get(context.subtask, []))
    return reader


def resumed(
    source: Source, reader: SourceReader, context: FakeReaderContext | None = None
) -> SourceReader:
    """A new reader that takes over from another one's checkpoint."""
    splits = pickle.loads(pickle.dumps(reader.snapshot()))
    other = source.create_reader(context or FakeReaderContext())
    other.open()
    other.add_splits(splits)
    return other


def drain(reader: SourceReader, max_records: int = 10_000, timeout_s: float = 60) -> list[Any]:
    """All values until the reader is exhausted."""
    return [v for batch in batches(reader, max_records, timeout_s) for v in batch.values]


def batches(
    reader: SourceReader, max_records: int = 10_000, timeout_s: float = 60
) -> list[ReadBatch]:
    read: list[ReadBatch] = []
    deadline = time.monotonic() + timeout_s
    while True:
        batch = reader.poll(max_records)
        if batch is not None:
            read.append(batch)
        elif reader.exhausted:
            return read
        else:
            assert time.monotonic() < deadline, f"the reader did not end; read {len(read)} batches"
            time.sleep(0.002)


def wait_until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    """Wait for what a thread does in its own time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)


def read_all(source: Source, parallelism: int = 1) -> list[list[Any]]:
    """What each subtask reads."""
    enumerator = source.create_enumerator(parallelism)
    splits = enumerator.discover(0)
    read = []
    for subtask in range(parallelism):
        reader = source.create_reader(FakeReaderContext(subtask, parallelism))
        reader.open()
        reader.add_splits(splits.get(subtask, []))
        read.append(drain(reader))
        reader.close()
    return read
