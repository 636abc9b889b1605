"""How much of what a slot sends may be on its way: more may leave when others have taken some."""

from __future__ import annotations

import struct
from collections import defaultdict

__all__ = ["Credit"]

_MOST_BYTES = 16 << 20
"""What a slot may have on its way to all others. It is in the memory of Spark's JVMs meanwhile."""
_LEAST_BYTES = 64 << 10
"""And to one of them, however many there are."""
_GRANT = struct.Struct("<Q")


class Credit:
    """What a slot may still send to each other one, and what it owes them for what it has taken.

    As in Flink, a receiver grants what it has room for. Here it always has room, in a file if need
    be, so it grants what it has taken. A frame may be longer than the credit that is left.
    """

    def __init__(self) -> None:
        self._window = _MOST_BYTES
        self._on_way: defaultdict[int, int] = defaultdict(int)
        self._owed: defaultdict[int, int] = defaultdict(int)

    def share(self, slots: int) -> None:
        """Share the window among so many slots."""
        self._window = max(_MOST_BYTES // max(slots, 1), _LEAST_BYTES)

    def allows(self, slot: int) -> bool:
        """Whether a slot may be sent something."""
        return self._on_way[slot] < self._window

    def sent(self, slot: int, size: int) -> None:
        """So many bytes are on their way to a slot."""
        self._on_way[slot] += size

    def taken(self, slot: int, size: int) -> bytes | None:
        """So many bytes of a slot have come; what to grant it now, if that is worth a frame."""
        owed = self._owed[slot] + size
        # A sender without credit is owed more than half of the window, so it never waits in vain.
        if 2 * owed < self._window:
            self._owed[slot] = owed
            return None
        self._owed[slot] = 0
        return _GRANT.pack(owed)

    def granted(self, slot: int, grant: bytes) -> None:
        """A slot has taken something."""
        self._on_way[slot] -= _GRANT.unpack(grant)[0]

    def forget(self) -> None:
        """Nothing is on its way any more."""
        self._on_way.clear()
        self._owed.clear()
