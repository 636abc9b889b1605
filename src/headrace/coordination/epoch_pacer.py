"""How much a source may read in an epoch, so that the epoch takes about as long as it should."""

from __future__ import annotations

_FIRST_RECORDS = 2_000
_MOST_GROWTH = 100.0
_LEAST_SHRINK = 0.1
_OVERHEAD_S = 0.15


class EpochPacer:
    """Follows the measured rate: short epochs when the source is live, long ones when it catches up.

    The first epoch is small, because nothing is known of how slow the program is.
    """

    def __init__(self, target_s: float, max_records: int | None = None) -> None:
        self._target_s = max(target_s, 0.05)
        self._limit = max_records or 1 << 40
        self.max_records = min(_FIRST_RECORDS, self._limit)

    @property
    def max_read_ms(self) -> int:
        """How long a source may read, however few records that gives."""
        return int(self._target_s * 1000)

    def observe(self, duration_s: float, most_read: int) -> None:
        """Learn from an epoch: its duration, and the most records that one source subtask read in it."""
        if most_read < self.max_records * 0.5:
            # The budget was not what ended the epoch; it tells nothing, unless it took far too long.
            if duration_s > 2 * self._target_s and most_read:
                self.max_records = max(most_read // 2, 100)
            return
        work_s = max(duration_s - _OVERHEAD_S, 0.005)
        factor = min(max(self._target_s / work_s, _LEAST_SHRINK), _MOST_GROWTH)
        self.max_records = min(max(int(self.max_records * factor), 100), self._limit)
