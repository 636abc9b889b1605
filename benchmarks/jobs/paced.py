"""A source of records that are due at fixed times: pairs of a key and the time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)

KEYS = 1000

Record = tuple[int, int]


@dataclass(frozen=True)
class _Pace:
    split_id: str
    read: int = 0


@dataclass(frozen=True)
class Paced(Source):
    """So many records a second, from all readers together, between two times.

    Rate 0 means as many as the job takes until the second time; otherwise each record that is due
    is read, also after that time. Due times of one reader are all different.
    """

    rate: float
    start_ns: int
    end_ns: int

    @property
    def bounded(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return StaticEnumerator([_Pace(str(n)) for n in range(parallelism)], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _PacedReader(self, context.parallelism)

    def due(self, number: int, readers: int) -> int:
        """When a record of a reader is due."""
        return self.start_ns + int(number * self.step_ns(readers))

    def step_ns(self, readers: int) -> float:
        """The time between two records of a reader."""
        return readers * 1e9 / self.rate

    def records(self, readers: int) -> int:
        """How many records a reader has in all."""
        return int((self.end_ns - self.start_ns) / self.step_ns(readers))


class _PacedReader(SourceReader):
    def __init__(self, source: Paced, readers: int) -> None:
        self._source = source
        self._readers = readers
        self._split: _Pace | None = None
        self._read = 0

    def add_splits(self, splits: Sequence[_Pace]) -> None:
        for split in splits:
            self._split, self._read = split, split.read

    def poll(self, max_records: int) -> ReadBatch | None:
        now, first, source = time.time_ns(), self._read, self._source
        if self._split is None or self.exhausted or now < source.start_ns:
            return None
        last = first + max_records
        if source.rate:
            step_ns = source.step_ns(self._readers)
            last = min(last, int((now - source.start_ns) / step_ns) + 1, self._all)
        if last <= first:
            return None
        self._read = last
        numbers = range(first, last)
        keys = [n * 7919 % KEYS for n in numbers]
        due = [source.due(n, self._readers) for n in numbers] if source.rate else [now] * len(keys)
        return ReadBatch(self._split.split_id, list(zip(keys, due, strict=True)))

    @property
    def _all(self) -> int:
        return self._source.records(self._readers)

    def snapshot(self) -> list[_Pace]:
        return [_Pace(self._split.split_id, self._read)] if self._split else []

    def available_at(self, now_ms: int) -> int | None:
        if self.exhausted:
            return None
        if not self._source.rate:
            return max(self._source.start_ns // 1_000_000, now_ms)
        return max(self._source.due(self._read, self._readers) // 1_000_000, now_ms)

    @property
    def exhausted(self) -> bool:
        if self._source.rate:
            return self._read >= self._all
        return time.time_ns() >= self._source.end_ns
