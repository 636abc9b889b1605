"""How much a source may read in an epoch, so that it takes as long as it should, and when."""

from __future__ import annotations

FIRST_RECORDS = 2_000
FIRST_LIVE_RECORDS = 50
"""A live epoch costs little, and a program may be so slow that the first one takes a while: a
checkpoint would have to wait for its end."""
_MOST_GROWTH = 1000.0
_LEAST_SHRINK = 0.1
_CATCHING_UP = 5.0
"""An epoch that is not the last one of a backlog may take this many times the target: the cost of
an epoch is fixed, and nobody waits for the newest record yet."""
_ENOUGH = 32
"""Records that are worth a live epoch."""
_MOST_LINGER = 12.0
_MOST_LINGER_S = 0.025
"""How many times the least time is waited for them, and how long at most, unless that is more."""


class EpochPacer:
    """Follows the measured rate: short epochs when a source is live, long ones when it catches up.

    The first epoch is small, because nothing is known of how slow the program is. Without an
    exchange a source waits for the whole chain before it reads on, so the time alone counts.

    Args:
        target_s: How long an epoch should take.
        max_records: A limit that the user set.
        first_records: The budget of the first epoch.
        exchanges: Whether records leave the source's vertex.
    """

    def __init__(
        self,
        target_s: float,
        max_records: int | None = None,
        first_records: int = FIRST_RECORDS,
        *,
        exchanges: bool = True,
    ) -> None:
        self._target_s = max(target_s, 0.05)
        self._limit = max_records or 1 << 40
        self._exchanges = exchanges
        self.max_records = min(first_records, self._limit) if exchanges else self._limit

    @property
    def max_read_ms(self) -> int:
        """How long a source may read, however few records that gives."""
        return int(self._target_s * 1000)

    def observe(self, work_s: float, most_read: int) -> None:
        """Learn from an epoch.

        Args:
            work_s: Time that subtasks worked, one level after the other; not what Spark took to
                start tasks.
            most_read: The most records that one source subtask read.
        """
        if most_read == 0 or not self._exchanges:
            return
        exhausted = most_read >= self.max_records
        target_s = self._target_s * _CATCHING_UP if exhausted else self._target_s
        factor = target_s / max(work_s, 0.001)
        if not exhausted and factor >= 1:
            # The source ran dry in good time: the budget did not matter.
            return
        factor = min(max(factor, _LEAST_SHRINK), _MOST_GROWTH)
        self.max_records = min(max(int(most_read * factor), 1), self._limit)


class Linger:
    """When the next live epoch may start.

    An epoch costs about the same whatever it carries. Where records come one by one, it waits until
    there are some, but not for long.

    Args:
        least_s: The least time between the starts of two epochs.
    """

    def __init__(self, least_s: float) -> None:
        self._least_s = least_s
        self._most_s = max(least_s, min(least_s * _MOST_LINGER, _MOST_LINGER_S))
        self._started = 0.0
        self.until = 0.0
        """The earliest start, if nothing is due before."""

    def pause_s(self, now: float, due_s: float | None) -> float:
        """How long to wait now, if nothing but records is to come before that time; None: never."""
        left_s = self.until - now if due_s is None else min(self.until - now, due_s)
        # What is due need not wait for a mini-batch.
        closest_s = min(self._least_s, _MOST_LINGER_S)
        return max(left_s, self._started + closest_s - now, 0.0)

    def observe(self, started: float, records: int, more: bool = False) -> None:
        """Learn from an epoch when it started, what sources have read in it, and left for now."""
        # One without records was for something else, and nothing is known of them.
        waits = records and not more
        enough_s = (started - self._started) * _ENOUGH / records if waits else 0.0
        self._started = started
        self.until = started + min(max(enough_s, self._least_s), self._most_s)
