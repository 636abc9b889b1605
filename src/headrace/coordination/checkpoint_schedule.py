"""When the next checkpoint may start."""

from __future__ import annotations

from collections.abc import Callable


class CheckpointSchedule:
    """Knows when checkpoints started and ended, by a clock that nobody can set.

    Args:
        interval_ms: From one start to the next; None if none is taken unless it is ordered.
        min_pause_ms: At least so much between the end of one and the start of the next.
        limit: How many may be under way at a time.
        clock: The time in milliseconds.
    """

    def __init__(
        self, interval_ms: int | None, min_pause_ms: int, limit: int, clock: Callable[[], int]
    ) -> None:
        self._interval_ms = interval_ms
        self._min_pause_ms = min_pause_ms
        self._limit = limit
        self._clock = clock
        self._last_start: int | None = None
        self._last_end: int | None = None

    def next_start(self, under_way: int, ordered: bool) -> int | None:
        """When the next one may start; None if none is wanted or enough are under way.

        One that somebody ordered waits for nothing but its place.
        """
        if under_way >= self._limit:
            return None
        now = self._clock()
        if ordered:
            return now
        if self._interval_ms is None:
            return None
        if self._last_start is None:
            # The first one comes an interval after the job was first asked.
            self._last_start = now
        due = self._last_start + self._interval_ms
        if self._last_end is not None:
            due = max(due, self._last_end + self._min_pause_ms)
        return due

    def expected_start(self) -> int | None:
        """When the next one would start if none were under way; None if none is wanted."""
        return self.next_start(0, ordered=False)

    def is_due(self, under_way: int, ordered: bool) -> bool:
        """Whether one is to start now."""
        start = self.next_start(under_way, ordered)
        return start is not None and start <= self._clock()

    def started(self) -> None:
        """A checkpoint starts; a savepoint does not count."""
        self._last_start = self._clock()

    def completed(self) -> None:
        """A checkpoint or savepoint is complete."""
        self._last_end = self._clock()
