"""How many records a source asks its reader for at once."""

from __future__ import annotations

from headrace.runtime.batch import BATCH_SIZE

_FIRST = 2_000
_FAST_S = 0.05
_SLOW_S = 0.25


class PollSize:
    """Follows the time that a batch takes in the chain, so that an epoch can end in time.

    Deadlines and timers are looked at between two batches only. A function that calls a service
    may take seconds for as many records as another takes milliseconds for.
    """

    def __init__(self) -> None:
        self.records = _FIRST

    def observe(self, records: int, took_s: float) -> None:
        """Learn from a batch."""
        if took_s > _SLOW_S:
            self.records = max(int(records * _SLOW_S / took_s), 1)
        elif took_s < _FAST_S:
            self.records = min(self.records * 5, BATCH_SIZE)
