"""Joins and watermark alignment in jobs on Spark."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.functions import CoGroupFunction, ProcessJoinFunction
from headrace.datastream.window import TumblingEventTimeWindows

LEFT = [(n % 7, n * 10) for n in range(300)]
RIGHT = [(n % 5, n * 15) for n in range(200)]
LATE = OutputTag("late")
STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v[1])
SECOND = TumblingEventTimeWindows.of(Time.seconds(1))


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def both(env: StreamExecutionEnvironment) -> tuple[Any, Any]:
    return tuple(
        env.from_collection(records).assign_timestamps_and_watermarks(STRATEGY)
        for records in (LEFT, RIGHT)
    )


def key(record: Any) -> Any:
    return record[0]


def collected(stream: Any) -> Counter[Any]:
    with stream.execute_and_collect() as results:
        return Counter(results)


class Counts(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        yield len(list(first)), len(list(second))


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        assert ctx.get_timestamp() == max(left[1], right[1])
        yield left, right


def test_a_window_join(env: Any) -> None:
    left, right = both(env)
    joined = (
        left.join(right)
        .where(key)
        .equal_to(key)
        .window(SECOND)
        .apply(lambda one, other: (one, other))
    )
    assert collected(joined) == Counter(
        (one, other)
        for one, other in product(LEFT, RIGHT)
        if one[0] == other[0] and one[1] // 1000 == other[1] // 1000
    )


def test_a_co_group(env: Any) -> None:
    left, right = both(env)
    grouped = left.co_group(right).where(key).equal_to(key).window(SECOND).apply(Counts())
    one, other = (Counter((r[0], r[1] // 1000) for r in records) for records in (LEFT, RIGHT))
    assert collected(grouped) == Counter((one[c], other[c]) for c in one.keys() | other.keys())


def test_an_interval_join(env: Any) -> None:
    left, right = both(env)
    joined = (
        left.key_by(key)
        .interval_join(right.key_by(key))
        .between(Time.milliseconds(-300), Time.milliseconds(150))
        .upper_bound_exclusive()
        .side_output_left_late_data(LATE)
        .process(Pair())
    )
    assert collected(joined) == Counter(
        (one, other)
        for one, other in product(LEFT, RIGHT)
        if one[0] == other[0] and -300 <= other[1] - one[1] < 150
    )


def test_aligned_sources_stay_together(env: Any) -> None:
    env.set_parallelism(1)
    base = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
        "group", Duration.of_seconds(20), Duration.of_millis(500)
    )
    slow = base.with_timestamp_assigner(lambda value, _: value * 10)
    fast = base.with_timestamp_assigner(lambda value, _: value * 100)
    for name, strategy in (("slow", slow), ("fast", fast)):
        source = NumberSequenceSource(0, 9_999)
        env.from_source(source, strategy, name).filter(lambda _: False).print()
    marks: list[dict[str, int]] = []

    def observe(summary: Any) -> None:
        running = [r for r in summary.reports if r.source and not r.finished]
        marks.append({r.operators[0].name: r.watermark for r in running})

    job = env.submit("aligned", on_epoch=observe)
    job.result_future().result(240)
    apart = [m["Source: fast"] - m["Source: slow"] for m in marks if len(m) == 2]
    assert len(apart) > 3
    # One batch of 100 records may go beyond the limit of 20 s.
    assert max(apart) <= 20_000 + 100 * 100
    assert all("Source: fast" in m for m in marks if "Source: slow" in m)
