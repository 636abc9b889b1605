"""Top-N of rows that replace each other by a key and only move up, as every one of them comes."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    RowOperator,
)
from headrace.sql.operators.order.ordering import sort_key
from headrace.sql.operators.ranking.rank import STATE
from headrace.sql.operators.ranking.specs import RisingRankSpec

Row = tuple[Any, ...]


class RisingRankOperator(RowOperator):
    """Keeps the first rows of each key, sorted, in the state of a `RankOperator`.

    A row that comes takes the place of the one with the same columns `rising`. What an update takes
    back is known without being told.
    """

    takes_keys_in_turn = True

    def __init__(self, spec: RisingRankSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = sort_key(spec.order)
        self._in_place = spec.numbered or spec.start > 1 or spec.end == 1
        self._out: list[Row] = []

    def open(self) -> None:
        self._state = self.value_state(STATE, self._spec.ttl_ms)

    def process_batch(self, batch: Batch) -> None:
        assert batch.keys is not None
        self.records_in += len(batch.values)
        for key, row in zip(batch.keys, batch.values, strict=True):
            if row[-1] != UPDATE_BEFORE:
                self.cell.key = key
                rows: list[Row] = self._state.value() or []
                self._put(rows, row[:-1])
                self._state.update(rows)
        self.forget_key()
        out, self._out = self._out, []
        self.emit_rows(out)

    def _put(self, rows: list[Row], row: Row) -> None:
        end, place = self._spec.end, self._place(rows, row)
        old = None if place is None else rows.pop(place)
        last = len(rows) if place is None else place
        at = bisect_right(rows, self._key(row), key=self._key)
        if old is not None and self._key(old) == self._key(row):
            at = last
        rows.insert(at, row)
        if self._in_place:
            if old is not None and at > last:
                self._fall(rows, last, old, at)
            else:
                self._move(rows, at, old, last)
        elif old is not None:
            self._show(old, 0, UPDATE_BEFORE)
            self._show(row, 0, UPDATE_AFTER)
        elif at < end:
            if len(rows) > end:
                self._show(rows[end], 0, DELETE)
            self._show(row, 0, INSERT)
        del rows[end:]

    def _place(self, rows: list[Row], row: Row) -> int | None:
        """Where the row is that another one replaces."""
        key = self._spec.rising
        values = [row[i] for i in key]
        for place, other in enumerate(rows):
            if [other[i] for i in key] == values:
                return place
        return None

    def _move(self, rows: list[Row], at: int, old: Row | None, last: int) -> None:
        """A row is new at a place, and those behind it have moved down, as far as the last place.

        What was at a place goes before the next one comes, and the old row before the new one.
        """
        pending = old
        for place in range(at, min(last, self._spec.end)):
            self._show(rows[place + 1], place, UPDATE_BEFORE)
            if pending is not None:
                self._show(pending, last, UPDATE_BEFORE)
                pending = None
            self._show(rows[place], place, UPDATE_AFTER)
        if pending is not None:
            self._show(pending, last, UPDATE_BEFORE)
        self._show(rows[last], last, INSERT if old is None else UPDATE_AFTER)

    def _fall(self, rows: list[Row], place: int, old: Row, at: int) -> None:
        """A row moves down after all: what made it has forgotten what it knew, after a while."""
        self._show(old, place, UPDATE_BEFORE)
        for between in range(place, at):
            self._show(rows[between], between + 1, UPDATE_BEFORE)
            self._show(rows[between], between, UPDATE_AFTER)
        self._show(rows[at], at, UPDATE_AFTER)

    def _show(self, row: Row, place: int, kind: int) -> None:
        """A row at a place, if it is one of those that are wanted."""
        spec = self._spec
        if not self._in_place or spec.start <= place + 1 <= spec.end:
            self._out.append((*row, place + 1, kind) if spec.numbered else (*row, kind))
