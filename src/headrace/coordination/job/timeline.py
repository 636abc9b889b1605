"""How a live job ran, second by second: epochs take milliseconds, and nobody looks at each."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

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

    def add(
        self, ended_ms: int, waited_ms: float, took_ms: float, reports: Sequence[EpochReport]
    ) -> None:
        """Take in a live epoch, for which its first record has waited so long."""
        start_ms = ended_ms - ended_ms % _SECOND_MS
        if start_ms != self._start_ms:
            if self._took:
                self._moments.append(self._moment())
            self._start_ms, self._took, self._channels = start_ms, [], []
            self._records = self._epochs = 0
        records = sum(r.records_read for r in reports if r.source)
        # They came one after the other, evenly as far as one can tell.
        for part in range(_PARTS):
            waited = waited_ms * (part + 0.5) / _PARTS
            self._took.append((took_ms + waited, records / _PARTS))
        self._records += records
        self._epochs += 1
        self._channels += [r.channels for r in reports if r.channels is not None]

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
            max(c.alignment_ms for c in channels),
            sum(c.alignment_bytes for c in channels),
            max(c.in_usage for c in channels),
            max(c.out_usage for c in channels),
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
