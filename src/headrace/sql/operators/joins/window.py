"""Window joins: rows of two sides in the same window meet when it is over."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import RowOperator, zone_of
from headrace.sql.operators.joins.regular import PairCondition, Row, matches_nothing
from headrace.sql.operators.joins.specs import WindowJoinSpec
from headrace.sql.operators.windows.aggregate import by_pane
from headrace.sql.operators.windows.slices import over_at

Rows = dict[Any, list[Row]]
"""The rows of one side in a window, by key. The window is part of the key."""

_STATES = ("left", "right")


class WindowJoinOperator(RowOperator):
    """Keeps the rows of both sides by the end of their window, and joins them when it is over.

    Rows go to the state backend when a snapshot is taken; late ones are dropped.
    """

    def __init__(self, spec: WindowJoinSpec) -> None:
        super().__init__()
        self._spec = spec
        self._ends = spec.ends
        self._zone = zone_of(spec.zone)
        self._windows: dict[int, tuple[Rows, Rows]] = {}
        self._unsaved: tuple[set[Any], set[Any]] = (set(), set())
        self._saved: tuple[set[Any], set[Any]] = (set(), set())
        self._condition: PairCondition | None = None

    def open(self) -> None:
        backend = self.context.backend
        assert backend is not None
        self._states = [self.value_state(name) for name in _STATES]
        for index, (name, state) in enumerate(zip(_STATES, self._states, strict=True)):
            for key in backend.keys(name):
                self.cell.key = key
                rows = state.value()
                self._window(rows[0][self._ends[index]] // 1000)[index][key] = rows
                self._saved[index].add(key)
        self.forget_key()
        metrics = self.context.metrics
        self._late = metrics.counter("numLateRecordsDropped") if metrics else None
        if self._spec.condition is not None:
            self._condition = PairCondition(self._spec.condition, self)

    def _window(self, end: int) -> tuple[Rows, Rows]:
        found = self._windows.get(end)
        if found is None:
            found = self._windows[end] = (defaultdict(list), defaultdict(list))
        return found

    def process_batch_of(self, input_index: int, batch: Batch) -> None:
        keys, rows = batch.keys, batch.values
        assert keys is not None
        self.records_in += len(rows)
        column = self._ends[input_index]
        for end, some_keys, some_rows in by_pane([r[column] // 1000 for r in rows], keys, rows):
            if over_at(end, self._zone) <= self.watermark:
                if self._late is not None:
                    self._late.inc(len(some_rows))
                continue
            held = self._window(end)[input_index]
            for key, row in zip(some_keys, some_rows, strict=True):
                held[key].append(row)
            self._unsaved[input_index].update(some_keys)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        out: list[Row] = []
        for end in sorted(e for e in self._windows if over_at(e, self._zone) <= timestamp):
            sides = self._windows.pop(end)
            out += self._joined(*sides)
            for index, side in enumerate(sides):
                self._forget(index, side)
        self.emit_rows(out)
        self.output.watermark(timestamp)

    def _forget(self, index: int, side: Rows) -> None:
        self._unsaved[index].difference_update(side)
        for key in self._saved[index].intersection(side):
            self.cell.key = key
            self._states[index].clear()
        self._saved[index].difference_update(side)
        self.forget_key()

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        for index, unsaved in enumerate(self._unsaved):
            for sides in self._windows.values():
                changed = {k: rows for k, rows in sides[index].items() if k in unsaved}
                self.store(self._states[index], changed)
            self._saved[index].update(unsaved)
            unsaved.clear()

    def _joined(self, left: Rows, right: Rows) -> list[Row]:
        """What comes out of a window."""
        spec = self._spec
        both = [k for k in left.keys() & right.keys() if not matches_nothing(k, spec.null_safe)]
        if spec.semi is not None and self._condition is None:
            found = set(both)
            return [a for k, rows in left.items() if (k in found) is spec.semi for a in rows]
        pairs = [(*a, *b) for key in both for a in left[key] for b in right[key]]
        if self._condition is not None and pairs:
            pairs = self._condition.kept(pairs)
        width = spec.left.width
        # Rows that are equal have the same key and the same partners.
        if spec.semi is not None:
            found = {pair[:width] for pair in pairs}
            return [a for rows in left.values() for a in rows if (a in found) is spec.semi]
        out = list(pairs)
        if spec.left.outer:
            found, nulls = {pair[:width] for pair in pairs}, (None,) * spec.right.width
            out += [(*a, *nulls) for rows in left.values() for a in rows if a not in found]
        if spec.right.outer:
            found, nulls = {pair[width:] for pair in pairs}, (None,) * width
            out += [(*nulls, *b) for rows in right.values() for b in rows if b not in found]
        return out
