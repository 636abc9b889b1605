"""The two clocks that a timer can follow."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Says which clock made a timer fire."""

    #: The watermark passed the timer's timestamp.
    EVENT_TIME = 0
    #: The wall clock passed the timer's timestamp.
    PROCESSING_TIME = 1
