"""Inner joins of relations that only grow: nothing is counted, since nothing is taken back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from headrace.sql.operators.base import NetChangeOperator, RowOperator
from headrace.sql.operators.joins.regular import PairCondition, Row, matches_nothing
from headrace.sql.operators.joins.specs import GrowingJoinSpec

_PAGE_ROWS = 500
_MOST_PAIRS = 20_000


class GrowingRows:
    """The rows of one side by key.

    Of a key with many rows only the last page is written when rows come; the full ones before it
    are read when the other side has something new for them, and never written again. What is kept
    of a key is a single row, or a list: how many full pages there are, and the rows after them.
    """

    def __init__(self, operator: RowOperator, name: str) -> None:
        self._cell = operator.cell
        self._last = operator.value_state(name)
        self._pages = operator.value_state(f"{name}-pages", namespaced=True)

    def load(self, key: Any) -> list[Row]:
        """All rows of a key."""
        self._cell.key = key
        stored = self._last.value()
        if stored is None:
            return []
        if isinstance(stored, tuple):
            return [stored]
        stored = _as_list(stored)
        found: list[Row] = stored[1:]
        for page in range(stored[0]):
            self._cell.key = (key, page)
            found += self._pages.value()
        return found

    def append(self, key: Any, rows: list[Row]) -> None:
        """Keep more rows of a key."""
        self._cell.key = key
        stored = self._last.value()
        if stored is None and len(rows) == 1:
            self._last.update(rows[0])
            return
        stored = _as_list(stored)
        stored += rows
        if len(stored) > _PAGE_ROWS:
            page, *full = stored
            stored = [page + 1]
            self._cell.key = (key, page)
            self._pages.update(full)
            self._cell.key = key
        self._last.update(stored)


def _as_list(stored: Any) -> list[Any]:
    if isinstance(stored, list):
        return stored
    if isinstance(stored, dict):
        # How a join keeps rows that it counts: a savepoint may be of a time when all were counted.
        return [0, *(row for row, times in stored.items() for _ in range(times))]
    return [0] if stored is None else [0, stored]


class GrowingJoinOperator(NetChangeOperator):
    """Emits the pairs that an epoch adds.

    With L and R before, l and r new in the epoch, these are `L * r + l * (R + r)`.
    """

    takes_keys_in_turn = True

    def __init__(self, spec: GrowingJoinSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._new: tuple[dict[Any, list[Row]], ...] = (defaultdict(list), defaultdict(list))
        self._condition: PairCondition | None = None
        self._pairs: list[Row] = []

    def open(self) -> None:
        self._rows = [GrowingRows(self, name) for name in ("left", "right")]
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        new = self._new[input_index]
        for key, row in zip(keys, rows, strict=True):
            new[key].append(row)

    def flush(self) -> None:
        (lefts, rights), (left, right) = self._new, self._rows
        for new in self._new:
            self._drop_nulls(new)
        for key, others in rights.items():
            if there := left.load(key):
                self._pair(there, others)
            right.append(key, others)
        for key, mine in lefts.items():
            if there := right.load(key):
                self._pair(mine, there)
            left.append(key, mine)
        self.forget_key()
        self._new = (defaultdict(list), defaultdict(list))
        self._emit_pairs()

    def _drop_nulls(self, new: dict[Any, list[Row]]) -> None:
        """Rows with a key that matches nothing."""
        null_safe = self._spec.null_safe
        keys = (None,) if len(null_safe) == 1 else new
        for key in [key for key in keys if matches_nothing(key, null_safe)]:
            new.pop(key, None)

    def _pair(self, lefts: list[Row], rights: list[Row]) -> None:
        step = -(-_MOST_PAIRS // len(rights))
        for start in range(0, len(lefts), step):
            some = lefts[start : start + step]
            self._pairs += [left + right for left in some for right in rights]
            if len(self._pairs) > _MOST_PAIRS:
                self._emit_pairs()

    def _emit_pairs(self) -> None:
        pairs, self._pairs = self._pairs, []
        self.emit_rows(pairs if self._condition is None else self._condition.kept(pairs))
