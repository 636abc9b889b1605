"""Processing time that stands still until a test moves it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.common.errors import HeadraceError
from headrace.coordination.job.clock import JobClock

__all__ = ["GivenTime", "ManualClock", "SimulatedTime"]

_MOMENT_S = 0.01


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


class SimulatedTime(JobClock):
    """A job's clock that a `ManualClock` shows: nobody sleeps, time jumps to where it is due."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """The time that the clock shows."""
        return self._clock()

    def steady_ms(self) -> int:
        """The same: nobody sets the clock back."""
        return self._clock()

    def wait(
        self, changed: threading.Condition, until: Callable[[], bool], timeout_s: float | None
    ) -> bool:
        """Let the time pass, unless what is waited for is there already."""
        if until():
            return True
        if timeout_s:
            self._clock.advance(round(timeout_s * 1000))
        return until()


class GivenTime(JobClock):
    """A job's clock that asks a function for the time, and therefore often."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def now_ms(self) -> int:
        """What the function says."""
        return self._clock()

    def steady_ms(self) -> int:
        """The same."""
        return self._clock()

    def wait(
        self, changed: threading.Condition, until: Callable[[], bool], timeout_s: float | None
    ) -> bool:
        """Sleep for a moment: how fast the given time passes is not known."""
        return changed.wait_for(
            until, _MOMENT_S if timeout_s is None else min(timeout_s, _MOMENT_S)
        )
