"""Regular joins: every row of one side meets every row of the other one with the same key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

from headrace.sql.codegen.code import GeneratedCode
from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    NetChangeOperator,
    OpenedCode,
    RowOperator,
)
from headrace.sql.operators.semi_join import Counts, add
from headrace.sql.operators.specs import JoinSpec

Row = tuple[Any, ...]
Matches = Callable[[Row, Row], bool]


class PairCondition:
    """What pairs of rows have to fulfil besides equal keys."""

    def __init__(self, code: GeneratedCode, operator: RowOperator) -> None:
        self._code = OpenedCode(code, operator)
        self._operator = operator
        self.close = self._code.close

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
    of the epoch, the pairs that are new are `l * (R + r) + L * r`: each pair is looked at once,
    and a pair that came and went is none. A row that is kept without a partner is NULL on the
    other side; whether it has one is looked at again only where the other side changed.
    """

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._changes: dict[Any, tuple[Counts, Counts]] = {}
        self._without_key: tuple[Counts, Counts] = ({}, {})
        self._condition: PairCondition | None = None
        self._nulls = tuple((None,) * side.width for side in (spec.right, spec.left))

    def open(self) -> None:
        self._states = [
            self.value_state(name, side.ttl_ms)
            for name, side in (("left", self._spec.left), ("right", self._spec.right))
        ]
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)

    def close(self) -> None:
        if self._condition is not None:
            self._condition.close()
        super().close()

    # Input.

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        side = (self._spec.left, self._spec.right)[input_index]
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
        for key, changes in self._changes.items():
            if changes[0] or changes[1]:
                self._join(key, changes, result)
        self.forget_key()
        self._changes.clear()
        self._emit(result)

    def _join(self, key: Any, changes: tuple[Counts, Counts], result: Counts) -> None:
        self.cell.key = key
        left, right = (state.value() or {} for state in self._states)
        left_changes, right_changes = changes
        matches = self._matcher(left, right, changes)
        _pairs(result, left, right_changes, matches)
        # From here on the right side is as it is after the epoch.
        right_before = right
        if right_changes:
            right = dict(right)
            for row, change in right_changes.items():
                add(right, row, change)
        _pairs(result, left_changes, right, matches)
        left_before = left
        if left_changes:
            left = dict(left)
            for row, change in left_changes.items():
                add(left, row, change)
        if self._spec.left.outer:
            self._alone(result, 0, (left_before, left), (right_before, right), matches)
        if self._spec.right.outer:
            flipped = None if matches is None else (lambda a, b: matches(b, a))
            self._alone(result, 1, (right_before, right), (left_before, left), flipped)
        for state, rows, changed in zip(self._states, (left, right), changes, strict=True):
            if changed and rows:
                state.update(rows)
            elif changed:
                state.clear()

    def _matcher(
        self, left: Counts, right: Counts, changes: tuple[Counts, Counts]
    ) -> Matches | None:
        """Which pairs fulfil the condition; None if all do. Only pairs that are asked for count."""
        if self._condition is None:
            return None
        outer = self._spec.left.outer or self._spec.right.outer
        lefts = [*left, *(row for row in changes[0] if row not in left)]
        rights = [*right, *(row for row in changes[1] if row not in right)]
        asked = [
            (*a, *b) for a in lefts for b in rights if outer or a in changes[0] or b in changes[1]
        ]
        true = set(compress(asked, self._condition.fulfilled(asked)))
        return lambda a, b: (*a, *b) in true

    def _alone(
        self,
        result: Counts,
        index: int,
        own: tuple[Counts, Counts],
        other: tuple[Counts, Counts],
        matches: Matches | None,
    ) -> None:
        """Rows of a side that have no partner, as they are now less as they were before."""
        before, after = own
        if matches is None and bool(other[0]) == bool(other[1]):
            if other[1]:
                return
            rows: Iterable[Row] = {*before, *after} if before is not after else ()
        else:
            rows = {*before, *after}
        for row in rows:
            was = 0 if _has_partner(row, other[0], matches) else before.get(row, 0)
            now = 0 if _has_partner(row, other[1], matches) else after.get(row, 0)
            if now != was:
                add(result, self._padded(index, row), now - was)

    def _padded(self, index: int, row: Row) -> Row:
        nulls = self._nulls[index]
        return (*nulls, *row) if index else (*row, *nulls)

    def _emit(self, result: Counts) -> None:
        gone: list[Row] = []
        new: list[Row] = []
        for row, change in result.items():
            if not self._spec.changelog:
                new += [row] * change
            elif change > 0:
                new += [(*row, INSERT)] * change
            else:
                gone += [(*row, DELETE)] * -change
        self.emit_rows(gone + new)


def _pairs(result: Counts, left: Counts, right: Counts, matches: Matches | None) -> None:
    for a, times in left.items():
        for b, more in right.items():
            if matches is None or matches(a, b):
                add(result, (*a, *b), times * more)


def _has_partner(row: Row, others: Counts, matches: Matches | None) -> bool:
    if matches is None:
        return bool(others)
    return any(matches(row, other) for other in others)
