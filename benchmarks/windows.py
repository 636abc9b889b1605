"""Windows: tumbling against the bare loop and the peers, sliding against tumbling, sessions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.cases import Settings, spark_context
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.peers import environments as peers
from benchmarks.programs import environment
from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.connectors.print_sink import DiscardingSink
from headrace.datastream.functions import AggregateFunction
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

STEP_MS = 10
SIZE_MS = 10_000


class Average(AggregateFunction):
    """The average in plain Python."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Stamps(TimestampAssigner):
    """Record x has the timestamp x * 10."""

    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * STEP_MS


def windowed(records: int, keys: int, assigner: Any) -> None:
    """Run a window with the average to its end."""
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    (
        env.from_source(NumberSequenceSource(0, records - 1), strategy, "sequence")
        .key_by(lambda x: x % keys, Types.LONG())
        .window(assigner)
        .aggregate(Average())
        .sink_to(DiscardingSink())
    )
    env.execute("windows")


def tumbling(records: int, keys: int, size_ms: int = SIZE_MS) -> None:
    windowed(records, keys, TumblingEventTimeWindows.of(Time.milliseconds(size_ms)))


def _result(
    name: str, peer: str, mine: list[float], other: list[float], goal: float, **more: Any
) -> Result:
    return Result(
        name=name,
        peer=peer,
        unit="records/s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=goal,
        samples={"headrace": mine, peer: other},
        **more,
    )


def against_bare(settings: Settings) -> Iterator[Result]:
    """Tumbling window with a Python AggregateFunction against the bare loop."""
    sc = spark_context(settings)
    records = settings.records(3_000_000)
    for keys in (100, 100_000):
        mine, other = alternate(
            lambda keys=keys: records / timed(lambda: tumbling(records, keys)),
            lambda keys=keys: (
                records / timed(lambda: settings.yardstick.tumbling_average(sc, records, keys))
            ),
            settings.rounds,
        )
        yield _result(f"tumbling average, {keys:,} keys", "bare loop", mine, other, 0.4)


def against_peers(settings: Settings) -> Iterator[Result]:
    """Tumbling window against PyFlink in process mode and Bytewax; their starts do not count."""
    spark_context(settings)
    pyflink = peers.peer_python("pyflink", settings.pyflink_python)
    bytewax = peers.peer_python("bytewax", settings.bytewax_python)
    records = settings.records(3_000_000)
    for keys in (100, 100_000):
        tumbling(records, keys)
        sides: list[tuple[str, float, Callable[[], float]]] = [
            (
                "PyFlink 2.3",
                50.0,
                lambda keys=keys: peers.pyflink_windows(pyflink, settings.records(40_000), keys),
            ),
            (
                "Bytewax 0.21",
                2.0,
                lambda keys=keys: peers.bytewax_windows(bytewax, settings.records(200_000), keys),
            ),
        ]
        for peer, goal, theirs in sides:
            before = timed(lambda keys=keys: tumbling(records, keys))
            rate = theirs()
            after = timed(lambda keys=keys: tumbling(records, keys))
            mine = 2 * records / (before + after)
            yield _result(f"tumbling average, {keys:,} keys", peer, [mine], [rate], goal)


def sliding(settings: Settings) -> Iterator[Result]:
    """A window of 60 slides against a tumbling one of the same slide: time for the same records."""
    spark_context(settings)
    records = settings.records(3_000_000)
    size, slide = Time.milliseconds(60 * SIZE_MS), Time.milliseconds(SIZE_MS)
    mine, other = alternate(
        lambda: timed(lambda: windowed(records, 100, SlidingEventTimeWindows.of(size, slide))),
        lambda: timed(lambda: tumbling(records, 100)),
        settings.rounds,
    )
    yield Result(
        name="sliding average, 60 slides",
        peer="tumbling",
        unit="s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=3.0,
        at_least=False,
        samples={"sliding": mine, "tumbling": other},
    )


def sessions(settings: Settings) -> Iterator[Result]:
    """Session windows: the cost of a record with many open sessions against few."""
    spark_context(settings)
    records = settings.records(300_000)
    gap = EventTimeSessionWindows.with_gap(Time.hours(1))
    mine, other = alternate(
        lambda: timed(lambda: windowed(records, 30_000, gap)),
        lambda: timed(lambda: windowed(records, 30, gap)),
        settings.rounds,
    )
    yield Result(
        name="sessions, 30,000 keys",
        peer="30 keys",
        unit="s",
        ours=statistics.median(mine),
        theirs=statistics.median(other),
        ratio=middle_ratio(mine, other),
        goal=2.0,
        at_least=False,
        samples={"many": mine, "few": other},
    )


CASES: dict[str, Callable[[Settings], Iterator[Result]]] = {
    "tumbling": against_bare,
    "tumbling-peers": against_peers,
    "sliding": sliding,
    "sessions": sessions,
}
