"""What metrics cost: the same jobs with metrics on and off, in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from benchmarks import programs
from benchmarks.cases import Settings, spark_context
from benchmarks.measure import Result, alternate, middle_ratio, timed

_MOST = 0.97
"""Metrics may take 3 % of the throughput."""


def metrics(settings: Settings) -> Iterator[Result]:
    """Keyed count with metrics, with latency markers, and without either."""
    spark_context(settings)
    records = settings.records(3_000_000)

    def rate(**chosen: str) -> Callable[[], float]:
        return lambda: (
            records / timed(lambda: programs.keyed_count(records, 1_000, dict(chosen.items())))
        )

    off = {"metrics.enabled": "false"}
    for name, on in (
        ("metrics", {"metrics.enabled": "true"}),
        ("latency markers", {"metrics.latency.interval": "100 ms"}),
    ):
        mine, other = alternate(rate(**on), rate(**off), settings.rounds)
        yield Result(
            name=f"keyed count with {name}",
            peer="without metrics",
            unit="records/s",
            ours=statistics.median(mine),
            theirs=statistics.median(other),
            ratio=middle_ratio(mine, other),
            goal=_MOST,
            samples={"on": mine, "off": other, "records": records},
        )


CASES = {"metrics": metrics}
