"""Hashes of keys that are several whole numbers, for many of them at once.

They are those of `stable_hash`, byte by byte: where a key lives must not depend on who asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any
from zlib import crc32

__all__ = ["MOST_COLUMNS", "columns_of", "tuple_hashes"]

MOST_COLUMNS = 9
"""Six bits for the length of each fit into a number of 64 bits."""


@cache
def _tens() -> Any:
    import numpy as np

    return np.array([10**power for power in range(1, 20)], np.uint64)


@cache
def _crc_table() -> Any:
    """What each byte does to a CRC-32, as in `zlib`."""
    import numpy as np

    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return table


def columns_of(keys: Sequence[tuple[Any, ...]]) -> list[Any] | None:
    """Arrays of the parts of tuples; None if these are not several whole numbers of 64 bits."""
    import numpy as np

    widths = set(map(len, keys))
    if len(widths) > 1 or not 1 < max(widths) <= MOST_COLUMNS:
        return None
    if set(map(type, chain.from_iterable(keys))) != {int}:
        return None
    try:
        numbers = np.fromiter(chain.from_iterable(keys), np.int64, len(keys) * max(widths))
    except OverflowError:
        return None
    return list(numbers.reshape(len(keys), -1).T)


def tuple_hashes(columns: Sequence[Any]) -> Any:
    """The hash of each tuple, of arrays with its parts.

    Where the numbers of tuples are as long, their bytes are at the same places: each byte is one
    pass over all of these tuples.
    """
    import numpy as np

    parts = [_Digits(column) for column in columns]
    forms = parts[0].form
    for part in parts[1:]:
        forms = forms << 6 | part.form
    hashes = np.empty(len(forms), np.uint32)
    for form in np.unique(forms):
        rows = np.flatnonzero(forms == form)
        state = _Crc(len(rows), b"t")
        for part in parts:
            part.add_to(state, rows)
        hashes[rows] = state.value()
    return hashes


class _Digits:
    """One part of the tuples: how large it is, and how long its text."""

    def __init__(self, column: Any) -> None:
        import numpy as np

        numbers = column.astype(np.int64, copy=False)
        negative = numbers < 0
        # The smallest number has no positive counterpart of its own type.
        self._sizes = np.where(negative, ~numbers, numbers).astype(np.uint64) + negative
        lengths = np.searchsorted(_tens(), self._sizes, side="right") + 1
        self.form = lengths << 1 | negative

    def add_to(self, state: _Crc, rows: Any) -> None:
        """Add the bytes of rows that have the same form, as `canonical_bytes` has them."""
        length, negative = divmod(int(self.form[rows[0]]), 2)
        text = b"i-" if negative else b"i"
        state.add(b"%d:%b" % (len(text) + length, text))
        digits, left = [], self._sizes[rows]
        ten = left.dtype.type(10)
        for _ in range(length):
            left, before = left // ten, left
            digits.append((before - left * ten).astype("uint32") + ord("0"))
        state.add(reversed(digits))


class _Crc:
    """The CRC-32 of several texts that begin alike."""

    def __init__(self, count: int, begin: bytes) -> None:
        import numpy as np

        self._state = np.full(count, crc32(begin) ^ 0xFFFFFFFF, np.uint32)

    def add(self, more: Iterable[Any]) -> None:
        """Add bytes: of each a number, or an array of one for each text."""
        state, table = self._state, _crc_table()
        for byte in more:
            state = table[(state ^ byte) & 0xFF] ^ state >> 8
        self._state = state

    def value(self) -> Any:
        return ~self._state
