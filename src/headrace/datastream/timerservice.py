"""Timers as user functions see them.

One `TimerService` hangs on every context that can look at the clock. The runtime subclasses it;
user code only calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Reads the two clocks and sets timers for the current key.

    A timer belongs to the key (and, inside a window operator, the window) that was current when it
    was set. For one key, one time domain and one timestamp there is at most one timer: setting it
    again changes nothing. Timers are part of every checkpoint. When one fires the runtime makes its
    key current and calls `on_timer`.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the processing time in milliseconds since the epoch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Returns the operator's event-time watermark in milliseconds.

        Before the first watermark has arrived this is the smallest 64-bit integer.
        """

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Sets a timer that fires once processing time has reached `timestamp`.

        Args:
            timestamp: Milliseconds since the epoch. A time in the past fires as soon as possible.
        """

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Sets a timer that fires once the watermark has reached `timestamp`.

        Args:
            timestamp: Event time in milliseconds. A time at or before the current watermark fires
                with the next advance of the watermark.
        """

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Removes the current key's processing-time timer at `timestamp`, if there is one."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Removes the current key's event-time timer at `timestamp`, if there is one."""
