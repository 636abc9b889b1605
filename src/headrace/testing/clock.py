"""Processing time that stands still until a test moves it."""

from __future__ import annotations

from headrace.common.errors import HeadraceError

__all__ = ["ManualClock"]


class ManualClock:
    """A clock in milliseconds; calling it tells the time.

    Args:
        now_ms: The time it starts with.

    Example:
        >>> clock = ManualClock()
        >>> clock.advance(250)
        >>> clock()
        250
    """

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def __call__(self) -> int:
        """The time now."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Let `ms` milliseconds pass."""
        self.advance_to(self._now_ms + ms)

    def advance_to(self, now_ms: int) -> None:
        """Let time pass until `now_ms`."""
        if now_ms < self._now_ms:
            raise HeadraceError(
                f"time cannot go backwards: it is {self._now_ms} ms, not {now_ms} ms"
            )
        self._now_ms = now_ms

    def __repr__(self) -> str:
        """Shows the time."""
        return f"ManualClock({self._now_ms})"
