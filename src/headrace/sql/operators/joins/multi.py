"""Joins of several relations on one common key, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.sql.operators.base import DELETE, INSERT, NetChangeOperator
from headrace.sql.operators.joins.counts import Counts, add, as_changes
from headrace.sql.operators.joins.regular import (
    PairCondition,
    Row,
    change_rows,
    matches_nothing,
    multiply,
    with_changes,
)
from headrace.sql.operators.joins.rows import JoinRows, Rows
from headrace.sql.operators.joins.specs import MultiJoinSpec


class MultiJoinOperator(NetChangeOperator):
    """Keeps the rows of each relation by key, and emits how the result of an epoch differs.

    What changed in a relation is joined with the relations before it as they are now, and then with
    those behind it as they were. So each change is looked at once, in the order of the relations.
    """

    def __init__(self, spec: MultiJoinSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._changes: dict[Any, tuple[Counts, ...]] = {}
        self._without_key: Counts = {}
        # Where every change counts, those that go and come, and the columns before the one row.
        self._kinds = (DELETE, INSERT)
        self._before = 0
        self._keeps_all = all(side.outer for side in spec.sides[1:])
        self._nulls = [(None,) * side.width for side in spec.sides]
        self._conditions: list[PairCondition | None] = []

    def open(self) -> None:
        self._rows = [
            JoinRows(self, f"input-{i}", side.ttl_ms) for i, side in enumerate(self._spec.sides)
        ]
        # Those of a relation are at its place; the first one is joined with nothing before it.
        self._conditions = [
            None if code is None else PairCondition(code, self)
            for code in (None, *self._spec.conditions)
        ]

    # Input.

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        has_kinds = self._spec.sides[input_index].changes
        kind, change = INSERT, 1
        for key, row in zip(keys, rows, strict=True):
            if has_kinds:
                kind, row = row[-1], row[:-1]
                change = -1 if kind & 1 else 1
            if matches_nothing(key, self._spec.null_safe):
                if input_index == 0 and self._keeps_all:
                    add(self._without_key, row, change)
                continue
            changes = self._changes.get(key)
            if changes is None:
                changes = self._changes[key] = tuple({} for _ in self._rows)
            add(changes[input_index], row, change)
        if self._every_change:
            self._kinds = (kind, INSERT) if change < 0 else (DELETE, kind)
            self._before = sum(side.width for side in self._spec.sides[:input_index])

    # Output.

    def flush(self) -> None:
        result: Counts = {}
        nulls = tuple(x for side in self._nulls[1:] for x in side)
        for row, change in self._without_key.items():
            add(result, (*row, *nulls), change)
        self._without_key.clear()
        for key, changes in self._changes.items():
            self.cell.key = key
            relations = [kept.load() for kept in self._rows]
            for place, changed in enumerate(changes):
                if changed:
                    self._join(place, relations, changed, result)
            # Not before all have read what they need: rows may move to other pages.
            for kept, rows, changed in zip(self._rows, relations, changes, strict=True):
                if changed:
                    kept.store(rows, changed)
        self.forget_key()
        self._changes.clear()
        out: list[Row] = []
        for counts in self._by_rows_before(result):
            out += as_changes(counts, self._spec.changelog, *self._kinds)
        self.emit_rows(out)

    def _by_rows_before(self, result: Counts) -> Iterable[Counts]:
        """Results by the rows that one row has met: each goes and comes before the next one."""
        if not self._before:
            return [result]
        found: dict[Row, Counts] = {}
        for row, change in result.items():
            found.setdefault(row[: self._before], {})[row] = change
        return found.values()

    def _join(self, place: int, relations: list[Rows], changed: Counts, result: Counts) -> None:
        """What the changes of one relation change; those of the relations before it have come."""
        if place == 0:
            found = changed
        else:
            before: Rows = relations[0]
            for i in range(1, place):
                before = self._extended(i, before, relations[i])
            found = self._arrived(place, before, relations[place], changed)
        change_rows(relations[place], changed)
        for i in range(place + 1, len(relations)):
            found = self._extended(i, found, relations[i])
        change_rows(result, found)

    def _extended(self, place: int, rows: Rows, others: Rows) -> Counts:
        """Rows with their partners in a relation, or with NULL where it may be missing."""
        found: Counts = {}
        if self._conditions[place] is None and others:
            multiply(found, rows, others)
            return found
        partners = self._matches(place, rows, others)
        for row, times in rows.items():
            for other in partners[row]:
                add(found, (*row, *other), times * others[other])
            if not partners[row] and self._spec.sides[place].outer:
                add(found, (*row, *self._nulls[place]), times)
        return found

    def _arrived(self, place: int, rows: Rows, others: Rows, changed: Counts) -> Counts:
        """How the join of rows with a relation changes when the relation does."""
        found: Counts = {}
        outer = self._spec.sides[place].outer
        if self._conditions[place] is None:
            multiply(found, rows, changed)
            left = any(others.get(row, 0) + change for row, change in changed.items())
            has = left or any(row not in changed for row in others)
            if outer and has != bool(others):
                alone = {self._nulls[place]: -1 if has else 1}
                multiply(found, rows, alone)
            return found
        partners = self._matches(place, rows, with_changes(others, changed) if outer else changed)
        for row, times in rows.items():
            before = after = 0
            for other in partners[row]:
                there, more = others.get(other, 0), changed.get(other, 0)
                before, after = before + there, after + there + more
                if more:
                    add(found, (*row, *other), times * more)
            if outer and bool(before) != bool(after):
                add(found, (*row, *self._nulls[place]), times if before else -times)
        return found

    def _matches(self, place: int, rows: Rows, others: Rows) -> dict[Row, list[Row]]:
        """For each row the rows of a relation that belong to it."""
        condition = self._conditions[place]
        if condition is None:
            all_of_them = list(others)
            return dict.fromkeys(rows, all_of_them)
        pairs = [(row, other) for row in rows for other in others]
        found: dict[Row, list[Row]] = {row: [] for row in rows}
        true = condition.fulfilled([(*row, *other) for row, other in pairs])
        for (row, other), fulfilled in zip(pairs, true, strict=True):
            if fulfilled:
                found[row].append(other)
        return found
