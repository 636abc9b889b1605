"""Rows by how often they are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.sql.operators.base import DELETE, INSERT

if TYPE_CHECKING:
    from headrace.sql.operators.joins.rows import Rows

Counts = dict[Any, int]
"""How often each row or value is there, or how much more often than before."""


def add(counts: Rows, item: Any, change: int) -> None:
    """Changes how often something is there."""
    times = counts.get(item, 0) + change
    if times:
        counts[item] = times
    else:
        counts.pop(item, None)


def as_changes(
    counts: Counts, changelog: bool, going: int = DELETE, coming: int = INSERT
) -> list[tuple[Any, ...]]:
    """Rows that go, then rows that come, with their kinds; without kinds if none goes."""
    gone: list[tuple[Any, ...]] = []
    new: list[tuple[Any, ...]] = []
    for row, change in counts.items():
        if not changelog:
            new += [row] * change
        elif change > 0:
            new += [(*row, coming)] * change
        else:
            gone += [(*row, going)] * -change
    return gone + new
