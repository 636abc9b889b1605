"""A program that counts until it is told to end.

Each row that it collects proves itself: the n-th record of a key has one value and no other, so a
lost, doubled or misplaced record shows in the rows alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

KEYS = 10
PARALLELISM = 2
_INTERVAL_MS, _PAUSE_MS = 50, 500

Row = tuple[int, int, int]
"""A key, how many records it had, and the last of them."""


@dataclass(frozen=True)
class Numbers:
    """Every n-th number, from a position on."""

    split_id: str
    position: int


class _NumberReader(SourceReader):
    def __init__(self, end: Path) -> None:
        self._end = end
        self._paused = end.with_name("paused")
        self._splits: list[Numbers] = []
        self._ready_at = 0

    def add_splits(self, splits: Sequence[Numbers]) -> None:
        self._splits.extend(splits)

    def poll(self, max_records: int) -> ReadBatch | None:
        now = time.time_ns() // 1_000_000
        if now < self._ready_at or not self._splits or self._paused.exists():
            return None
        if self._end.exists():
            self._splits = []
            return None
        self._ready_at = now + _INTERVAL_MS
        split = self._splits.pop(0)
        end = split.position + PARALLELISM * min(max_records, 20)
        self._splits.append(replace(split, position=end))
        return ReadBatch(split.split_id, list(range(split.position, end, PARALLELISM)))

    def snapshot(self) -> list[Numbers]:
        return list(self._splits)

    def available_at(self, now_ms: int) -> int | None:
        return max(self._ready_at, now_ms + (_PAUSE_MS if self._paused.exists() else 0))

    @property
    def exhausted(self) -> bool:
        return not self._splits


@dataclass(frozen=True)
class NumbersUntil(Source):
    """Numbers, some each 50 ms, until the file `end` appears; none while there is `paused`."""

    end: Path

    @property
    def bounded(self) -> bool:
        return False

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        splits = [Numbers(f"numbers-{i}", i) for i in range(PARALLELISM)]
        return StaticEnumerator(splits, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _NumberReader(self.end)


class Counting(KeyedProcessFunction[int, int, Row]):
    """The running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Row]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count, value


def counts(environment: StreamExecutionEnvironment, end: Path) -> DataStream[Row]:
    """The program, up to its sink."""
    return (
        environment.from_source(
            NumbersUntil(end), WatermarkStrategy.no_watermarks(), "numbers", None
        )
        .uid("numbers")
        .key_by(lambda value: value % KEYS)
        .process(Counting())
        .uid("counting")
    )


def assert_exactly_once(rows: Sequence[Row]) -> None:
    """Each record once, at its place."""
    doubled = [row for row, n in Counter(rows).items() if n > 1]
    assert doubled == []
    assert [row for row in rows if row[2] != row[0] + KEYS * (row[1] - 1)] == []
    for key in range(KEYS):
        found = sorted(count for k, count, _ in rows if k == key)
        assert found == list(range(1, len(found) + 1)), f"records of key {key} are lost"
