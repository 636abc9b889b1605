"""Broadcast and operator state in jobs on Spark, with failures in between and a new parallelism."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    KeyedBroadcastProcessFunction,
    MapFunction,
    ProcessFunction,
)
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.jobs.progress import wait_until_read

RECORDS, KEYS, PER_SECOND = 5_000, 7, 1_250
FACTORS = MapStateDescriptor("factors", Types.INT(), Types.INT())
RULES = [(key, 10 ** (key % 3)) for key in range(KEYS)]
ODD = OutputTag("odd")


def environment(parallelism: int = 2, **more: str) -> StreamExecutionEnvironment:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        # However slow the machine is, there are checkpoints between the first and the last record.
        "execution.epoch.max-records": "250",
        "execution.checkpointing.interval": "300 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "2",
        "restart-strategy.fixed-delay.delay": "100 ms",
        **more,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    return env.set_parallelism(parallelism)


def numbers(env: StreamExecutionEnvironment, per_second: int = PER_SECOND) -> Any:
    source = DataGeneratorSource(int, RECORDS, RateLimiterStrategy.per_second(per_second))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return stream.uid("numbers")


class Stumble(MapFunction, CheckpointListener):
    """Fails once, some records after a checkpoint was completed, and leaves a file behind."""

    def __init__(self, marker: Path | None) -> None:
        self.marker = marker
        self.left: int | None = None

    def open(self, runtime_context: Any) -> None:
        self.fails = self.marker is not None and runtime_context.get_attempt_number() == 0

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.left = 50

    def map(self, value: Any) -> Any:
        if self.fails and self.left is not None:
            self.left -= 1
            if not self.left:
                self.marker.touch()
                raise RuntimeError("stumbled")
        return value


class Weighted(KeyedBroadcastProcessFunction):
    """The running count of each key times the factor that was broadcast for it."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(FACTORS).put(*value)

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        key = ctx.get_current_key()
        factor = ctx.get_broadcast_state(FACTORS).get(key)
        if key % 2:
            ctx.output(ODD, f"{key} {count * factor}")
        yield key, count * factor


def weighted(marker: Path) -> list[Any]:
    env = environment()
    rules = env.from_collection(RULES).broadcast(FACTORS)
    keyed = numbers(env).map(Stumble(marker)).key_by(lambda value: value % KEYS)
    main = keyed.connect(rules).process(Weighted())
    with main.union(main.get_side_output(ODD)).execute_and_collect() as results:
        return sorted(results, key=str)


def test_broadcast_state_after_a_restart(tmp_path: Path) -> None:
    counts = {key: range(1, len(range(key, RECORDS, KEYS)) + 1) for key in range(KEYS)}
    each = [(key, count * factor) for key, factor in RULES for count in counts[key]]
    odd = [f"{key} {product}" for key, product in each if key % 2]
    marker = tmp_path / "stumbled"
    assert weighted(marker) == sorted([*each, *odd], key=str)
    assert marker.exists(), "it really failed in between"


class Numbering(ProcessFunction, CheckpointedFunction):
    """Numbers the records of its subtask; the last number of each subtask is in list state."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("last"))
        self.count = sum(self.state.get())
        self.first = self.count + 1

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.count])

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.count += 1
        yield self.subtask, self.count, value, self.first


def test_operator_state_after_a_restart(tmp_path: Path) -> None:
    stumbling = numbers(environment()).map(Stumble(tmp_path / "stumbled"))
    stream = stumbling.rebalance().process(Numbering())
    with stream.execute_and_collect() as results:
        found = sorted(results)
    assert sorted(value for _, _, value, _ in found) == list(range(RECORDS))
    for subtask in (0, 1):
        own = [number for index, number, _, _ in found if index == subtask]
        assert own == list(range(1, len(own) + 1))
    assert {first for *_, first in found} > {1}, "it went on from a checkpoint"


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of a job with parallelism 2 that was stopped halfway."""
    env = environment()
    slow = numbers(env, per_second=200).rebalance().process(Numbering()).uid("numbering")
    slow.add_sink(lambda value: None)
    client = env.execute_async()
    wait_until_read(client, 200)
    directory = tmp_path_factory.mktemp("savepoints")
    path: str = client.stop_with_savepoint(False, str(directory)).result()
    client.get_job_execution_result().result()
    return path


@pytest.mark.parametrize("parallelism", [1, 3])
def test_operator_state_at_another_parallelism(savepoint: str, parallelism: int) -> None:
    env = environment(parallelism, **{"execution.state-recovery.path": savepoint})
    # The sink had no uid, and has no state.
    env.get_configuration().set_string("execution.state-recovery.ignore-unclaimed-state", "true")
    fast = numbers(env, per_second=100_000)
    stream = fast.rebalance().process(Numbering()).uid("numbering")
    with stream.execute_and_collect() as results:
        found = sorted(results)
    last = {}
    for subtask, number, _, first in found:
        assert number == last.get(subtask, first - 1) + 1
        last[subtask] = number
    assert sum(last.values()) == RECORDS, "each record was counted once, before or after"
    assert 0 < len(found) < RECORDS
