"""Timers of an operator: one per address (key, or key and window) and timestamp, in order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any


class TimerQueue:
    """Timers of one time domain.

    All timers of one timestamp are one entry of the heap, so a million keys with the same window
    end cost a dict entry each and no more.

    Attributes:
        changed: Where timers that come and go are noted, if somebody wants to know.
    """

    __slots__ = ("_by_time", "_times", "changed")

    def __init__(self) -> None:
        self.changed: set[tuple[int, Any]] | None = None
        self._by_time: dict[int, dict[Any, None]] = {}
        self._times: list[int] = []

    def __len__(self) -> int:
        return sum(map(len, self._by_time.values()))

    def register(self, timestamp: int, address: Any) -> None:
        """Register a timer; the same one twice is one timer."""
        addresses = self._by_time.get(timestamp)
        if addresses is None:
            self._by_time[timestamp] = {address: None}
            heapq.heappush(self._times, timestamp)
        else:
            addresses[address] = None
        if self.changed is not None:
            self.changed.add((timestamp, address))

    def delete(self, timestamp: int, address: Any) -> None:
        """Delete a timer; one that is not there is no error."""
        addresses = self._by_time.get(timestamp)
        if addresses is not None:
            addresses.pop(address, None)
            if self.changed is not None:
                self.changed.add((timestamp, address))

    def __contains__(self, timer: tuple[int, Any]) -> bool:
        timestamp, address = timer
        return address in self._by_time.get(timestamp, ())

    def next_timestamp(self) -> int | None:
        """When the first timer is due."""
        times, by_time = self._times, self._by_time
        while times and not by_time[times[0]]:
            del by_time[heapq.heappop(times)]
        return times[0] if times else None

    def pop_due(self, until: int) -> Iterator[tuple[int, Any]]:
        """Take the timers up to and including `until`, in order of time.

        Timers that are registered or deleted while iterating are honoured.
        """
        times, changed = self._times, self.changed
        while True:
            timestamp = self.next_timestamp()
            if timestamp is None or timestamp > until:
                return
            addresses = self._by_time[timestamp]
            # A copy: a dict that loses its first entries is slow to find the next one.
            for address in list(addresses):
                if address not in addresses:
                    continue
                del addresses[address]
                if changed is not None:
                    changed.add((timestamp, address))
                yield timestamp, address
                if times and times[0] < timestamp:
                    break

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        """All timers, in order of time."""
        return ((t, a) for t in sorted(self._by_time) for a in self._by_time[t])

    def snapshot(self) -> list[tuple[int, Any]]:
        """All timers, in order of time."""
        return list(self)

    def restore(self, timers: Iterable[tuple[int, Any]]) -> None:
        """Add timers of a snapshot."""
        for timestamp, address in timers:
            self.register(timestamp, address)
