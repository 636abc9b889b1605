"""What Flink's windows give, computed the slow and obvious way: the oracle of the window tests.

A model keeps plain lists of records for each key and window. Time is event time (the watermark) or
processing time (the clock); both only say when a window is over.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

MIN = -(1 << 63)

Interval = tuple[int, int]
Fired = tuple[Hashable, int, int, tuple[Any, ...]]
"""Key, start and end of the window, values."""


@dataclass
class Model:
    """Windows that do not merge."""

    windows_of: Callable[[int], list[Interval]]
    lateness: int = 0
    time: int = MIN
    held: dict[tuple[Hashable, Interval], list[Any]] = field(default_factory=dict)
    late: list[Any] = field(default_factory=list)

    def add(self, key: Hashable, stamp: int, value: Any) -> list[Fired]:
        fired = []
        windows = [w for w in self.windows_of(stamp) if w[1] - 1 + self.lateness > self.time]
        for window in windows:
            values = self.held.setdefault((key, window), [])
            values.append(value)
            if window[1] - 1 <= self.time:
                fired.append((key, *window, tuple(values)))
        if not windows and stamp + self.lateness <= self.time:
            self.late.append(value)
        return fired

    def advance(self, time: int) -> list[Fired]:
        before, self.time = self.time, max(time, self.time)
        fired = []
        for (key, window), values in sorted(self.held.items(), key=lambda item: item[0][1][1]):
            if before < window[1] - 1 <= self.time:
                fired.append((key, *window, tuple(values)))
        self._drop()
        return fired

    def _drop(self) -> None:
        over = [at for at in self.held if at[1][1] - 1 + self.lateness <= self.time]
        for at in over:
            del self.held[at]


class SessionModel(Model):
    """Windows that merge when they overlap or touch; values are in no particular order."""

    def add(self, key: Hashable, stamp: int, value: Any) -> list[Fired]:
        (start, end), values = self.windows_of(stamp)[0], [value]
        touching = [
            at for at in self.held if at[0] == key and at[1][0] <= end and at[1][1] >= start
        ]
        # A new window can join two old ones; old ones never touch each other.
        merged = (
            min([start, *(at[1][0] for at in touching)]),
            max([end, *(at[1][1] for at in touching)]),
        )
        if merged[1] - 1 + self.lateness <= self.time:
            self.late.append(value)
            return []
        for at in touching:
            values = self.held.pop(at) + values
        self.held[key, merged] = values
        if merged[1] - 1 <= self.time:
            return [(key, *merged, tuple(sorted(values)))]
        return []

    def advance(self, time: int) -> list[Fired]:
        return [(*at, tuple(sorted(values))) for *at, values in super().advance(time)]


class ProcessingModel(Model):
    """Tumbling and sliding windows by processing time: records that come are in time always."""

    def add(self, key: Hashable, stamp: int, value: Any) -> list[Fired]:
        for window in self.windows_of(stamp):
            self.held.setdefault((key, window), []).append(value)
        return []

    def advance(self, time: int) -> list[Fired]:
        # A window that ends now may have got records after its time was looked at.
        self.time = MIN
        return super().advance(time)


def tumbling(size: int, offset: int = 0) -> Callable[[int], list[Interval]]:
    return sliding(size, size, offset)


def sliding(size: int, slide: int, offset: int = 0) -> Callable[[int], list[Interval]]:
    """All windows `[offset + n * slide, + size)` around a time, found by trying."""

    def windows(stamp: int) -> list[Interval]:
        first = (stamp - offset - size) // slide - 1
        last = (stamp - offset) // slide + 1
        starts = (offset + n * slide for n in range(first, last + 1))
        return [(s, s + size) for s in starts if s <= stamp < s + size]

    return windows


def gap(ms: int) -> Callable[[int], list[Interval]]:
    return lambda stamp: [(stamp, stamp + ms)]
