"""When a stream counts as idle: there was nothing to read for a while."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["IdleTimer"]


class IdleTimer:
    """Counts from the moment at which there was nothing to read; a record sets it back.

    A long epoch, a slow start or a busy machine is thus not taken for idleness: only who has just
    looked for records, and found none, asks whether the time is over.
    """

    __slots__ = ("_clock", "_since", "_timeout_ms")

    def __init__(self, timeout_ms: int | None, clock: Callable[[], int]) -> None:
        """Time that is None or 0 never passes."""
        self._timeout_ms = timeout_ms
        self._clock = clock
        self._since: int | None = None

    def reset(self) -> None:
        """There was a record."""
        self._since = None

    def found_nothing(self) -> bool:
        """There is nothing to read now; whether it has been so for long enough."""
        if not self._timeout_ms:
            return False
        now = self._clock()
        if self._since is None:
            self._since = now
        return now - self._since >= self._timeout_ms

    @property
    def due_at(self) -> int | None:
        """When to look again; None while there are records."""
        if self._since is None or not self._timeout_ms:
            return None
        return self._since + self._timeout_ms
