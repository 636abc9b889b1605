"""Watermarks and idleness that a source makes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import ReadBatch, SourceReader
from headrace.graph.specs import SourceSpec
from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.runtime.operators.source import SourceOperator


class Scripted(SourceReader):
    def __init__(self, batches: list[ReadBatch]) -> None:
        self.batches = batches

    def add_splits(self, splits: Sequence[Any]) -> None: ...

    def poll(self, max_records: int) -> ReadBatch | None:
        return self.batches.pop(0) if self.batches else None

    def snapshot(self) -> list[Any]:
        return []

    @property
    def exhausted(self) -> bool:
        return not self.batches


class Recorder:
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def emit(self, batch: Batch) -> None:
        self.seen.append(batch.values)

    def watermark(self, timestamp: int) -> None:
        self.seen.append(timestamp)

    def status(self, idle: bool) -> None:
        self.seen.append("idle" if idle else "active")

    def end(self) -> None:
        self.seen.append("end")


class Context:
    @staticmethod
    def clock() -> int:
        return 0


def run(batches: list[ReadBatch], strategy: WatermarkStrategy | None = None) -> list[Any]:
    operator = SourceOperator(SourceSpec(None, strategy))  # type: ignore[arg-type]
    operator._reader = Scripted(batches)
    operator.context = Context()  # type: ignore[assignment]
    operator.output = recorder = Recorder()  # type: ignore[assignment]
    operator.add_splits((), True)
    operator.read(1000, float("inf"), lambda: None)
    return recorder.seen


def test_a_watermark_comes_after_the_records_of_its_batch_and_never_goes_back() -> None:
    assert run(
        [
            ReadBatch("s", ["a"], [5], watermark=4),
            ReadBatch("s", ["b"], [6]),
            ReadBatch("s", [], watermark=3),
            ReadBatch("s", ["c"], [9], watermark=8),
        ]
    ) == [["a"], 4, ["b"], ["c"], 8, MAX_TIMESTAMP, "end"]


def test_a_record_or_a_watermark_ends_idleness() -> None:
    assert run(
        [
            ReadBatch("s", ["a"], watermark=1, idle=True),
            ReadBatch("s", ["b"]),
            ReadBatch("s", [], idle=True),
            ReadBatch("s", [], watermark=2),
        ]
    ) == [["a"], 1, "idle", "active", ["b"], "idle", "active", 2, MAX_TIMESTAMP, "end"]


def test_the_slowest_split_that_is_not_idle_counts() -> None:
    assert run(
        [
            ReadBatch("s", [], watermark=5),
            ReadBatch("t", [], watermark=3),
            ReadBatch("s", [], watermark=9),
            ReadBatch("t", [], idle=True),
        ]
    ) == [5, 9, MAX_TIMESTAMP, "end"]


def test_with_a_strategy_the_marks_of_the_source_do_not_count() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    batches = [ReadBatch("s", ["a"], [5], watermark=4), ReadBatch("s", [], idle=True)]
    assert run(batches, strategy) == [["a"], MAX_TIMESTAMP, "end"]
