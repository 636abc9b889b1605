"""Windows: finite pieces of a stream.

Windows are keys of the window operator's state, so they are small, immutable by convention,
hashable, ordered where time orders them, and picklable.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.constants import MAX_LONG_VALUE
from headrace.common.serializer import TypeSerializer

if TYPE_CHECKING:
    from headrace.datastream.window.assigner import MergingWindowAssigner

__all__ = [
    "CountWindow",
    "CountWindowSerializer",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "TimeWindow",
    "TimeWindowSerializer",
    "Window",
]


class Window(ABC):
    """Groups records of one key. Subclasses need `__eq__` and `__hash__`."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Returns the largest timestamp that still belongs to the window."""


class TimeWindow(Window):
    """The window of all times from `start` up to but not including `end`, in milliseconds."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def get_start(self) -> int:
        """Returns the first timestamp of the window."""
        return self.start

    def get_end(self) -> int:
        """Returns the first timestamp after the window."""
        return self.end

    def max_timestamp(self) -> int:
        """Returns the last timestamp of the window, `end - 1`."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Returns whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Returns the smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Returns the start of the window of `window_size` that contains `timestamp`.

        Args:
            timestamp: A time in milliseconds, possibly negative.
            offset: By how much windows are shifted against the epoch.
            window_size: The distance between two starts.

        Example:
            >>> TimeWindow.get_window_start_with_offset(-1, 0, 10)
            -10
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(
        windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Finds groups of windows that overlap or touch.

        Calls `callback.merge(group, cover)` for each group of more than one window.
        """
        group: set[TimeWindow] = set()
        cover: TimeWindow | None = None
        groups: list[tuple[set[TimeWindow], TimeWindow]] = []
        for window in sorted(windows):
            if cover is not None and cover.intersects(window):
                group.add(window)
                cover = cover.cover(window)
            else:
                group = {window}
                cover = window
                groups.append((group, cover))
            groups[-1] = (group, cover)
        # The callback changes the caller's set of windows, so all groups are found first.
        for members, result in groups:
            if len(members) > 1:
                callback.merge(members, result)

    def __eq__(self, other: object) -> bool:
        """Equal if start and end are."""
        if self is other:
            return True
        return isinstance(other, TimeWindow) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        """Cheap, and distinct for windows of one size."""
        return hash(self.start + self.end)

    def __lt__(self, other: TimeWindow) -> bool:
        """Ordered by start, then by end."""
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return self.start < other.start or (self.start == other.start and self.end < other.end)

    def __le__(self, other: TimeWindow) -> bool:
        """Ordered by start, then by end."""
        if not isinstance(other, TimeWindow):
            return NotImplemented
        return self.start < other.start or (self.start == other.start and self.end <= other.end)

    def __gt__(self, other: TimeWindow) -> bool:
        """Ordered by start, then by end."""
        return other < self

    def __ge__(self, other: TimeWindow) -> bool:
        """Ordered by start, then by end."""
        return other <= self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a call of the constructor, which is short and quick."""
        return TimeWindow, (self.start, self.end)

    def __repr__(self) -> str:
        """Shows start and end."""
        return f"TimeWindow(start={self.start}, end={self.end})"


class CountWindow(Window):
    """The window with number `id` among the count windows of a key."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def get_id(self) -> int:
        """Returns the number of the window."""
        return self.id

    def max_timestamp(self) -> int:
        """Returns the largest timestamp there is."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        """Equal if the numbers are."""
        return self is other or (isinstance(other, CountWindow) and self.id == other.id)

    def __hash__(self) -> int:
        """Hashes the number."""
        return hash(self.id)

    def __lt__(self, other: CountWindow) -> bool:
        """Ordered by number."""
        if not isinstance(other, CountWindow):
            return NotImplemented
        return self.id < other.id

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a call of the constructor."""
        return CountWindow, (self.id,)

    def __repr__(self) -> str:
        """Shows the number."""
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds everything. `GlobalWindow.get()` returns the shared object."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Returns the shared object."""
        return _GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """Returns the largest timestamp there is."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        """All global windows are equal."""
        return self is other or isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        """All global windows are equal."""
        return 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as the shared object."""
        return GlobalWindow.get, ()

    def __repr__(self) -> str:
        """Has no fields to show."""
        return "GlobalWindow"


_GLOBAL_WINDOW = GlobalWindow()

_TWO_LONGS = struct.Struct(">qq")
_ONE_LONG = struct.Struct(">q")


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end as two big-endian 64-bit integers, as in Flink."""

    def serialize(self, element: TimeWindow, stream: BinaryIO) -> None:
        """Writes 16 bytes."""
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BinaryIO) -> TimeWindow:
        """Reads 16 bytes."""
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(_TWO_LONGS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The number as a big-endian 64-bit integer, as in Flink."""

    def serialize(self, element: CountWindow, stream: BinaryIO) -> None:
        """Writes 8 bytes."""
        stream.write(_ONE_LONG.pack(element.id))

    def deserialize(self, stream: BinaryIO) -> CountWindow:
        """Reads 8 bytes."""
        return CountWindow(*_ONE_LONG.unpack(stream.read(_ONE_LONG.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One zero byte, as in Flink."""

    def serialize(self, element: GlobalWindow, stream: BinaryIO) -> None:
        """Writes one byte."""
        stream.write(b"\x00")

    def deserialize(self, stream: BinaryIO) -> GlobalWindow:
        """Reads one byte."""
        stream.read(1)
        return GlobalWindow.get()
