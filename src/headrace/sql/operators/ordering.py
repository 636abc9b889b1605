"""Orders of rows: by columns, ascending or descending, NULL first or last."""

from __future__ import annotations

from collections.abc import Callable
from functools import total_ordering
from typing import Any


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


def sort_key(order: tuple[tuple[int, bool, bool], ...]) -> Callable[[Any], Any]:
    """A key for `sorted`."""
    parts = [_part(*o) for o in order]
    if len(parts) == 1:
        return parts[0]
    return lambda row: tuple([p(row) for p in parts])
