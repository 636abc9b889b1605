"""Keyed programs whose results are known, with their plain Python equivalents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

Event = tuple[int, int]
"""Key and timestamp."""


def environment(parallelism: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.get_config().set_auto_watermark_interval(1)
    return env


def key_of(event: Event) -> int:
    return event[0]


def strategy(out_of_orderness_ms: int = 1_000) -> WatermarkStrategy:
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(out_of_orderness_ms)
    return bounded.with_timestamp_assigner(lambda event, _: event[1])


class CountAndTrace(KeyedProcessFunction):
    """Emits each record with its number among those of its key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


def counted(events: list[Any]) -> list[Any]:
    seen: Counter[int] = Counter()
    results = []
    for event in events:
        seen[event[0]] += 1
        results.append((event, seen[event[0]]))
    return results


class SumUntilTimer(KeyedProcessFunction):
    """Collects timestamps in buckets of 10 ms and emits each bucket when event time has passed."""

    def open(self, runtime_context: Any) -> None:
        self.buckets = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Event, ctx: Any) -> None:
        self.buckets.add(value[1])
        ctx.timer_service().register_event_time_timer(bucket_end(value[1]))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        mine = [t for t in self.buckets.get() if bucket_end(t) == timestamp]
        self.buckets.update([t for t in self.buckets.get() if bucket_end(t) != timestamp])
        yield (
            ctx.get_current_key(),
            timestamp,
            sorted(mine),
            ctx.timer_service().current_watermark(),
        )


def bucket_end(timestamp: int) -> int:
    return timestamp // 10 * 10 + 9


def bucketed(events: list[Event]) -> list[Any]:
    buckets: dict[tuple[int, int], list[int]] = {}
    for key, timestamp in events:
        buckets.setdefault((key, bucket_end(timestamp)), []).append(timestamp)
    return sorted((key, end, sorted(times)) for (key, end), times in buckets.items())
