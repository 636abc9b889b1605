"""Windows in jobs on Spark: the same results as a plain computation, at any parallelism."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.errors import JobExecutionError
from headrace.common.watermark_strategy import Watermark, WatermarkGenerator
from headrace.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from headrace.datastream.aggregates import Sum
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

#: Key, time and value; not in order.
RECORDS = [(f"key{n % 7}", (n * 37) % 1_000, n % 5) for n in range(2_000)]


def keyed(parallelism: int, records: Iterable[Any] = RECORDS, strategy: Any = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    stamped = env.from_collection(list(records)).assign_timestamps_and_watermarks(
        (strategy or bounded).with_timestamp_assigner(lambda record, previous: record[1])
    )
    return stamped.key_by(lambda record: record[0])


def collected(stream: Any) -> list[Any]:
    with stream.execute_and_collect() as rows:
        return list(rows)


class Shown(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield key, context.window().start, context.window().end, *elements

    def clear(self, context: Any) -> None:
        pass


@pytest.mark.parametrize("parallelism", [1, 3])
def test_tumbling_and_sliding_sums(parallelism: int) -> None:
    sums: Counter[Any] = Counter()
    for key, time, value in RECORDS:
        for start in range(time // 20 * 20, time - 100, -20):
            sums[key, start] += value
    windows = keyed(parallelism).window(SlidingEventTimeWindows.of(100, 20))
    results = collected(windows.aggregate(Sum(2), Shown()))
    assert sorted(results) == sorted((k, s, s + 100, total) for (k, s), total in sums.items())


def test_sessions_and_late_records() -> None:
    class AtOne(WatermarkGenerator):
        """A watermark after each record with value 1."""

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            if event[2] == 1:
                output.emit_watermark(Watermark(event_timestamp))

        def on_periodic_emit(self, output: Any) -> None:
            pass

    records = [("a", 0, 0), ("a", 30, 0), ("b", 60, 1), ("a", 25, 0), ("b", 5, 0), ("a", 80, 0)]
    late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
    strategy = WatermarkStrategy.for_generator(AtOne)
    sessions = keyed(1, records, strategy).window(EventTimeSessionWindows.with_gap(20))
    fired = sessions.side_output_late_data(late).aggregate(Sum(1), Shown())
    everything = fired.union(fired.get_side_output(late).map(lambda record: ("late", record)))
    assert sorted(collected(everything), key=str) == [
        ("a", 0, 20, 0),
        ("a", 30, 50, 30),
        ("a", 80, 100, 80),
        ("b", 60, 80, 60),
        ("late", ("a", 25, 0)),
        ("late", ("b", 5, 0)),
    ]


def test_windows_over_the_whole_stream() -> None:
    totals: dict[int, int] = defaultdict(int)
    for _, time, value in RECORDS:
        totals[time // 250] += value
    env_stream = keyed(2).map(lambda record: record)
    sums = env_stream.window_all(TumblingEventTimeWindows.of(250)).aggregate(Sum(2))
    assert sorted(collected(sums)) == sorted(totals.values())


def test_windows_by_processing_time_fire_while_the_job_runs() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(3_000))).map(_slowly)
    windows = numbers.key_by(lambda n: 0).window(TumblingProcessingTimeWindows.of(200))
    counts = collected(windows.count())
    assert counts
    assert sum(counts) <= 3_000


def _slowly(number: int) -> int:
    import time

    if number % 100 == 0:
        time.sleep(0.05)
    return number


def test_a_failing_window_is_named() -> None:
    class Broken(Shown):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            raise ValueError(f"cannot show {key}")

    windows = keyed(1, [("a", 1, 1)]).window(TumblingEventTimeWindows.of(10))
    with pytest.raises(JobExecutionError, match="cannot show a") as caught:
        collected(windows.process(Broken()))
    assert "TumblingEventTimeWindows" in str(caught.value.operator_name)
    assert "TimeWindow(start=0, end=10)" in str(caught.value)
