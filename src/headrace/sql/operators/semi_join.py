"""IN, EXISTS and their opposites, and values of subqueries: rows by what the other side has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.sql.operators.base import DELETE, INSERT, NetChangeOperator
from headrace.sql.operators.specs import Emission, ScalarJoinSpec, SemiJoinSpec

Counts = dict[Any, int]
"""How often each row or value is there, or how much more often than before."""


def add(counts: Counts, item: Any, change: int) -> None:
    """Changes how often something is there."""
    times = counts.get(item, 0) + change
    if times:
        counts[item] = times
    else:
        counts.pop(item, None)


def as_changes(counts: Counts, changelog: bool) -> list[tuple[Any, ...]]:
    """Rows that go, then rows that come, with their kinds; without kinds if none goes."""
    gone: list[tuple[Any, ...]] = []
    new: list[tuple[Any, ...]] = []
    for row, change in counts.items():
        if not changelog:
            new += [row] * change
        elif change > 0:
            new += [(*row, INSERT)] * change
        else:
            gone += [(*row, DELETE)] * -change
    return gone + new


@dataclass
class _Sides:
    """Both sides of a key, and what an epoch changed."""

    left: Counts
    right: Counts
    answer: Any
    changes: Counts = field(default_factory=dict)


class LookupOperator(NetChangeOperator):
    """Keeps rows of the left side, and of the right side what gives an *answer* for all of them.

    As long as the answer stays, an epoch costs what changed on the left. With another answer all
    rows of the key are looked at.
    """

    def __init__(self, changelog: bool, emission: Emission, ttl_ms: int) -> None:
        super().__init__(emission)
        self._changelog = changelog
        self._ttl_ms = ttl_ms
        self._touched: dict[Any, _Sides] = {}

    def open(self) -> None:
        self._left = self.value_state("left", self._ttl_ms)
        self._right = self.value_state("right", self._ttl_ms)

    def answer(self, right: Counts) -> Any:
        """What the right side says; it is compared with what it said before."""
        raise NotImplementedError

    def result(self, left: Counts, answer: Any) -> Counts:
        """What becomes of rows of the left side."""
        raise NotImplementedError

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        change = 1
        for key, row in zip(keys, rows, strict=True):
            sides = self._touched.get(key) or self._load(key)
            if not self.final_only:
                change, row = (-1 if row[-1] & 1 else 1), row[:-1]
            if input_index:
                add(sides.right, row, change)
            else:
                add(sides.left, row, change)
                add(sides.changes, row, change)

    def _load(self, key: Any) -> _Sides:
        self.cell.key = key
        left, right = self._left.value() or {}, self._right.value() or {}
        sides = self._touched[key] = _Sides(left, right, self.answer(right))
        return sides

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        for key, sides in self._touched.items():
            self._keep(key, sides)
        self.forget_key()

    def _keep(self, key: Any, sides: _Sides) -> None:
        self.cell.key = key
        for state, counts in ((self._left, sides.left), (self._right, sides.right)):
            if counts:
                state.update(counts)
            else:
                state.clear()

    def flush(self) -> None:
        result: Counts = {}
        for key, sides in self._touched.items():
            self._keep(key, sides)
            for row, change in self._changed(sides).items():
                add(result, row, change)
        self.forget_key()
        self._touched = {}
        self.emit_rows(as_changes(result, self._changelog))

    def _changed(self, sides: _Sides) -> Counts:
        """How much more often each row is in the result."""
        answer = self.answer(sides.right)
        if self.final_only:
            return self.result(sides.left, answer)
        if answer == sides.answer:
            return self.result(sides.changes, answer)
        before = dict(sides.left)
        for row, change in sides.changes.items():
            add(before, row, -change)
        changed = dict(self.result(sides.left, answer))
        for row, times in self.result(before, sides.answer).items():
            add(changed, row, -times)
        return changed


class SemiJoinOperator(LookupOperator):
    """IN and EXISTS, or NOT EXISTS: both sides of a key come to one subtask."""

    def __init__(self, spec: SemiJoinSpec) -> None:
        super().__init__(spec.changelog, spec.emission, spec.ttl_ms)
        self._anti = spec.anti
        self._keys = spec.left_keys

    def answer(self, right: Counts) -> bool:
        return bool(right)

    def result(self, left: Counts, answer: Any) -> Counts:
        row = next(iter(left), None)
        if row is None:
            return left
        # Rows here have equal keys, and NULL equals nothing.
        found = answer and all(row[k] is not None for k in self._keys)
        return left if found != self._anti else {}


class NotInOperator(LookupOperator):
    """NOT IN where there may be NULL: it depends on all rows, which are in one subtask."""

    def __init__(self, spec: SemiJoinSpec) -> None:
        super().__init__(spec.changelog, spec.emission, spec.ttl_ms)
        (self._key,) = spec.left_keys

    def answer(self, right: Counts) -> frozenset[Any]:
        return frozenset(row[0] for row in right)

    def result(self, left: Counts, answer: Any) -> Counts:
        if not answer:
            return left
        if None in answer:
            return {}
        key = self._key
        return {
            row: times
            for row, times in left.items()
            if row[key] is not None and row[key] not in answer
        }


class ScalarJoinOperator(LookupOperator):
    """Adds the only value of the right side to all rows; one subtask."""

    def __init__(self, spec: ScalarJoinSpec) -> None:
        super().__init__(spec.emission is not Emission.FINAL, spec.emission, spec.ttl_ms)

    def answer(self, right: Counts) -> Any:
        if sum(right.values()) > 1:
            raise self.failed(
                ValueError(
                    "SubQuery returned more than one row. A subquery as a value gives one: use an "
                    "aggregate, such as MAX"
                )
            )
        return next(iter(right), (None,))

    def result(self, left: Counts, answer: Any) -> Counts:
        return {(*row, *answer): times for row, times in left.items()}
