"""The rows of one side of a join, as they are kept for each key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.sql.operators.base import RowOperator
from headrace.sql.operators.joins.counts import Counts

__all__ = ["JoinRows"]

Row = tuple[Any, ...]


class JoinRows:
    """Rows of the current key, and how often each is there.

    They are one value, and a single row is kept as such, which is all there is of a unique key.
    With a time to live each row is an entry of its own: others of its key do not keep it.
    """

    def __init__(self, operator: RowOperator, name: str, ttl_ms: int) -> None:
        self._expires = ttl_ms > 0
        make = operator.map_state if self._expires else operator.value_state
        self._state = make(name, ttl_ms)

    def load(self) -> Counts:
        """The rows, which the caller may change."""
        if self._expires:
            return dict(self._state.items())
        stored = self._state.value()
        if stored is None:
            return {}
        return {stored: 1} if isinstance(stored, tuple) else stored

    def store(self, rows: Counts, changed: Iterable[Row]) -> None:
        """Keep the rows, of which some have changed."""
        if not self._expires:
            self._state.update(_packed(rows))
            return
        for row in changed:
            times = rows.get(row)
            if times is None:
                self._state.remove(row)
            else:
                self._state.put(row, times)


def _packed(rows: Counts) -> Counts | Row | None:
    if len(rows) == 1:
        ((row, times),) = rows.items()
        return row if times == 1 else rows
    return rows or None
