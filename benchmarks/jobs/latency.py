"""A paced source, a keyed count and a sink: how old a record is when it comes out, in JSON.

    python -m benchmarks.jobs.latency CARRIER RATE SECONDS [CHECKPOINT_MS]

A record's timestamp is the time at which it was due, so waiting anywhere counts. RATE 0 means as
many as the job takes. The first half of the time is for warming up.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import descendants
from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.functions import FlatMapFunction, KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

_PARALLELISM = 2
_KEYS = 1000
_STEP_NS = 100_000

Record = tuple[int, int]


@dataclass(frozen=True)
class _Pace:
    split_id: str
    read: int = 0


@dataclass(frozen=True)
class _Paced(Source):
    """Records that are due at fixed times."""

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


class _PacedReader(SourceReader):
    def __init__(self, source: _Paced, readers: int) -> None:
        self._source = source
        self._step = readers * 1e9 / source.rate if source.rate else 0.0
        self._split: _Pace | None = None
        self._read = 0

    def add_splits(self, splits: Sequence[_Pace]) -> None:
        for split in splits:
            self._split, self._read = split, split.read

    def poll(self, max_records: int) -> ReadBatch | None:
        now, first = time.time_ns(), self._read
        if self._split is None or self.exhausted or now < self._source.start_ns:
            return None
        last = first + max_records
        if self._step:
            last = min(last, int((now - self._source.start_ns) / self._step) + 1)
        if last <= first:
            return None
        self._read = last
        numbers = range(first, last)
        due = [self._due(n) for n in numbers] if self._step else [now] * len(numbers)
        return ReadBatch(self._split.split_id, list(zip(_keys(numbers), due, strict=True)))

    def _due(self, number: int) -> int:
        return self._source.start_ns + int(number * self._step)

    def snapshot(self) -> list[_Pace]:
        return [_Pace(self._split.split_id, self._read)] if self._split else []

    def available_at(self, now_ms: int) -> int | None:
        return None if self.exhausted else max(self._due(self._read) // 1_000_000, now_ms)

    @property
    def exhausted(self) -> bool:
        return time.time_ns() >= self._source.end_ns


def _keys(numbers: range) -> list[int]:
    return [n * 7919 % _KEYS for n in numbers]


class _Count(KeyedProcessFunction[int, Record, Record]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class _Ages(FlatMapFunction[Record, Record]):
    """How old records are, in steps of 0.1 ms, from a time on."""

    def __init__(self, directory: str, since_ns: int) -> None:
        self._directory = directory
        self._since_ns = since_ns

    def open(self, runtime_context: RuntimeContext) -> None:
        self._ages: Counter[int] = Counter()

    def flat_map(self, value: Record) -> list[Record]:
        if value[1] >= self._since_ns:
            self._ages[(time.time_ns() - value[1]) // _STEP_NS] += 1
        return []

    def close(self) -> None:
        Path(self._directory, f"{os.getpid()}.json").write_text(json.dumps(self._ages))


def _percentile(ages: Counter[int], share: float) -> float:
    left = share * sum(ages.values())
    for step in sorted(ages):
        left -= ages[step]
        if left <= 0:
            return (step + 1) * _STEP_NS / 1e6
    return 0.0


def _cpu_s() -> float:
    """Processor time of this process and all below it."""
    ticks = 0
    for pid in (os.getpid(), *descendants(os.getpid())):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(
    carrier: str, rate: float, seconds: float, checkpoint_ms: int | None = None
) -> dict[str, Any]:
    """Run the job."""
    settings = {"execution.carrier": carrier, "spark.master": "local[2]"}
    if rate:
        settings["execution.epoch.target"] = "50 ms"
    if checkpoint_ms:
        settings["execution.checkpointing.interval"] = f"{checkpoint_ms} ms"
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(_PARALLELISM)
    env.from_collection([1]).key_by(lambda value: value).map(lambda value: value).print()
    env.execute("get warm")
    start_ns = time.time_ns() + 1_000_000_000
    middle_ns, end_ns = (start_ns + int(part * seconds * 1e9) for part in (0.5, 1))
    with tempfile.TemporaryDirectory() as directory:
        (
            env.from_source(
                _Paced(rate, start_ns, end_ns), WatermarkStrategy.no_watermarks(), "paced"
            )
            .key_by(lambda record: record[0])
            .process(_Count())
            .flat_map(_Ages(directory, middle_ns))
            .print()
        )
        spent: list[float] = []
        for moment in (middle_ns, end_ns):
            wait_s = (moment - time.time_ns()) / 1e9
            threading.Timer(wait_s, lambda: spent.append(_cpu_s())).start()
        env.execute("latency")
        ages: Counter[int] = Counter()
        for file in Path(directory).iterdir():
            ages.update({int(step): n for step, n in json.loads(file.read_text()).items()})
    return {
        "carrier": carrier,
        "records_per_s": sum(ages.values()) / (seconds / 2),
        "p50_ms": _percentile(ages, 0.5),
        "p99_ms": _percentile(ages, 0.99),
        "cores": (spent[1] - spent[0]) / (seconds / 2),
    }


if __name__ == "__main__":
    carrier, rate, seconds, *more = sys.argv[1:]
    print(json.dumps(measure(carrier, float(rate), float(seconds), *map(int, more))))
