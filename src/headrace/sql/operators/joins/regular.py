"""Regular joins: every row of one side meets every row of the other one with the same key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, compress
from typing import Any

from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.base import (
    NetChangeOperator,
    OpenedCode,
    RowOperator,
)
from headrace.sql.operators.joins.counts import Counts, add, as_changes
from headrace.sql.operators.joins.rows import JoinRows, Rows
from headrace.sql.operators.joins.specs import JoinSpec

Row = tuple[Any, ...]
Sides = tuple[Rows, Rows]
Changes = tuple[Counts, Counts]


class PairCondition:
    """What pairs of rows have to fulfil besides equal keys."""

    def __init__(self, code: GeneratedCode, operator: RowOperator) -> None:
        self._code = OpenedCode(code, operator)
        self._operator = operator

    def kept(self, pairs: list[Row]) -> list[Row]:
        """The pairs that do, each as one row, in their order."""
        try:
            found: list[Row] = self._code.run(pairs)
            return found
        except Exception as error:
            raise self._operator.failed_in(self._code.run, pairs, error) from error

    def fulfilled(self, pairs: list[Row]) -> list[bool]:
        """For each pair whether it does."""
        # The code drops pairs and keeps the others as they are.
        kept = iter(self.kept(pairs))
        found: list[bool] = []
        following = next(kept, None)
        for pair in pairs:
            found.append(pair is following)
            if found[-1]:
                following = next(kept, None)
        return found


def matches_nothing(key: Any, null_safe: Sequence[bool]) -> bool:
    """Whether a part of a key is NULL, which equals nothing."""
    if len(null_safe) == 1:
        return key is None and not null_safe[0]
    return any(part is None and not safe for part, safe in zip(key, null_safe, strict=True))


class JoinOperator(NetChangeOperator):
    """Keeps the rows of both sides by key, and emits how the result of an epoch differs.

    A side is a table of rows and how often each is there. With L and R before, l and r the changes
    of the epoch, the pairs that are new are `L * r + l * (R + r)`: each pair is looked at once,
    and a pair that came and went is none. A row that is kept without a partner is NULL on the
    other side. With a further condition it is known of each such row how many partners it has, so
    that nothing but the new pairs has to be looked at. An ANTI join has no pairs, only the rows
    without a partner; a SEMI join has all other rows.
    """

    takes_keys_in_turn = True

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._sides = (spec.left, spec.right)
        self._changes: dict[Any, Changes] = {}
        self._without_key: Changes = ({}, {})
        self._condition: PairCondition | None = None
        self._nulls = tuple((None,) * side.width for side in (spec.right, spec.left))
        self._pairs = spec.partner is None
        self._lonely = (spec.left.outer or not self._pairs, spec.right.outer)
        if not self._pairs:
            self._nulls = ((), ())

    def open(self) -> None:
        named = tuple(zip(("left", "right"), self._sides, strict=True))
        self._rows = [JoinRows(self, name, side.ttl_ms) for name, side in named]
        self._partners: list[JoinRows | None] = [None, None]
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)
            self._partners = [
                JoinRows(self, f"{name}-partners", side.ttl_ms) if lonely else None
                for (name, side), lonely in zip(named, self._lonely, strict=True)
            ]

    # Input.

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        side = self._sides[input_index]
        changes = self._changes
        change = 1
        for key, row in zip(keys, rows, strict=True):
            if side.changes:
                change, row = (-1 if row[-1] & 1 else 1), row[:-1]
            if matches_nothing(key, self._spec.null_safe):
                if side.outer:
                    add(self._without_key[input_index], row, change)
                continue
            pair = changes.get(key)
            if pair is None:
                pair = changes[key] = ({}, {})
            add(pair[input_index], row, change)

    # Output.

    def flush(self) -> None:
        result: Counts = {}
        for index, counts in enumerate(self._without_key):
            for row, change in counts.items():
                add(result, self._padded(index, row), change)
            counts.clear()
        join = self._join_all if self._condition is None else self._join_some
        for key, changes in self._changes.items():
            if changes[0] or changes[1]:
                self.cell.key = key
                left, right = self._rows
                sides = left.load(), right.load()
                join(sides, changes, result)
                for kept, rows, changed in zip(self._rows, sides, changes, strict=True):
                    if changed:
                        kept.store(rows, changed)
        self.forget_key()
        self._changes.clear()
        self.emit_rows(as_changes(result, self._spec.changelog))

    def _join_all(self, sides: Sides, changes: Changes, result: Counts) -> None:
        """Rows match if their keys are equal; there is no other condition."""
        had = tuple(map(bool, sides))
        if self._pairs:
            multiply(result, sides[0], changes[1])
        change_rows(sides[1], changes[1])
        if self._pairs:
            multiply(result, changes[0], sides[1])
        change_rows(sides[0], changes[0])
        for index, lonely in enumerate(self._lonely):
            if lonely:
                others = had[1 - index], bool(sides[1 - index])
                alone = _alone(sides[index], changes[index], *others)
                self._add_alone(result, index, alone, changes[index])

    def _add_alone(
        self, result: Counts, index: int, alone: Iterator[tuple[Row, int]], changes: Counts
    ) -> None:
        """What rows without a partner are for the result; a SEMI join has those with one."""
        semi = bool(self._spec.partner)
        if semi:
            for row, change in changes.items():
                add(result, row, change)
        for row, change in alone:
            add(result, self._padded(index, row), -change if semi else change)

    def _join_some(self, sides: Sides, changes: Changes, result: Counts) -> None:
        """Pairs have to fulfil a condition as well."""
        assert self._condition is not None
        (left, right), (left_changes, right_changes) = sides, changes
        known = tuple(_Partners(kept) for kept in self._partners)
        old = [(a, b) for a in left for b in right_changes] if right_changes else []
        rights = with_changes(right, right_changes) if left_changes else {}
        new = [(a, b) for a in left_changes for b in rights]
        true = self._condition.fulfilled([(*a, *b) for a, b in chain(old, new)])
        for a, b in compress(old, true):
            if self._pairs:
                add(result, (*a, *b), left[a] * right_changes[b])
            known[0].met(a, right_changes[b])
            if b not in right:
                known[1].met(b, left[a])
        change_rows(right, right_changes)
        for a, b in compress(new, true[len(old) :]):
            times = right.get(b, 0)
            if self._pairs:
                add(result, (*a, *b), left_changes[a] * times)
            known[1].met(b, left_changes[a])
            if a not in left:
                known[0].met(a, times)
        change_rows(left, left_changes)
        for index, (partners, lonely) in enumerate(zip(known, self._lonely, strict=True)):
            if lonely:
                alone = partners.alone(sides[index], changes[index])
                self._add_alone(result, index, alone, changes[index])

    def _padded(self, index: int, row: Row) -> Row:
        nulls = self._nulls[index]
        return (*nulls, *row) if index else (*row, *nulls)


class _Partners:
    """How many partners each row of a side and key has; not counted if the join needs no counts."""

    def __init__(self, kept: JoinRows | None) -> None:
        self._kept = kept
        self._counts: Rows = {} if kept is None else kept.load()
        self._before: Counts = {}

    def met(self, row: Row, change: int) -> None:
        """Partners of a row come or go."""
        if self._kept is not None:
            self._before.setdefault(row, self._counts.get(row, 0))
            add(self._counts, row, change)

    def alone(self, rows: Rows, changes: Counts) -> Iterator[tuple[Row, int]]:
        """How much more often rows have no partner, now that both sides are as they are."""
        if self._kept is None:
            return
        touched = {**self._before, **changes}
        for row in touched:
            there = rows.get(row, 0)
            partners = self._counts.get(row, 0)
            now = 0 if partners else there
            was = 0 if self._before.get(row, partners) else there - changes.get(row, 0)
            if not there:
                self._counts.pop(row, None)
            if now != was:
                yield row, now - was
        self._kept.store(self._counts, touched)


def _alone(rows: Rows, changes: Counts, had: bool, has: bool) -> Iterator[tuple[Row, int]]:
    """How much more often rows have no partner, where all have those that the other side has."""
    if not had and not has:
        yield from changes.items()
    elif not had:
        before = rows.copy()
        for row, change in changes.items():
            add(before, row, -change)
        for row, was in before.items():
            yield row, -was
    elif not has:
        yield from rows.items()


def multiply(result: Counts, left: Rows, right: Rows) -> None:
    """Adds all pairs of two sides, as often as they are there."""
    if not right:
        return
    for a, times in left.items():
        for b, more in right.items():
            add(result, (*a, *b), times * more)


def with_changes(rows: Rows, changes: Counts) -> Counts:
    """All rows that are there or change."""
    found = rows.copy()
    found.update(changes)
    return found


def change_rows(rows: Rows, changes: Counts) -> None:
    """Makes the rows of a side what they are after some changes."""
    for row, change in changes.items():
        add(rows, row, change)
