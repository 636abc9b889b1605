"""How many records a source asks its reader for at once."""

from __future__ import annotations

from headrace.runtime.batch import BATCH_SIZE

_FIRST = 2_000
_SLOW_S = 0.25


class PollSize:
    """Follows the time that a batch takes in the chain, so that an epoch can end in time.

    Deadlines and timers are looked at between two batches only. A function that calls a service
    may take seconds for as many records as another takes milliseconds for.

    Args:
        first: The size of the first batch.
        slow_s: The time that a batch should take at most; a fifth of it is quick.
    """

    def __init__(self, first: int = _FIRST, slow_s: float = _SLOW_S) -> None:
        self.records = first
        self._slow_s = slow_s

    def observe(self, records: int, took_s: float) -> None:
        """Learn from a batch."""
        if took_s > self._slow_s:
            self.records = max(int(records * self._slow_s / took_s), 1)
        elif took_s < self._slow_s / 5:
            self.records = min(self.records * 5, BATCH_SIZE)
