"""Jobs whose checkpoints, savepoints and files are in an object store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.s3_server import BUCKET, S3Server, running_s3_server

RECORDS, KEYS = 3_000, 7


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with running_s3_server() as server:
        yield server


class Counting(KeyedProcessFunction[int, int, tuple[int, int]]):
    """Says the final count of its key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 62)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), self.count.value()


def counting(
    server: S3Server, per_second: int, **more: str
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"s3://{BUCKET}/checkpoints",
        **server.settings,
        **more,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(per_second))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    return env, numbers.key_by(lambda v: v % KEYS).process(Counting()).uid("counting")


def test_a_job_stops_with_a_savepoint_in_s3_and_goes_on(server: S3Server) -> None:
    env, stream = counting(server, per_second=20)
    stream.print()
    client = env.execute_async()
    completed: list[Any] = []
    deadline = time.monotonic() + 120
    while not completed and time.monotonic() < deadline:
        completed = server.files().glob(f"{BUCKET}/checkpoints/*/chk-*/_metadata")
        time.sleep(0.05)
    assert completed, "there was no checkpoint"
    path = client.stop_with_savepoint(False, f"s3://{BUCKET}/savepoints").result()

    assert path.startswith(f"s3://{BUCKET}/savepoints/savepoint-")
    assert server.files().exists(f"{path}/_metadata")
    # The job's own checkpoints went with it.
    assert server.files().find(f"{BUCKET}/checkpoints") == []
    _, stream = counting(
        server,
        per_second=100_000,
        **{"execution.state-recovery.path": path, "execution.checkpointing.interval": "1 h"},
    )
    with stream.execute_and_collect() as results:
        assert sorted(results) == [(k, len(range(k, RECORDS, KEYS))) for k in range(KEYS)]


class FailOnce(MapFunction):
    """Fails in the first attempt, when half of the records have passed."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.left = RECORDS // 4 if runtime_context.get_attempt_number() == 0 else -1

    def map(self, value: str) -> str:
        self.left -= 1
        if self.left == 0:
            raise ValueError("the first attempt ends here")
        return value.upper()


def test_files_in_s3_are_read_and_written_once_although_the_job_failed(server: S3Server) -> None:
    files = server.files()
    for number in range(4):
        lines = (f"line {i}\n" for i in range(number, RECORDS, 4))
        files.pipe_file(f"{BUCKET}/in/{number}.txt", "".join(lines).encode())
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        "execution.epoch.max-records": "200",
        "execution.checkpointing.interval": "10 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1",
        "restart-strategy.fixed-delay.delay": "0 ms",
        **server.settings,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), f"s3://{BUCKET}/in"
    ).build()
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    sink = FileSink.for_row_format(f"s3://{BUCKET}/out", Encoder.simple_string_encoder())
    lines.map(FailOnce(), Types.STRING()).sink_to(sink.build())
    env.execute("from s3 to s3")
    written = files.find(f"{BUCKET}/out")
    assert not [path for path in written if "/." in path]
    found = [line for path in written for line in files.cat_file(path).decode().splitlines()]
    assert sorted(found) == sorted(f"LINE {i}" for i in range(RECORDS))
