"""What was emitted stays as it was, whichever operator emitted it, and however it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common import Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import ProcessJoinFunction, ProcessWindowFunction
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headrace.testing import collect, run_in_process

GROWING = [[1], [1, 2], [1, 2, 3]]
SIDE: OutputTag[Any] = OutputTag("side")


class AtNumber(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value["n"] if isinstance(value, dict) else value


def numbers(values: list[Any]) -> DataStream[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy: WatermarkStrategy[Any] = WatermarkStrategy.for_monotonous_timestamps()
    assigned = strategy.with_timestamp_assigner(AtNumber())
    return env.from_collection(values).assign_timestamps_and_watermarks(assigned)


class Keeps:
    def __init__(self) -> None:
        self.kept: list[int] = []

    def __call__(self, value: int) -> list[int]:
        self.kept.append(value)
        return self.kept

    def add(self, value: int) -> list[int]:
        return self(value)


def closure() -> Any:
    kept: list[int] = []

    def add(value: int) -> list[int]:
        kept.append(value)
        return kept

    return add


@pytest.mark.parametrize("function", [Keeps(), Keeps().add, closure()])
def test_callables_that_keep_something(function: Any) -> None:
    assert collect(numbers([1, 2, 3]).map(function)) == GROWING


class Answers(AsyncFunction[int, list[int]]):
    def __init__(self) -> None:
        self.kept: list[int] = []

    async def async_invoke(self, value: int) -> list[list[int]]:
        self.kept.append(value)
        return [self.kept]


def test_asynchronous_functions() -> None:
    answered = AsyncDataStream.ordered_wait(numbers([1, 2, 3]), Answers(), Time.seconds(60), 1)
    assert collect(answered) == GROWING


class Counts(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        left["seen"] = left.get("seen", 0) + 1
        ctx.output(SIDE, left)
        yield left


def bumped(record: dict[str, int]) -> int:
    record["seen"] += 10
    return record["seen"]


def test_joins_of_intervals_and_what_follows_them() -> None:
    left = numbers([{"n": 1}])
    right = left.get_execution_environment().from_collection([{"n": n} for n in (1, 2, 3)])
    right = right.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(AtNumber())
    )
    joined = left.key_by(lambda _: 0).interval_join(right.key_by(lambda _: 0)).between(0, 9)
    pairs = joined.process(Counts())
    streams = {"pairs": pairs.map(bumped), "side": pairs.get_side_output(SIDE).map(bumped)}
    found = run_in_process(left.get_execution_environment(), streams)
    assert found["pairs"] == found["side"] == [11, 12, 13]


class AlsoAside(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        kept: list[int] = []
        for element in elements:
            kept.append(element)
            context.output(SIDE, kept)
        yield from ()


def test_side_outputs_of_windows() -> None:
    stream = numbers([1, 2, 3])
    windows = stream.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    assert collect(windows.process(AlsoAside()).get_side_output(SIDE)) == GROWING


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    one["count"] += other["count"]
    return one


def test_windows_that_overlap_hold_records_of_their_own() -> None:
    stream = numbers([{"n": n, "count": 1} for n in (0, 1)])
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    sums = stream.key_by(lambda _: 0).window(assigner).reduce(added)
    assert [found["count"] for found in collect(sums)] == [2, 2]
