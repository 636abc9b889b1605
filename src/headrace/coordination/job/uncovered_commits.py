"""When a job without checkpoints commits."""

from __future__ import annotations


class UncoveredCommits:
    """With every epoch; where they are live and take milliseconds, with one after a while.

    What an epoch leaves uncommitted is committed with another one, also if no record comes.

    Args:
        interval_ms: The least time between two commits of live epochs. All times are of a steady
            clock.
    """

    def __init__(self, interval_ms: int) -> None:
        self._interval_ms = interval_ms
        self._due_ms = 0
        self._wanted = True
        self.pending = False
        """Whether an epoch was not committed yet."""

    def due(self, now_ms: int, live: bool) -> bool:
        """Whether the next epoch commits."""
        return not live or now_ms >= self._due_ms

    def planned(self, now_ms: int, commits: bool) -> None:
        """An epoch begins."""
        self.pending = not commits and self._wanted
        if commits:
            self._due_ms = now_ms + self._interval_ms

    def observe(self, wanted: bool) -> None:
        """Learn from an epoch whether the job has sinks that commit."""
        self._wanted = wanted
        self.pending = self.pending and wanted

    def next_due(self) -> int | None:
        """When an epoch must run to commit what others have left; None if nothing is left."""
        return self._due_ms if self.pending else None

    def hurry(self) -> None:
        """Nothing follows: the next epoch commits."""
        self._due_ms = 0
