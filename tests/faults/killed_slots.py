"""What other systems have, and what is read from them, when the slot is killed that does it.

Slots are real processes. One is killed in the middle of an epoch, after a checkpoint; the job goes
on from it, and the servers are asked what has arrived. The tests are with those of each connector,
where its server runs already.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.spark.executor import _master_options
from tests.faults.live_process_carrier import LiveProcessCarrier
from tests.faults.process_carrier import ProcessCarrier

RECORDS, FATAL, END = 300, 200, -1
LIMIT_S = 120.0
EVERYTHING = Counter(range(RECORDS))
SETTINGS = {
    "execution.epoch.target": "100 ms",
    "execution.checkpointing.interval": "100 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "10 ms",
}


def killing(directory: Path, fatal: int = FATAL) -> Callable[[int], int]:
    """Kills its slot at a number, the first time that it comes."""

    def pass_on(value: int) -> int:
        killed = directory / "killed"
        if value == fatal and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return pass_on


@contextlib.contextmanager
def running(
    build: Callable[[StreamExecutionEnvironment], Any],
    directory: Path,
    carrier: ProcessCarrier,
    parallelism: int = 2,
) -> Iterator[Any]:
    """The master of a job that is killed once."""
    settings = {**SETTINGS, "execution.checkpointing.dir": str(directory / "checkpoints")}
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    build(env)
    master = JobMaster(
        build_job_graph(env.get_stream_graph("killed", clear=True)),
        carrier,
        _master_options(configuration, prepare(configuration), {}),
    )
    master.start()
    try:
        yield master
        assert (directory / "killed").exists()
        assert master.restarts == 1
    finally:
        master.cancel().result(LIMIT_S)
        carrier.end()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def texts(stream: DataStream[int]) -> DataStream[str]:
    return stream.map(str, Types.STRING())


def check_sink(
    write: Callable[[DataStream[int]], Any],
    found: Callable[[], list[int]],
    directory: Path,
    once: bool = True,
    carrier: Callable[[], ProcessCarrier] = LiveProcessCarrier,
) -> None:
    """Nothing is lost of the numbers that a job writes, nor there twice if each is to be `once`."""

    def build(env: StreamExecutionEnvironment) -> None:
        rate = RateLimiterStrategy.per_second(RECORDS)
        source = DataGeneratorSource(lambda i: i, RECORDS, rate)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        write(stream.map(killing(directory), Types.INT()))

    with running(build, directory, carrier()) as master:
        master.result_future().result(LIMIT_S)
    arrived = Counter(found())
    assert (arrived if once else Counter(set(arrived))) == EVERYTHING


def check_source(
    read: Callable[[StreamExecutionEnvironment], DataStream[str]],
    put: Callable[[list[str]], Any],
    directory: Path,
) -> None:
    """A job has each number once that is put where it reads from."""
    out = directory / "out"

    def committed() -> Counter[int]:
        visible = [f for f in out.rglob("*") if f.is_file() and not f.name.startswith((".", "_"))]
        return Counter(int(line) for file in visible for line in file.read_text().splitlines())

    def build(env: StreamExecutionEnvironment) -> None:
        numbers = read(env).map(int, Types.INT()).map(killing(directory), Types.INT())
        sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder())
        sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        numbers.map(str, Types.STRING()).sink_to(sink.build())

    # As it is by default where a source has no end.
    with running(build, directory, LiveProcessCarrier()):
        for first, last in ((0, FATAL // 2), (FATAL // 2, RECORDS)):
            put([str(i) for i in range(first, last)])
            wait_for(lambda last=last: len(committed()) >= last, "records are missing")
        # What comes twice has come before the end does.
        put([str(END)])
        wait_for(lambda: END in committed(), "the end is missing")
        assert committed() == EVERYTHING + Counter([END])
