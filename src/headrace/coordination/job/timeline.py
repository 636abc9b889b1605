"""How a job ran, second by second: for figures over time, however long its epochs are."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from headrace.coordination.bodies.jobs import Moment
from headrace.runtime.epoch import ChannelReport, EpochReport

__all__ = ["KEPT_SECONDS", "Timeline"]

KEPT_SECONDS = 300
_SECOND_MS = 1000
_PARTS = 4


class Timeline:
    """The last minutes. All times are of the clock on the wall."""

    def __init__(self) -> None:
        self._moments: deque[Moment] = deque(maxlen=KEPT_SECONDS)
        self._start_ms = 0
        self._records = self._epochs = 0
        self._took: list[tuple[float, float]] = []
        self._channels: list[ChannelReport] = []
        self._watermark: int | None = None

    def add(
        self,
        ended_ms: int,
        waited_ms: float,
        took_ms: float,
        reports: Sequence[EpochReport],
        watermark: int | None = None,
    ) -> None:
        """Take in an epoch, for which its first record has waited so long.

        And the event time of the job at its end. The records of one that took several seconds are
        spread over them.
        """
        records = sum(r.records_read for r in reports if r.source)
        for start_ms, share in self._shares(ended_ms, took_ms, records):
            self._begin(start_ms)
            self._records += share
            # They came one after the other, evenly as far as one can tell.
            for part in range(_PARTS):
                waited = waited_ms * (part + 0.5) / _PARTS
                self._took.append((took_ms + waited, share / _PARTS))
        self._epochs += 1
        self._watermark = watermark
        self._channels += [r.channels for r in reports if r.channels is not None]

    def _shares(self, ended_ms: int, took_ms: float, records: int) -> Iterator[tuple[int, int]]:
        """The seconds of an epoch, and how many of its records each has."""
        last_ms = ended_ms - ended_ms % _SECOND_MS
        # Not into one that is over. The clock may have been put back.
        took_ms = min(took_ms, KEPT_SECONDS * _SECOND_MS, ended_ms - self._start_ms)
        if took_ms < _SECOND_MS:
            yield last_ms, records
            return
        began_ms = ended_ms - int(took_ms)
        given = 0
        for start_ms in range(began_ms - began_ms % _SECOND_MS, ended_ms, _SECOND_MS):
            passed = min(start_ms + _SECOND_MS, ended_ms) - began_ms
            so_far = records * passed // (ended_ms - began_ms)
            yield start_ms, so_far - given
            given = so_far

    def _begin(self, start_ms: int) -> None:
        if start_ms == self._start_ms:
            return
        if self._took:
            self._moments.append(self._moment())
        self._start_ms, self._took, self._channels = start_ms, [], []
        self._records = self._epochs = 0

    def moments(self) -> tuple[Moment, ...]:
        """The seconds that are over and in which there were epochs, the newest at the end."""
        return tuple(self._moments)

    def _moment(self) -> Moment:
        channels = self._channels
        return Moment(
            self._start_ms,
            self._records,
            self._epochs,
            _percentile(self._took, 0.5),
            _percentile(self._took, 0.99),
            max((c.alignment_ms for c in channels), default=0.0),
            sum(c.alignment_bytes for c in channels),
            max((c.in_usage for c in channels), default=0.0),
            max((c.out_usage for c in channels), default=0.0),
            self._watermark,
        )


def _percentile(took: list[tuple[float, float]], share: float) -> float:
    """How long a record took; where there were none, an epoch."""
    weighted = sorted((ms, records) for ms, records in took if records) or [
        (ms, 1) for ms, _ in sorted(took)
    ]
    left = share * sum(records for _, records in weighted)
    for ms, records in weighted:
        left -= records
        if left <= 0:
            return ms
    return weighted[-1][0]
