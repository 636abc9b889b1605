"""The parallelism of a running job changes at an epoch boundary, and no record is read twice."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Time
from headrace.common.configuration import Configuration
from headrace.common.errors import CheckpointError, GraphError
from headrace.common.job_client import JobClient
from headrace.common.job_listener import EpochStatistics, JobListener
from headrace.common.job_status import JobStatus
from headrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows

RECORDS, KEYS, PER_SECOND, WINDOW_MS = 9_000, 7, 1_500, 1_000

pytestmark = pytest.mark.usefixtures("either_carrier")


class Noting(MapFunction):
    """Writes down every record that it is given, in a file of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        name = f"{time.time_ns()}-{runtime_context.get_index_of_this_subtask()}"
        self.file = (self.directory / name).open("w")

    def map(self, value: int) -> int:
        self.file.write(f"{value}\n")
        return value

    def close(self) -> None:
        self.file.close()


class Counting(KeyedProcessFunction[int, int, tuple[str, int, int]]):
    """Counts in state, and says the count of its key when a timer of event time fires."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(RECORDS * 2)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[str, int, int]]:
        yield "count", ctx.get_current_key(), self.count.value()


class ItsNumber(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Watching(JobListener):
    """Holds the client of the job, and the parallelism of the counting operator in each epoch."""

    def __init__(self) -> None:
        self.client: JobClient | None = None
        self.seen: list[int] = []

    def on_job_submitted(self, job_client: JobClient | None, error: BaseException | None) -> None:
        self.client = job_client

    def on_epoch(self, statistics: EpochStatistics) -> None:
        (counting,) = [o for o in statistics.operators if o.name == "counting"]
        self.seen.append(counting.parallelism)

    def running(self) -> JobClient:
        while self.client is None or not self.seen:
            time.sleep(0.02)
        return self.client


def test_no_record_is_lost_or_read_twice(tmp_path: Path) -> None:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        # However slow the machine is, there are epochs left when it is rescaled.
        "execution.epoch.max-records": "150",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(PER_SECOND))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ItsNumber())
    records = env.from_source(source, strategy, "numbers").map(Noting(tmp_path)).uid("noting")
    keyed = records.key_by(lambda value: value % KEYS)
    counts = keyed.process(Counting()).name("counting")
    windows = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .reduce(lambda a, b: a + b)
        .map(lambda total: ("window", -1, total))
    )
    # Its parallelism is the program's own: a change leaves it alone.
    fixed = windows.union(counts).map(lambda row: row).set_parallelism(1)
    watching = Watching()
    env.register_job_listener(watching)
    with fixed.execute_and_collect() as results:
        client = watching.running()
        client.rescale(3).result()
        client.rescale(1).result()
        client.rescale(1).result()
        rows = list(results)
        assert client.get_job_status().result() is JobStatus.FINISHED
        with pytest.raises(CheckpointError, match="already FINISHED"):
            client.rescale(2).result()

    assert list(dict.fromkeys(watching.seen)) == [2, 3, 1]
    read = [int(line) for file in tmp_path.iterdir() for line in file.read_text().split()]
    assert sorted(read) == list(range(RECORDS))
    counted = sorted(row[1:] for row in rows if row[0] == "count")
    assert counted == [(key, len(range(key, RECORDS, KEYS))) for key in range(KEYS)]
    expected = Counter[tuple[int, int]]()
    for number in range(RECORDS):
        expected[number // WINDOW_MS, number % KEYS] += number
    assert sorted(row[2] for row in rows if row[0] == "window") == sorted(expected.values())


def test_more_than_the_key_groups_is_refused() -> None:
    settings = {"spark.master": "local[2]"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(1).set_max_parallelism(4)
    numbers = env.generate_sequence(1, 10**9).key_by(lambda x: x % 3)
    numbers.reduce(lambda a, b: a).filter(lambda x: False).print()
    client = env.execute_async()
    try:
        with pytest.raises(GraphError, match="has 4 key groups"):
            client.rescale(5).result()
    finally:
        client.cancel().result()
