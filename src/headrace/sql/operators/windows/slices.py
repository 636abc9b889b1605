"""Which slice a time is in, and which windows a slice is part of. All in milliseconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from headrace.sql.functions.builtin.times import to_instant, to_local
from headrace.sql.operators.base import zone_of
from headrace.sql.operators.windows.specs import WindowSlices


def over_at(window_end: int, zone: ZoneInfo | None) -> int:
    """The event time at which a window is over whose end the clock of a zone shows."""
    if zone is None:
        return window_end - 1
    return to_instant(zone, window_end * 1000) // 1000 - 1


class SliceAssigner:
    """Slices are named by their end, and so are windows."""

    def __init__(self, slices: WindowSlices) -> None:
        self.kind = slices.kind
        self.size = slices.size
        self.slide = slices.slide or slices.size
        self.offset = slices.offset
        self.step = slices.step
        self._zone = zone_of(slices.zone)

    def local_millis(self, micros: Iterable[int]) -> list[int]:
        """What the clock of the windows shows."""
        zone = self._zone
        if zone is None:
            return [m // 1000 for m in micros]
        return [to_local(zone, m) // 1000 for m in micros]

    def fires_at(self, window_end: int) -> int:
        """The event time at which a window is over."""
        return over_at(window_end, self._zone)

    def slice_ends(self, millis: Iterable[int]) -> list[int]:
        """The end of the slice of each time."""
        step, offset = self.step, self.offset
        return [m - (m - offset) % step + step for m in millis]

    def window_start(self, window_end: int) -> int:
        """Where a window begins."""
        if self.kind == "CUMULATE":
            last = window_end - 1
            return last - (last - self.offset) % self.size
        return window_end - self.size

    def windows_of(self, slice_end: int) -> list[int]:
        """Ends of the windows that a slice is part of, the first one first."""
        if self.kind == "TUMBLE":
            return [slice_end]
        if self.kind == "CUMULATE":
            start = self.window_start(slice_end)
            return list(range(slice_end, start + self.size + 1, self.slide))
        # Starts are multiples of the slide; ends are, too, only if the size is one.
        first = slice_end + (self.offset + self.size - slice_end) % self.slide
        return list(range(first, slice_end - self.step + self.size + 1, self.slide))

    def slices_of(self, window_end: int) -> Iterable[int]:
        """Ends of the slices that a window is made of."""
        start = self.window_start(window_end)
        return range(start + self.step, window_end + 1, self.step)

    def last_window(self, slice_end: int) -> int:
        return self.windows_of(slice_end)[-1]

    def window_time(self, window_end: int, instant: bool) -> int:
        """The time attribute of a window, in microseconds."""
        if instant:
            return self.fires_at(window_end) * 1000
        return (window_end - 1) * 1000


def window_columns(assigner: SliceAssigner, end: int, properties: Any, instant: bool) -> Any:
    """Values of the wanted columns of a window."""
    values = {
        "start": assigner.window_start(end) * 1000,
        "end": end * 1000,
        "time": assigner.window_time(end, instant),
    }
    return tuple(values[p] for p in properties)
