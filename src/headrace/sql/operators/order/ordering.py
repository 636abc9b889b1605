"""Orders of rows: by columns, ascending or descending, NULL first or last."""

from __future__ import annotations

from collections.abc import Callable
from functools import total_ordering
from operator import itemgetter
from typing import Any

Order = tuple[tuple[int, bool, bool], ...]
"""Column, descending, nulls first."""


@total_ordering
class _Reversed:
    """Compares the other way round, for values that cannot be negated."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(self.value == other.value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def _part(index: int, descending: bool, nulls_first: bool) -> Callable[[Any], Any]:
    null = (0, None) if nulls_first else (2, None)

    def part(row: Any) -> Any:
        value = row[index]
        if value is None:
            return null
        return (1, _Reversed(value) if descending else value)

    return part


def sort_key(order: Order) -> Callable[[Any], Any]:
    """A key for `sorted`."""
    parts = [_part(*o) for o in order]
    if len(parts) == 1:
        return parts[0]
    return lambda row: tuple([p(row) for p in parts])


def keep_first(rows: list[Any], order: Order, count: int) -> None:
    """Sort in place, and drop all rows but the first ones; equal rows stay as they were.

    One pass for each column, the last one first, so that nothing but the values is compared.
    """
    for index, descending, nulls_first in reversed(order):
        value = itemgetter(index)
        present = [r for r in rows if r[index] is not None]
        if len(present) == len(rows):
            rows.sort(key=value, reverse=descending)
            continue
        present.sort(key=value, reverse=descending)
        nulls = [r for r in rows if r[index] is None]
        rows[:] = nulls + present if nulls_first else present + nulls
    del rows[count:]
