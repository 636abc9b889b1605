"""The metrics and the groups that name them.

Updating a metric is cheap: no lock, no clock, no string. Everything that costs more happens when
the runtime takes a snapshot with `MetricGroup.collect`, which is a plain dict that can be pickled.
"""

from __future__ import annotations

import logging
import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Counter", "Distribution", "Gauge", "Histogram", "Meter", "Metric", "MetricGroup"]

logger = logging.getLogger(__name__)


class Metric(ABC):
    """Something that can be measured and shown."""

    __slots__ = ()

    @abstractmethod
    def snapshot(self) -> Any:
        """The present value: a number, or a dict of numbers by name."""


class Counter(Metric):
    """Counts up and down."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        """Starts at 0."""
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Adds `n`."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Subtracts `n`."""
        self._count -= n

    def get_count(self) -> int:
        """The present count."""
        return self._count

    def snapshot(self) -> int:
        """The present count."""
        return self._count


class Gauge(Metric):
    """Asks a function for its value whenever somebody looks."""

    __slots__ = ("_failed", "_function")

    def __init__(self, function: Callable[[], Any]) -> None:
        """Shows what `function` returns."""
        self._function = function
        self._failed = False

    def get_value(self) -> Any:
        """What the function returns now."""
        return self._function()

    def snapshot(self) -> Any:
        """What the function returns now; None if it raises, which is logged once."""
        try:
            return self._function()
        except Exception:
            if not self._failed:
                self._failed = True
                logger.warning("a gauge failed and shows no value", exc_info=True)
            return None


class Meter(Metric):
    """Counts events and knows how many there were in a second."""

    __slots__ = ("_clock", "_count", "_samples", "_span")

    def __init__(
        self, time_span_in_seconds: int = 60, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Measures the rate over the given time."""
        self._span = time_span_in_seconds
        self._clock = clock
        self._count = 0
        self._samples: deque[tuple[float, int]] = deque([(clock(), 0)])

    def mark_event(self, value: int = 1) -> None:
        """Notes that `value` events happened."""
        self._count += value

    def get_count(self) -> int:
        """How many events there were in all."""
        return self._count

    def get_rate(self) -> float:
        """Events per second, over the time span or, when that is younger, since the beginning."""
        now = self._clock()
        samples = self._samples
        samples.append((now, self._count))
        # Keep one sample at or beyond the span, so that the rate covers all of it.
        while len(samples) > 2 and now - samples[1][0] >= self._span:
            samples.popleft()
        start, count = samples[0]
        return (self._count - count) / (now - start) if now > start else 0.0

    def snapshot(self) -> dict[str, float]:
        """Count and rate."""
        return {"count": self._count, "rate": self.get_rate()}


class Distribution(Metric):
    """Count, sum, smallest and largest of the values it is given."""

    __slots__ = ("_count", "_max", "_min", "_sum")

    def __init__(self) -> None:
        """Starts without values."""
        self._count = 0
        self._sum: float = 0
        self._min: float | None = None
        self._max: float | None = None

    def update(self, value: float) -> None:
        """Takes one value."""
        self._count += 1
        self._sum += value
        if self._min is None or value < self._min:
            self._min = value
        if self._max is None or value > self._max:
            self._max = value

    def snapshot(self) -> dict[str, float | None]:
        """Count, sum, min, max and mean; the last three are None without values."""
        mean = self._sum / self._count if self._count else None
        return {
            "count": self._count,
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
            "mean": mean,
        }


class Histogram(Metric):
    """Statistics over the latest values it is given."""

    __slots__ = ("_count", "_values")

    def __init__(self, window_size: int = 1000) -> None:
        """Keeps the latest `window_size` values."""
        self._count = 0
        self._values: deque[float] = deque(maxlen=window_size)

    def update(self, value: float) -> None:
        """Takes one value."""
        self._count += 1
        self._values.append(value)

    def get_count(self) -> int:
        """How many values there were in all."""
        return self._count

    def get_quantile(self, quantile: float) -> float | None:
        """The value below which the given share (0 to 1) of the latest values lies."""
        return _quantile(sorted(self._values), quantile)

    def snapshot(self) -> dict[str, float | None]:
        """Count, min, max, mean, stddev and the usual percentiles of the latest values."""
        ordered = sorted(self._values)
        size = len(ordered)
        mean = sum(ordered) / size if size else None
        deviation = None
        if mean is not None:
            deviation = math.sqrt(sum((v - mean) ** 2 for v in ordered) / size)
        percentiles = {f"p{p:g}": _quantile(ordered, p / 100) for p in (50, 75, 95, 98, 99, 99.9)}
        return {
            "count": self._count,
            "min": ordered[0] if size else None,
            "max": ordered[-1] if size else None,
            "mean": mean,
            "stddev": deviation,
            **percentiles,
        }


def _quantile(ordered: list[float], quantile: float) -> float | None:
    if not ordered:
        return None
    position = quantile * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


M = TypeVar("M", bound=Metric)


class MetricGroup:
    """A named container of metrics and further groups.

    A metric is identified by its place: the names of the groups above it and its own, joined by
    dots. Asking twice for the same name gives the same metric.
    """

    __slots__ = ("_groups", "_metrics", "_scope", "_variables")

    def __init__(
        self, scope: tuple[str, ...] = (), variables: dict[str, str] | None = None
    ) -> None:
        """Creates a group whose metrics are named below `scope`."""
        self._scope = tuple(scope)
        self._variables = dict(variables or {})
        self._groups: dict[str, MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The subgroup of that name, which is created if need be.

        Args:
            name: Name of the group.
            extra: Makes `name` a variable with this value: the group is then two levels deep
                (name, then value), and `get_all_variables` has the pair.
        """
        group = self._groups.get(name)
        if group is None:
            group = MetricGroup((*self._scope, str(name)), self._variables)
            self._groups[name] = group
        if extra is None:
            return group
        value_group = group.add_group(extra)
        value_group._variables[f"<{name}>"] = str(extra)
        return value_group

    def counter(self, name: str) -> Counter:
        """The counter of that name, which is created if need be."""
        return self._register(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Shows what `obj` returns, under that name; a later one replaces an earlier one."""
        self._metrics[name] = Gauge(obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """The meter of that name, which is created if need be."""
        return self._register(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """The distribution of that name, which is created if need be."""
        return self._register(name, Distribution, Distribution)

    def histogram(self, name: str, window_size: int = 1000) -> Histogram:
        """The histogram of that name, which is created if need be."""
        return self._register(name, Histogram, lambda: Histogram(window_size))

    def _register(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        present = self._metrics.get(name)
        if isinstance(present, kind):
            return present
        metric = create()
        if present is None:
            self._metrics[name] = metric
        else:
            # A metric must not break a job: hand out one that works but is not shown.
            logger.warning(
                "metric %s is already a %s; the new %s of that name will not be shown",
                self.get_metric_identifier(name),
                type(present).__name__,
                kind.__name__,
            )
        return metric

    def get_metric_identifier(self, metric_name: str) -> str:
        """The full name of a metric of this group."""
        return ".".join((*self._scope, metric_name))

    def get_scope_components(self) -> tuple[str, ...]:
        """The names of the groups from the outermost to this one."""
        return self._scope

    def get_all_variables(self) -> dict[str, str]:
        """The variables of this group and those above, such as `<task_name>`."""
        return dict(self._variables)

    def collect(self, below: int = 0) -> dict[str, Any]:
        """The present values of all metrics here and below.

        Args:
            below: How many of the outermost groups are left out of the names.
        """
        scope = self._scope[below:]
        values = {
            ".".join((*scope, name)): metric.snapshot()
            for name, metric in list(self._metrics.items())
        }
        for group in list(self._groups.values()):
            values.update(group.collect(below))
        return values
