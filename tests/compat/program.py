"""The program whose savepoints are stored: every kind of state, timers, windows, operator state.

It counts numbers. What it gives at its end does not depend on where it was stopped and restored:
timers, buffers and sums of the first numbers come from the savepoint, the rest from the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common.configuration import Configuration
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows

RECORDS, KEYS, EARLY, LATE = 1_200, 7, 50, 1_150
END_OF_TIME = 1 << 60


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class EveryKind(KeyedProcessFunction[str, int, tuple[Any, ...]]):
    """All five kinds of keyed state; tells them when the timer fires that an early number set."""

    def open(self, runtime_context: RuntimeContext) -> None:
        get = runtime_context
        ttl = StateTtlConfig.new_builder(Time.days(100_000)).build()
        kept = ValueStateDescriptor("kept", Types.LONG())
        kept.enable_time_to_live(ttl)
        self.count = get.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.kept = get.get_state(kept)
        self.tens = get.get_list_state(ListStateDescriptor("tens", Types.LONG()))
        self.last = get.get_map_state(MapStateDescriptor("last", Types.LONG(), Types.LONG()))
        self.most = get.get_reducing_state(ReducingStateDescriptor("most", max, Types.LONG()))
        self.sum = get.get_aggregating_state(AggregatingStateDescriptor("sum", Sum(), Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        if value < EARLY:
            self.kept.update((self.kept.value() or 0) + value)
            ctx.timer_service().register_event_time_timer(END_OF_TIME + value % 2)
        if value % 10 == 0:
            self.tens.add(value)
        # The greatest, not the latest: numbers of two splits come in any order.
        self.last.put(value % 3, max(self.last.get(value % 3) or 0, value))
        self.most.add(value)
        self.sum.add(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[Any, ...]]:
        yield (
            "kinds",
            ctx.get_current_key(),
            timestamp - END_OF_TIME,
            self.count.value(),
            self.kept.value(),
            sorted(self.tens.get()),
            sorted(self.last.items()),
            self.most.get(),
            self.sum.get(),
        )


class Buffering(ProcessFunction, CheckpointedFunction):
    """Holds early numbers back, in operator state, until late ones come."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[str, int]]:
        if value < EARLY:
            self.held.append(value)
        if value >= LATE:
            for held in self.held:
                yield "held", held
            self.held = []

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("held", Types.LONG())
        )
        self.held = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.held)


class Counted(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[tuple[Any, ...]]:
        yield "window", key, context.window().start, context.window().end, sum(elements)


class _Millis(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def everything(
    backend: str, parallelism: int, per_second: int, restore: Path | str | None = None
) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
    settings = {
        "spark.master": "local[2]",
        "execution.epoch.target": "200 ms",
        "state.backend.type": backend,
        # Small enough for the database to come into being.
        "state.backend.rocksdb.object-cache.size": "10",
    }
    if restore is None:
        settings["execution.epoch.max-records"] = "100"
    else:
        settings["execution.state-recovery.path"] = str(restore)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(parallelism)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(per_second))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Millis())
    numbers = env.from_source(source, strategy, "numbers").uid("numbers")
    keyed = numbers.key_by(lambda value: f"k{value % KEYS}")
    kinds = keyed.process(EveryKind()).uid("kinds")
    # At a higher parallelism some subtask would get held numbers, but no late one from the source.
    held = numbers.process(Buffering()).uid("held").set_parallelism(min(parallelism, 2))
    tumbling = (
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(1_000)))
        .process(Counted())
        .uid("tumbling")
    )
    sessions = (
        keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(100)))
        .process(Counted())
        .uid("sessions")
    )
    return env, kinds.union(held, tumbling, sessions)


def expected() -> list[tuple[Any, ...]]:
    results: list[tuple[Any, ...]] = [("held", value) for value in range(EARLY)]
    for key in range(KEYS):
        mine = list(range(key, RECORDS, KEYS))
        early = [v for v in mine if v < EARLY]
        results += [
            (
                "kinds",
                f"k{key}",
                odd,
                len(mine),
                sum(early),
                [v for v in mine if v % 10 == 0],
                sorted({v % 3: v for v in mine}.items()),
                mine[-1],
                sum(mine),
            )
            for odd in (0, 1)
        ]
        for start in range(0, RECORDS, 1_000):
            inside = [v for v in mine if start <= v < start + 1_000]
            results.append(("window", f"k{key}", start, start + 1_000, sum(inside)))
        results.append(("window", f"k{key}", key, mine[-1] + 100, sum(mine)))
    return sorted(results)
