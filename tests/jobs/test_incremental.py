"""Incremental checkpoints of running jobs: recovery, retained ones, claimed ones."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.state_processor import KeyedStateReaderFunction, SavepointReader, SavepointWriter

RECORDS, KEYS = 4_000, 100


class Counting(KeyedProcessFunction[int, int, tuple[int, int]]):
    """Counts, forgets what it was told to, and fails once when a file is there."""

    def __init__(self, fail_when: str | None = None) -> None:
        self.fail_when = fail_when

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        if self.fail_when is not None and Path(self.fail_when).exists():
            Path(self.fail_when).unlink()
            raise RuntimeError("as ordered")
        if value % KEYS == 0 and value < KEYS * 10:
            self.count.clear()
            return
        self.count.update((self.count.value() or 0) + 1)
        if value < KEYS:
            ctx.timer_service().register_event_time_timer(1 << 60)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), self.count.value()


def counting(
    directory: Path, backend: str, per_second: int, fail_when: Path | None = None, **more: str
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "150 ms",
        "execution.epoch.max-records": "100",
        "execution.checkpointing.interval": "150 ms",
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": str(directory),
        "state.backend.type": backend,
        "state.backend.rocksdb.object-cache.size": "20",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "0 s",
        **more,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(per_second))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    function = Counting(None if fail_when is None else str(fail_when))
    return env, numbers.key_by(lambda v: v % KEYS).process(function).uid("counting")


def expected() -> list[tuple[int, int]]:
    counts = {k: len(range(k, RECORDS, KEYS)) for k in range(1, KEYS)}
    return sorted(counts.items())


def wait_for_increments(directory: Path, least: int) -> Path:
    """Wait for a checkpoint that builds upon some others; where it is."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for metadata in directory.glob("*/chk-*/_metadata"):
            try:
                content = json.loads(metadata.read_text())
            except FileNotFoundError:
                continue
            if len(content["increments"]) > least:
                return metadata.parent
        time.sleep(0.02)
    raise AssertionError("there was no incremental checkpoint")


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_recovers_from_changes(tmp_path: Path, backend: str) -> None:
    order = tmp_path / "fail"
    more = {
        "execution.checkpointing.snapshot-compression": str(backend == "rocksdb"),
        "execution.state-recovery.from-local": "true",
        "execution.checkpointing.local-backup.dirs": str(tmp_path / "local"),
    }
    _, stream = counting(tmp_path / "chk", backend, 1_000, order, **more)
    results = stream.execute_and_collect()
    wait_for_increments(tmp_path / "chk", 2)
    order.touch()
    with results:
        assert sorted(results) == expected()
    assert not order.exists()
    # All went with the job.
    assert list((tmp_path / "chk").iterdir()) == []
    assert list((tmp_path / "local").glob("*/*")) == []


@pytest.fixture(scope="module")
def retained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An incremental checkpoint of a job that was cancelled, among others of that job."""
    directory = tmp_path_factory.mktemp("retained")
    env, stream = counting(
        directory,
        "hashmap",
        100,
        **{
            "execution.checkpointing.num-retained": "1000",
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        },
    )
    stream.print()
    client = env.execute_async()
    found = wait_for_increments(directory, 2)
    client.cancel().result()
    return found


def restored(path: Path, checkpoints: Path, **more: str) -> list[tuple[int, int]]:
    """The result of a job that goes on from a checkpoint, with the other backend."""
    more["execution.state-recovery.path"] = str(path)
    _, stream = counting(checkpoints, "rocksdb", 100_000, **more)
    with stream.execute_and_collect() as results:
        return sorted(results)


def test_the_state_processor_reads_and_copies_an_incremental_checkpoint(
    retained: Path, tmp_path: Path
) -> None:
    class Counts(KeyedStateReaderFunction):
        open = Counting.open

        def read_key(self, key: int) -> Iterator[Any]:
            yield key, self.count.value()

    reader = SavepointReader.read(str(retained))
    rows = sorted(map(tuple, reader.read_keyed_state("counting", "count").collect()))
    assert rows
    by_function = reader.read_keyed_state("counting", Counts(), "key bigint, count bigint")
    assert sorted(map(tuple, by_function.collect())) == rows
    copy = tmp_path / "copy"
    SavepointWriter.from_existing_savepoint(str(retained)).write(str(copy))
    moved = copy.rename(tmp_path / "moved")
    again = SavepointReader.read(str(moved)).read_keyed_state("counting", "count")
    assert sorted(map(tuple, again.collect())) == rows
    assert restored(moved, tmp_path / "checkpoints") == expected()


def test_a_retained_checkpoint_is_restored(retained: Path, tmp_path: Path) -> None:
    assert restored(retained, tmp_path / "checkpoints") == expected()
    assert (retained / "_metadata").exists(), "it was not the second job's to delete"


def test_retained_checkpoints_are_claimed(retained: Path, tmp_path: Path) -> None:
    job = tmp_path / "job"
    shutil.copytree(retained.parent, job)
    claim = {"execution.state-recovery.claim-mode": "CLAIM"}
    assert restored(job, tmp_path / "checkpoints", **claim) == expected()
    assert not list(job.glob("chk-*")), "they were the second job's to delete"
