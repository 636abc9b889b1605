"""Which time a program goes by, as PyFlink 1.x had it."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeCharacteristic"]


class TimeCharacteristic(Enum):
    """Which time windows and timers go by.

    Since Flink 1.12 each window assigner and timer says that itself, and event time needs no
    setting any more.
    """

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2
