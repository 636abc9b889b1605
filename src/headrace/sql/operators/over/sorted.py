"""OVER of all rows of a key, in any order: at the end in batch mode, or of those so far."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from collections.abc import Callable, Sequence
from typing import Any

from headrace.runtime.batch import MAX_TIMESTAMP, Batch
from headrace.sql.operators.base import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    NetChangeOperator,
    RowOperator,
)
from headrace.sql.operators.order.ordering import sort_key
from headrace.sql.operators.over.specs import AnyOrderOverSpec, SortedOverSpec

_STATE = "rows"
Rows = list[Any]
Column = list[Any]


class SortedOverOperator(RowOperator):
    """Keeps the rows of each key until the end, sorts them and adds the new columns."""

    def __init__(self, spec: SortedOverSpec) -> None:
        super().__init__()
        self._spec = spec
        self._frames = Frames(spec)
        self._rows: dict[Any, Rows] = {}

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE)
        backend = self.context.backend
        assert backend is not None
        for key in backend.keys(_STATE):
            self.cell.key = key
            self._rows[key] = list(self._state.value())
        self.forget_key()

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            self._rows.setdefault(key, []).append(row)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_TIMESTAMP:
            self._emit()
        super().process_watermark(timestamp)

    def finish(self) -> None:
        self._emit()

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        self.store(self._state, self._rows)

    def _emit(self) -> None:
        for rows in self._rows.values():
            if self._spec.order:
                rows.sort(key=self._frames.sort_key)
            added = self._frames.columns(rows)
            self.emit_rows([(*row, *new) for row, new in zip(rows, added, strict=True)])
        self._rows = {}


class AnyOrderOverOperator(NetChangeOperator):
    """Keeps the rows of each key in their order, and emits how the new columns of them change."""

    def __init__(self, spec: AnyOrderOverSpec) -> None:
        super().__init__(spec.emission)
        self._spec = spec
        self._frames = Frames(spec)
        self._changes: dict[Any, list[Any]] = {}

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        self._state = self.value_state(_STATE, self._spec.ttl_ms)

    def take(self, input_index: int, keys: Sequence[Any], rows: Sequence[Any]) -> None:
        for key, row in zip(keys, rows, strict=True):
            self._changes.setdefault(key, []).append(row)

    def flush(self) -> None:
        out: list[tuple[Any, ...]] = []
        for key, changes in self._changes.items():
            self.cell.key = key
            rows, before = self._state.value() or ([], [])
            if self._every_change:
                (change,) = changes
                after = self._changed(rows, before, change, out)
            else:
                old = _by_row(rows, before)
                for change in changes:
                    self._apply(rows, change)
                after = self._frames.columns(rows)
                out += _differences(old, rows, after)
            self._state.update((rows, after) if rows else None)
        self.forget_key()
        self._changes = {}
        self.emit_rows(out)

    def _changed(
        self, rows: Rows, before: Column, change: Any, out: list[tuple[Any, ...]]
    ) -> Column:
        """Adds or removes one row; what comes out is in the order of the rows."""
        row, kind = self._kind_of(change)
        place = bisect_right(rows, self._frames.sort_key(row), key=self._frames.sort_key)
        if kind & 1:
            place = next((i for i in range(place - 1, -1, -1) if rows[i] == row), -1)
            if place < 0:
                return before
            gone = (*rows.pop(place), *before.pop(place), DELETE)
            after = self._frames.columns(rows)
            changed = [gone]
        else:
            rows.insert(place, row)
            after = self._frames.columns(rows)
            before = [*before[:place], after[place], *before[place:]]
            changed = [(*row, *after[place], kind)]
        differing = [
            [(*row, *old, UPDATE_BEFORE), (*row, *new, UPDATE_AFTER)] if old != new else []
            for row, old, new in zip(rows, before, after, strict=True)
        ]
        for some in (*differing[:place], changed, *differing[place:]):
            out += some
        return after

    def _kind_of(self, change: Any) -> tuple[tuple[Any, ...], int]:
        return (change[:-1], change[-1]) if self._spec.changes else (change, INSERT)

    def _apply(self, rows: Rows, change: Any) -> None:
        row, kind = self._kind_of(change)
        if not kind & 1:
            insort_right(rows, row, key=self._frames.sort_key)
        elif row in rows:
            rows.remove(row)


def _by_row(rows: Rows, added: Column) -> dict[Any, Column]:
    """The new columns of each row, as often as it is there."""
    found: dict[Any, Column] = {}
    for row, new in zip(rows, added, strict=True):
        found.setdefault(row, []).append(new)
    return found


def _differences(old: dict[Any, Column], rows: Rows, after: Column) -> list[tuple[Any, ...]]:
    """Rows that are gone, then those that are new or have other columns than before."""
    out: list[tuple[Any, ...]] = []
    for row, new in zip(rows, after, strict=True):
        known = old.get(row)
        if not known:
            out.append((*row, *new, INSERT))
            continue
        last = known.pop(0)
        if last != new:
            out += [(*row, *last, UPDATE_BEFORE), (*row, *new, UPDATE_AFTER)]
    gone = [(*row, *last, DELETE) for row, left in old.items() for last in left]
    return gone + out


class Frames:
    """Computes the columns that OVER adds, of all rows of a key in their order."""

    def __init__(self, spec: SortedOverSpec) -> None:
        self._spec = spec
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._value = spec.code.value.load()
        self.sort_key = sort_key(spec.order)

    def columns(self, rows: Rows) -> list[tuple[Any, ...]]:
        """The new columns of each row."""
        if not rows:
            return []
        spec = self._spec
        peers = self._peers(rows)
        aggregates = iter(zip(*self._aggregated(rows, peers), strict=True))
        columns: list[Sequence[Any]] = []
        for function in spec.functions:
            if function is None:
                columns.append(next(aggregates))
            else:
                name, column, constants = function
                columns.append(_NUMBERING[name](rows, peers, column, constants))
        return list(zip(*columns, strict=True))

    def _peers(self, rows: Rows) -> list[tuple[int, int]]:
        """For each row the first of the rows that are equal in order, and the one behind them."""
        if not self._spec.order:
            return [(0, len(rows))] * len(rows)
        keys = [self.sort_key(r) for r in rows]
        found: list[tuple[int, int]] = []
        start = 0
        for end in range(1, len(rows) + 1):
            if end == len(rows) or keys[end] != keys[start]:
                found += [(start, end)] * (end - start)
                start = end
        return found

    def _aggregated(self, rows: Rows, peers: list[tuple[int, int]]) -> list[tuple[Any, ...]]:
        """The values of all aggregates for each row."""
        if all(f is not None for f in self._spec.functions):
            return []
        results: list[tuple[Any, ...]] = []
        frames = self._frames(rows, peers)
        known: tuple[int, int] | None = None
        accumulator: list[Any] = []
        value: tuple[Any, ...] = ()
        for start, end in frames:
            if (start, end) != known:
                if known is None or start != known[0] or end < known[1]:
                    accumulator, added = self._create(), rows[start:end]
                else:
                    added = rows[known[1] : end]
                self._add([0] * len(added), added, {0: accumulator}, None)
                value, known = self._value(accumulator), (start, end)
            results.append(value)
        return results

    def _frames(self, rows: Rows, peers: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The first row of each row's frame, and the one behind its last."""
        spec, count = self._spec, len(rows)
        if spec.rows:
            first = [0 if spec.start is None else max(i - spec.start, 0) for i in range(count)]
            last = [
                count if spec.end is None else min(i + spec.end + 1, count) for i in range(count)
            ]
            return [(a, max(a, b)) for a, b in zip(first, last, strict=True)]
        if spec.start in (None, 0) and spec.end in (None, 0):
            return [
                (0 if spec.start is None else a, count if spec.end is None else b) for a, b in peers
            ]
        return self._value_frames(rows)

    def _value_frames(self, rows: Rows) -> list[tuple[int, int]]:
        """Frames by the distance of values; rows with NULL are together."""
        spec = self._spec
        ((column, descending, _), *_) = spec.order
        sign = -1 if descending else 1
        at = [i for i, r in enumerate(rows) if r[column] is not None]
        values = [rows[i][column] * sign for i in at]
        nulls = [i for i, r in enumerate(rows) if r[column] is None]
        offset = at[0] if at else 0
        frames = []
        for row in rows:
            if row[column] is None:
                frames.append((nulls[0], nulls[-1] + 1))
                continue
            value = row[column] * sign
            a = 0 if spec.start is None else bisect_left(values, value - spec.start) + offset
            b = len(rows) if spec.end is None else bisect_right(values, value + spec.end) + offset
            frames.append((a, max(a, b)))
        return frames


Numbering = Callable[[Rows, list[tuple[int, int]], int | None, Sequence[Any]], Column]


def _row_number(rows: Rows, peers: Any, column: Any, constants: Any) -> Column:
    return list(range(1, len(rows) + 1))


def _rank(rows: Rows, peers: Any, column: Any, constants: Any) -> Column:
    return [start + 1 for start, _ in peers]


def _dense_rank(rows: Rows, peers: Any, column: Any, constants: Any) -> Column:
    places = {start: place for place, start in enumerate(sorted({s for s, _ in peers}), 1)}
    return [places[start] for start, _ in peers]


def _percent_rank(rows: Rows, peers: Any, column: Any, constants: Any) -> Column:
    return [start / (len(rows) - 1) if len(rows) > 1 else 0.0 for start, _ in peers]


def _cume_dist(rows: Rows, peers: Any, column: Any, constants: Any) -> Column:
    return [end / len(rows) for _, end in peers]


def _ntile(rows: Rows, peers: Any, column: Any, constants: Sequence[Any]) -> Column:
    size, larger = divmod(len(rows), constants[0])
    numbers: Column = []
    for bucket in range(1, constants[0] + 1):
        numbers += [bucket] * (size + (bucket <= larger))
    return numbers


def _moved(direction: int) -> Numbering:
    def values(rows: Rows, peers: Any, column: Any, constants: Sequence[Any]) -> Column:
        distance = constants[0] if constants else 1
        default = constants[1] if len(constants) > 1 else None
        found = []
        for index in range(len(rows)):
            other = index + direction * distance
            found.append(rows[other][column] if 0 <= other < len(rows) else default)
        return found

    return values


_NUMBERING: dict[str, Numbering] = {
    "ROW_NUMBER": _row_number,
    "RANK": _rank,
    "DENSE_RANK": _dense_rank,
    "PERCENT_RANK": _percent_rank,
    "CUME_DIST": _cume_dist,
    "NTILE": _ntile,
    "LAG": _moved(-1),
    "LEAD": _moved(1),
}
