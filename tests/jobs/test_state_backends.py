"""The same programs on both state backends, a restart on RocksDB, and moves between the two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.time import Time
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.functions import (
    CheckpointListener,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.state_backend import EmbeddedRocksDBStateBackend
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.datastream.window import EventTimeSessionWindows
from tests.jobs.progress import wait_until_read

RECORDS, KEYS, PER_SECOND = 6_000, 500, 2_500
# A small part of the keys, so that most accesses go to the database.
CACHE = {"state.backend.rocksdb.object-cache.size": "60"}
END = 1 << 62


class AllKinds(KeyedProcessFunction[Any, Any, Any]):
    """Keeps records in every kind of state and shows all of it at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        expiring = ValueStateDescriptor("expiring")
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.expiring = runtime_context.get_state(expiring)
        self.values = runtime_context.get_list_state(ListStateDescriptor("values"))
        self.by_digit = runtime_context.get_map_state(MapStateDescriptor("by digit"))
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda a, b: a + b)
        )

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        self.expiring.update((self.expiring.value() or 0) + 1)
        self.values.add(value)
        self.by_digit.put(value % 10, (self.by_digit.get(value % 10) or 0) + 1)
        self.sum.add(value)
        ctx.timer_service().register_event_time_timer(END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        found = [self.count.value(), self.expiring.value(), self.sum.get()]
        yield (
            str(ctx.get_current_key()),
            *found,
            tuple(sorted(self.values.get())),
            tuple(sorted(self.by_digit.items())),
        )


def expected() -> list[Any]:
    found = []
    for key in range(KEYS):
        values = range(key, RECORDS, KEYS)
        digits = tuple(
            sorted({v % 10: sum(w % 10 == v % 10 for w in values) for v in values}.items())
        )
        found.append((str(key), len(values), len(values), sum(values), tuple(values), digits))
    return sorted(found)


class Stumble(MapFunction, CheckpointListener):
    """Fails once, some records after a checkpoint was completed."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker
        self.left: int | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self.fails = runtime_context.get_attempt_number() == 0

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.left = 100

    def map(self, value: Any) -> Any:
        if self.fails and self.left is not None:
            self.left -= 1
            if not self.left:
                self.marker.touch()
                raise RuntimeError("stumbled")
        return value


def environment(backend: str, parallelism: int = 2, **more: str) -> StreamExecutionEnvironment:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "300 ms",
        # However slow the machine is, there are checkpoints between the first and the last record.
        "execution.epoch.max-records": "300",
        **CACHE,
        **more,
    }
    configuration = Configuration.from_dict(settings)
    if backend == "rocksdb":
        EmbeddedRocksDBStateBackend().apply_to(configuration)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(parallelism)


def all_kinds(
    env: StreamExecutionEnvironment, marker: Path | None = None, per_second: int = PER_SECOND
) -> Any:
    source = DataGeneratorSource(int, RECORDS, RateLimiterStrategy.per_second(per_second))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    if marker is not None:
        stream = stream.map(Stumble(marker)).uid("stumble")
    # Keys of two types, one of which is kept beside the values.
    keyed = stream.key_by(lambda v: v % KEYS if v % 2 else _Key(v % KEYS))
    return keyed.process(AllKinds()).uid("all kinds")


class _Key(tuple):
    """A key that is no plain number."""

    def __new__(cls, number: int) -> _Key:
        return super().__new__(cls, ("even", number))

    def __getnewargs__(self) -> tuple[int]:
        return (self[1],)

    def __str__(self) -> str:
        return str(self[1])


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as results:
        return sorted(results)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_every_kind_of_state(backend: str, tmp_path: Path) -> None:
    more = {"state.backend.rocksdb.localdir": str(tmp_path)}
    assert collected(all_kinds(environment(backend, **more))) == expected()
    # Slots clear up after themselves.
    assert list(tmp_path.iterdir()) == []


def test_a_restart_from_a_checkpoint_on_rocksdb(tmp_path: Path) -> None:
    marker, databases = tmp_path / "stumbled", tmp_path / "databases"
    env = environment(
        "rocksdb",
        **{
            "state.backend.rocksdb.localdir": str(databases),
            "execution.checkpointing.interval": "300 ms",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "2",
            "restart-strategy.fixed-delay.delay": "100 ms",
        },
    )
    assert collected(all_kinds(env, marker)) == expected()
    assert marker.exists(), "it really failed in between"
    assert list(databases.iterdir()) == []


@pytest.mark.parametrize(("before", "after"), [("hashmap", "rocksdb"), ("rocksdb", "hashmap")])
def test_a_savepoint_of_one_backend_is_restored_by_the_other(
    before: str, after: str, tmp_path: Path
) -> None:
    env = environment(before)
    all_kinds(env, per_second=300).print()
    client = env.execute_async()
    wait_until_read(client, 300)
    savepoint = client.stop_with_savepoint(False, str(tmp_path)).result()
    env = environment(after, 3, **{"execution.state-recovery.path": savepoint})
    assert collected(all_kinds(env)) == expected()


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_session_windows(backend: str) -> None:
    env = environment(backend)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row[2]
    )
    rows = [(f"k{i % 200}", 1, 1_000 * (i // 200) + 20_000 * (i // 1_000)) for i in range(3_000)]
    windows = (
        env.from_collection(rows)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda row: row[0])
        .window(EventTimeSessionWindows.with_gap(Time.seconds(5)))
        .reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
    )
    assert [row[:2] for row in collected(windows)] == sorted(
        (f"k{key}", 5) for key in range(200) for _ in range(3)
    )
