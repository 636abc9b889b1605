"""Top-N: the first rows of each key in an order, over a stream that changes, or in windows."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    NetChangeOperator,
    RowOperator,
    zone_of,
)
from headrace.sql.operators.order.ordering import keep_first, sort_key
from headrace.sql.operators.ranking.specs import RankSpec, WindowRankSpec
from headrace.sql.operators.windows.slices import over_at

STATE = "rows"
"""The name of what is kept of each key: its rows, sorted."""

_MOST_UNSORTED = 50


def by_key(keys: Iterable[Any], rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """The rows of each key, in their order."""
    found: defaultdict[Any, list[Any]] = defaultdict(list)
    for key, row in zip(keys, rows, strict=True):
        found[key].append(row)
    return found


class RankOperator(NetChangeOperator):
    """Keeps the rows of each key sorted, and emits the net change of an epoch.

    Where the input only grows, no more rows than wanted are kept.
    """

    takes_keys_in_turn = True

    def __init__(self, spec: RankSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._key = sort_key(spec.order)
        self._in_place = spec.numbered or spec.start > 1 or (spec.end == 1 and not spec.changelog)
        by_number = self._every_change and spec.function == "ROW_NUMBER"
        if by_number and spec.changelog and spec.start == spec.end == 1:
            self._in_place = False
        self._moves = by_number and self._in_place
        # Where a row came or went; as long as rows only come, they show it themselves.
        self._place = spec.end
        self._state: Any
        self._touched: dict[Any, list[Any]] = {}
        self._before: dict[Any, list[Any]] = {}

    def open(self) -> None:
        self._state = self.value_state(STATE, self._spec.ttl_ms)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        spec = self._spec
        if spec.changelog:
            self._change(keys, rows)
            return
        for key, new in by_key(keys, rows).items():
            held = self._touched.get(key)
            if held is None:
                held = self._load(key)
            if spec.function == "ROW_NUMBER":
                held += new
                # Sorted when the epoch ends, unless they become too many before.
                if len(held) > 2 * spec.end + _MOST_UNSORTED:
                    keep_first(held, spec.order, spec.end)
                continue
            for row in new:
                insort(held, row, key=self._key)

    def _change(self, keys: Sequence[Any], changes: Sequence[Any]) -> None:
        for key, (*values, kind) in zip(keys, changes, strict=True):
            rows = self._touched.get(key)
            if rows is None:
                rows = self._load(key)
            row = tuple(values)
            if not kind & 1:
                self._place = bisect_right(rows, self._key(row), key=self._key)
                rows.insert(self._place, row)
            elif row in rows:
                self._place = rows.index(row)
                del rows[self._place]
            else:
                self._place = self._spec.end

    def _load(self, key: Any) -> list[Any]:
        self.cell.key = key
        rows: list[Any] = self._state.value() or []
        self._before[key] = rows[: self._spec.end] if self._moves else self._visible(rows)
        self._touched[key] = rows
        return rows

    def _visible(self, rows: list[Any]) -> list[Any]:
        """The rows that are wanted, with their number if it is wanted."""
        spec = self._spec
        if spec.function == "ROW_NUMBER":
            chosen = rows[spec.start - 1 : spec.end]
            if not spec.numbered:
                return chosen
            return [(*r, spec.start + i) for i, r in enumerate(chosen)]
        return self._ranked(rows)

    def _ranked(self, rows: list[Any]) -> list[Any]:
        """RANK and DENSE_RANK: rows that are equal in the order share a number."""
        spec, out = self._spec, []
        number, last = 0, None
        for position, row in enumerate(rows, 1):
            place = self._key(row)
            if place != last:
                number = number + 1 if spec.function == "DENSE_RANK" else position
                last = place
            if number > spec.end:
                break
            if number >= spec.start:
                out.append((*row, number) if spec.numbered else row)
        return out

    def _moved(self, old: list[Any], new: list[Any]) -> list[Any]:
        """What one row changes: all rows behind it move to the next place, or to the one before."""
        pairs = enumerate(zip_longest(old, new))
        first = next((i for i, (before, after) in pairs if before != after), self._place)
        first = max(min(first, self._place), self._spec.start - 1)
        old, new = old[first:], new[first:]
        if self._spec.numbered:
            old, new = ([(*r, first + i) for i, r in enumerate(rs, 1)] for rs in (old, new))
        return changes(old, new, in_place=True, all_places=True)

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._touched)

    def flush(self) -> None:
        out: list[tuple[Any, ...]] = []
        sorts = self._spec.function == "ROW_NUMBER" and not self._spec.changelog
        for key, rows in self._touched.items():
            self.cell.key = key
            if sorts:
                keep_first(rows, self._spec.order, self._spec.end)
            if self._moves:
                self._state.update(rows or None)
                out += self._moved(self._before[key], rows[: self._spec.end])
                continue
            new = self._visible(rows)
            if self.final_only:
                out += new
                continue
            if rows:
                self._state.update(rows)
            else:
                self._state.clear()
            before = self._before[key]
            if before:
                out += changes(before, new, self._in_place)
            else:
                out += [(*row, INSERT) for row in new]
        self.forget_key()
        self._touched = {}
        self._before = {}
        self.emit_rows(out)


def changes(
    old: list[Any], new: list[Any], in_place: bool, all_places: bool = False
) -> list[tuple[Any, ...]]:
    """What turns one list of rows into another; with `in_place` the rows of a place are updated.

    With `all_places` they are even if the next one is equal.
    """
    out: list[tuple[Any, ...]] = []
    if in_place:
        for before, after in zip_longest(old, new):
            if before is None:
                out.append((*after, INSERT))
            elif after is None:
                out.append((*before, DELETE))
            elif all_places or before != after:
                out += [(*before, UPDATE_BEFORE), (*after, UPDATE_AFTER)]
        return out
    gone, come = list(old), []
    for row in new:
        if row in gone:
            gone.remove(row)
        else:
            come.append(row)
    return [(*r, DELETE) for r in gone] + [(*r, INSERT) for r in come]


class WindowRankOperator(RowOperator):
    """Keeps the best rows of each key and window, and emits them when the window is over."""

    def __init__(self, spec: WindowRankSpec) -> None:
        super().__init__()
        self._spec = spec
        self._zone = zone_of(spec.zone)
        self._windows: dict[int, dict[Any, list[Any]]] = {}
        self._state: Any
        self._saved: set[tuple[Any, int]] = set()

    def open(self) -> None:
        backend = self.context.backend
        assert backend is not None
        self._state = self.value_state(STATE, namespaced=True)
        for key, end in backend.keys_and_namespaces(STATE):
            self.cell.key = (key, end)
            self._windows.setdefault(end, {})[key] = self._state.value()
            self._saved.add((key, end))
        self.forget_key()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        spec = self._spec
        for key, new in by_key(batch.keys, batch.values).items():
            # The window is part of the key.
            end = new[0][spec.window_end] // 1000
            if over_at(end, self._zone) <= self.watermark:
                continue
            rows = self._windows.setdefault(end, {}).setdefault(key, [])
            if spec.latest:
                rows[:0] = reversed(new)
            else:
                rows += new
            keep_first(rows, spec.order, spec.end)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        self.watermark = timestamp
        out: list[tuple[Any, ...]] = []
        first = self._spec.start
        for end in sorted(e for e in self._windows if over_at(e, self._zone) <= timestamp):
            for key, rows in self._windows.pop(end).items():
                chosen = rows[first - 1 :]
                if self._spec.numbered:
                    chosen = [(*r, first + i) for i, r in enumerate(chosen)]
                out += chosen
                self._forget(key, end)
        self.emit_rows(out)
        self.output.watermark(timestamp)

    def _forget(self, key: Any, end: int) -> None:
        if (key, end) in self._saved:
            self._saved.discard((key, end))
            self.cell.key = (key, end)
            self._state.clear()
            self.forget_key()

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        for end, by_key in self._windows.items():
            for key, rows in by_key.items():
                self.cell.key = (key, end)
                self._state.update(rows)
                self._saved.add((key, end))
        self.forget_key()
