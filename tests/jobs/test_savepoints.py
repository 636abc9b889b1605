"""Savepoints of a running job: taken from code, restored at another parallelism."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import CheckpointError, JobExecutionError
from headrace.common.job_status import JobStatus
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.jobs.progress import wait_until_read

RECORDS, KEYS = 6_000, 7

pytestmark = pytest.mark.usefixtures("either_carrier")


class Counting(KeyedProcessFunction[int, int, tuple[int, int]]):
    """Counts, and says the final count of its key when all records are there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 62)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), self.count.value()


def counting(
    parallelism: int,
    restore: Path | str | None = None,
    uid: str = "counting",
    per_second: int = 100_000,
    **more: str,
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {"spark.master": "local[2]", "execution.epoch.target": "300 ms", **more}
    if restore is not None:
        settings["execution.state-recovery.path"] = str(restore)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(per_second))
    stream = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .uid("numbers")
        .key_by(lambda value: value % KEYS)
        .process(Counting())
        .uid(uid)
    )
    return env, stream


def expected() -> list[tuple[int, int]]:
    return [(key, len(range(key, RECORDS, KEYS))) for key in range(KEYS)]


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The savepoint of a job that was stopped halfway."""
    directory = tmp_path_factory.mktemp("savepoints")
    env, stream = counting(2, per_second=200)
    stream.print()
    client = env.execute_async("counting")
    wait_until_read(client, 100)
    path = Path(client.stop_with_savepoint(False, str(directory)).result())
    assert client.get_job_status().result() is JobStatus.FINISHED
    return path


def test_the_directory_is_named_as_in_flink_and_whole(savepoint: Path) -> None:
    assert savepoint.name.startswith("savepoint-")
    assert (savepoint / "_metadata").exists()


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_goes_on_at_another_parallelism(
    savepoint: Path, tmp_path: Path, parallelism: int
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(savepoint, moved)
    _, stream = counting(parallelism, restore=moved)
    with stream.execute_and_collect() as results:
        assert sorted(results) == expected()


def test_state_that_nobody_claims_is_refused_by_name(savepoint: Path) -> None:
    env, stream = counting(2, restore=savepoint, uid="renamed")
    stream.print()
    with pytest.raises(
        JobExecutionError, match=r"operators that the program does not have.*counting"
    ):
        env.execute()


def test_unclaimed_state_may_be_left_out(savepoint: Path) -> None:
    allow = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    _, stream = counting(2, restore=savepoint, uid="renamed", **allow)
    with stream.execute_and_collect() as results:
        counts = dict(results)
    # The source went on where it was, the counts began anew.
    assert 0 < sum(counts.values()) < RECORDS


def test_an_operator_may_be_added(savepoint: Path) -> None:
    # The sink has no uid: with another operator above it, it is another sink.
    allow = {"execution.state-recovery.ignore-unclaimed-state": "true"}
    _, stream = counting(1, restore=savepoint, **allow)
    added = stream.key_by(lambda row: row[0]).reduce(lambda a, b: (a[0], -1)).uid("added")
    with added.execute_and_collect() as results:
        # Each key came once, with the count that went on: the new operator's state was empty.
        assert sorted(results) == expected()


def test_a_damaged_savepoint_is_named(savepoint: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(savepoint, damaged)
    victim = next(damaged.glob("*.snapshot"))
    victim.write_bytes(victim.read_bytes()[:-10])
    env, stream = counting(2, restore=damaged)
    stream.print()
    with pytest.raises(JobExecutionError, match="is damaged"):
        env.execute()


def test_a_path_without_a_savepoint_is_an_error(tmp_path: Path) -> None:
    env, stream = counting(2, restore=tmp_path)
    stream.print()
    with pytest.raises(JobExecutionError, match="no checkpoint or savepoint"):
        env.execute()


def test_a_savepoint_needs_a_place(savepoint: Path) -> None:
    env, stream = counting(2, per_second=200)
    stream.print()
    client = env.execute_async()
    with pytest.raises(CheckpointError, match="where should the savepoint go"):
        client.trigger_savepoint().result()
    client.cancel().result()
