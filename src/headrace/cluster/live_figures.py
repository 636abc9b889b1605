"""Figures of a running job, kept up to date from its epochs: totals, rates, watermark."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.common.job_listener import EpochStatistics, OperatorStatistics

_WINDOW_S = 2.0
_NO_WATERMARK = -(1 << 63)
_END = (1 << 63) - 1


@dataclass(frozen=True)
class OperatorRates:
    """An operator now: totals, and records a second over the last two seconds."""

    name: str
    parallelism: int
    records_in: int
    records_out: int
    in_per_s: float
    out_per_s: float


class LiveFigures:
    """Follows one job. Times are seconds of a clock that never goes back."""

    def __init__(self, name: str = "job") -> None:
        self.name = name
        self.epochs = 0
        self.records = 0
        self.restarted = False
        self.durations_ms: list[float] = []
        self._samples: deque[tuple[float, int, tuple[OperatorStatistics, ...]]] = deque()
        self._first_s: float | None = None
        self._last_s = 0.0

    def add(self, statistics: EpochStatistics, now_s: float) -> None:
        """Take the figures of an epoch that has just ended."""
        if self._first_s is None:
            self._first_s = now_s - statistics.duration_ms / 1000
        self._last_s = now_s
        self.epochs += 1
        self.records += statistics.records_read
        self.durations_ms.append(statistics.duration_ms)
        if self._samples and _began_anew(self._samples[-1][2], statistics.operators):
            self.restarted = True
            self._samples.clear()
        self._samples.append((now_s, self.records, statistics.operators))
        while len(self._samples) > 2 and now_s - self._samples[1][0] >= _WINDOW_S:
            self._samples.popleft()

    @property
    def running_s(self) -> float:
        """Time from the start of the first epoch to the end of the last one."""
        return 0.0 if self._first_s is None else self._last_s - self._first_s

    @property
    def records_per_s(self) -> float:
        """What the sources read lately."""
        (start, before, _), (end, now, _) = self._edges()
        return _rate(now - before, end - start) if end > start else self.mean_records_per_s

    @property
    def mean_records_per_s(self) -> float:
        """What the sources read, from the start."""
        return _rate(self.records, self.running_s)

    @property
    def median_epoch_ms(self) -> float:
        """How long half of the epochs took at most."""
        return statistics.median(self.durations_ms) if self.durations_ms else 0.0

    @property
    def at_end(self) -> bool:
        """Whether all input is over."""
        now = self._edges()[1][2]
        return bool(now) and all(o.watermark == _END for o in now)

    @property
    def watermark(self) -> int | None:
        """Event time of the operator that is furthest behind; None without one, or at the end."""
        found = [o.watermark for o in self._edges()[1][2]]
        behind = min((w for w in found if w != _NO_WATERMARK), default=_END)
        return None if behind == _END else behind

    def operators(self) -> list[OperatorRates]:
        """All operators, sources first."""
        (start, _, before), (end, _, now) = self._edges()
        elapsed = end - start
        earlier = {index: o for index, o in enumerate(before)} if elapsed > 0 else {}
        return [_rates(o, earlier.get(index), elapsed) for index, o in enumerate(now)]

    def _edges(self) -> Sequence[tuple[float, int, tuple[OperatorStatistics, ...]]]:
        if not self._samples:
            return ((0.0, 0, ()), (0.0, 0, ()))
        return (self._samples[0], self._samples[-1])


def _began_anew(before: Sequence[OperatorStatistics], now: Sequence[OperatorStatistics]) -> bool:
    """Whether the job was restarted in between: the totals are those of its processes."""
    return any(o.records_in < b.records_in for b, o in zip(before, now, strict=False))


def _rates(now: OperatorStatistics, before: OperatorStatistics | None, s: float) -> OperatorRates:
    taken = now.records_in - (before.records_in if before else 0)
    emitted = now.records_out - (before.records_out if before else 0)
    return OperatorRates(
        now.name,
        now.parallelism,
        now.records_in,
        now.records_out,
        _rate(taken, s),
        _rate(emitted, s),
    )


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0
