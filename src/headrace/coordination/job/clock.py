"""The time that a job goes by, and how it passes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.runtime.slot import protocol


class JobClock:
    """The clocks of this host. A test gives a job other ones."""

    def now_ms(self) -> int:
        """The time of day: what people and processing-time timers see."""
        return protocol.now_ms()

    def steady_ms(self) -> int:
        """A monotonic time, for measuring durations."""
        return protocol.steady_ms()

    def wait(
        self, changed: threading.Condition, until: Callable[[], bool], timeout_s: float | None
    ) -> bool:
        """Wait for something that others bring about; whether it came in time.

        The caller holds the lock of `changed`.
        """
        return changed.wait_for(until, timeout_s)
