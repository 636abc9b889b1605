"""Aggregates of tumbling, hopping and cumulating windows.

Rows are aggregated into slices, windows are merged of slices when they are over. Slices are kept
here by their end first and by key second; they go to the state backend when a snapshot is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from headrace.runtime.batch import Batch
from headrace.sql.operators.base import HoldingOperator, RowOperator
from headrace.sql.operators.windows.slices import SliceAssigner, window_columns
from headrace.sql.operators.windows.specs import LocalWindowAggregateSpec, WindowAggregateSpec

_STATE = "slices"
_MOST_LOCAL = 200_000

Panes = dict[int, dict[Any, list[Any]]]


def by_pane(
    panes: list[int], keys: list[Any], rows: list[Any]
) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """Keys and rows of each pane, in their order.

    Windows come out of operators one after the other, so that rows mostly have their order already.
    """
    ends = np.array(panes)
    if (ends[1:] < ends[:-1]).any():
        order = ends.argsort(kind="stable")
        ends = ends[order]
        places = order.tolist()
        keys, rows = [keys[i] for i in places], [rows[i] for i in places]
    cuts = (np.flatnonzero(ends[1:] != ends[:-1]) + 1).tolist()
    for start, stop in pairwise((0, *cuts, len(panes))):
        if start < stop:
            yield int(ends[start]), keys[start:stop], rows[start:stop]


def _itself(key: Any, accumulator: list[Any]) -> list[Any]:
    return accumulator


class LocalWindowAggregateOperator(HoldingOperator):
    """Aggregates what one sender has; emits `(key, slice, accumulator)` when it must."""

    def __init__(self, spec: LocalWindowAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._key = itemgetter(*spec.key) if spec.key else None
        self._slices = SliceAssigner(spec.slices)
        self._add = spec.code.add.load()
        create = spec.code.create.load()
        self._create = lambda key: create()
        self._panes: Panes = {}

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)

    def process_batch(self, batch: Batch) -> None:
        rows = batch.values
        self.records_in += len(rows)
        column = self._spec.time
        if self._spec.attached:
            ends = [r[column] // 1000 for r in rows]
        else:
            ends = self._slices.slice_ends(self._slices.local_millis([r[column] for r in rows]))
        keys = [()] * len(rows) if self._key is None else list(map(self._key, rows))
        try:
            for pane, some_keys, some_rows in by_pane(ends, keys, rows):
                held = self._panes.setdefault(pane, {})
                self._add(some_keys, some_rows, held, self._create)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error
        if sum(map(len, self._panes.values())) > _MOST_LOCAL:
            self.flush()

    def process_watermark(self, timestamp: int) -> None:
        if any(self._slices.fires_at(p) <= timestamp for p in self._panes):
            self.flush()
        super().process_watermark(timestamp)

    def flush(self) -> None:
        rows = [(k, pane, a) for pane, held in self._panes.items() for k, a in held.items()]
        self._panes = {}
        self.emit_rows(rows)


class WindowAggregateOperator(RowOperator):
    """Emits a row for each key of a window when the watermark, or the clock, passes its end."""

    def __init__(self, spec: WindowAggregateSpec) -> None:
        super().__init__()
        self._spec = spec
        self._slices = SliceAssigner(spec.slices)
        self._add = spec.code.add.load()
        self._create = spec.code.create.load()
        self._merge_all = spec.code.merge_all.load()
        self._rows = spec.code.rows.load()
        # Without merging, each row goes into every window that it is in.
        self._shared = spec.code.mergeable or spec.slices.kind == "TUMBLE"
        self._panes: Panes = {}
        self._saved: dict[int, set[Any]] = {}
        self._fired_until: int | None = None
        self._late = 0

    def open(self) -> None:
        self.open_functions(self._spec.code.functions)
        backend = self.context.backend
        assert backend is not None
        self._state = self.value_state(_STATE, namespaced=True)
        for key, pane in backend.keys_and_namespaces(_STATE):
            self.cell.key = (key, pane)
            self._panes.setdefault(pane, {})[key] = self._state.value()
            self._saved.setdefault(pane, set()).add(key)
        self.forget_key()
        counter = self.context.metrics
        self._late_counter = counter.counter("numLateRecordsDropped") if counter else None

    # Rows.

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        assert batch.keys is not None
        try:
            if self._spec.merges:
                self._take_accumulators(batch.values)
            else:
                self._take_rows(batch)
        except Exception as error:
            raise self.failed(error, where="aggregates") from error

    def _pane_of_rows(self, rows: list[Any]) -> list[int]:
        spec = self._spec
        if spec.attached:
            return [r[spec.time] // 1000 for r in rows]
        if spec.event_time:
            millis = self._slices.local_millis([r[spec.time] for r in rows])
        else:
            return list(repeat(self._current(), len(rows)))
        return self._slices.slice_ends(millis)

    def _take_rows(self, batch: Batch) -> None:
        rows, keys = batch.values, batch.keys
        assert keys is not None
        create = self._create
        for pane, some_keys, some_rows in by_pane(self._pane_of_rows(rows), keys, rows):
            targets = self._targets(pane)
            if not targets:
                self._count_late(len(some_rows))
                continue
            for target in targets:
                held = self._panes.setdefault(target, {})
                self._add(some_keys, some_rows, held, lambda key: create())

    def _targets(self, pane: int) -> list[int]:
        """Panes that rows of a slice go to; none if they are late."""
        if self._spec.attached:
            return [pane] if not self._is_over(pane) else []
        windows = self._slices.windows_of(pane)
        if self._shared:
            return [] if self._is_over(windows[-1]) else [pane]
        return [w for w in windows if not self._is_over(w)]

    def _take_accumulators(self, values: list[Any]) -> None:
        if not self._spec.event_time:
            self._merge_all(self._panes.setdefault(self._current(), {}), values, _itself)
            return
        by_pane: defaultdict[int, list[Any]] = defaultdict(list)
        for key, pane, other in values:
            by_pane[pane].append((key, other))
        for pane, pairs in by_pane.items():
            if self._is_over(self._last_window(pane)):
                self._count_late(sum(other[0] for _, other in pairs))
                continue
            self._merge_all(self._panes.setdefault(pane, {}), pairs, _itself)

    def _current(self) -> int:
        """The slice of this moment."""
        return self._slices.slice_ends(self._slices.local_millis([self.context.clock() * 1000]))[0]

    def _is_over(self, window_end: int) -> bool:
        if not self._spec.event_time:
            return False
        return self._slices.fires_at(window_end) <= self.watermark

    def _count_late(self, count: int) -> None:
        self._late += count
        if self._late_counter is not None:
            self._late_counter.inc(count)

    # Firing.

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        before, self.watermark = self.watermark, timestamp
        if self._spec.event_time:
            self._fire(before, timestamp)
        self.output.watermark(timestamp)

    def process_time(self, now: int) -> None:
        if not self._spec.event_time and self._panes:
            before = self._fired_until if self._fired_until is not None else -(1 << 62)
            self._fire(before, now)
            self._fired_until = now

    def wake_up_at(self) -> int | None:
        if self._spec.event_time or not self._panes:
            return None
        return min(map(self._slices.fires_at, self._due_windows(self._fired_until)))

    def _due_windows(self, before: int | None) -> list[int]:
        """Windows that have a slice and did not fire yet, in order."""
        if self._spec.attached or not self._shared:
            ends = set(self._panes)
        else:
            ends = {w for pane in self._panes for w in self._slices.windows_of(pane)}
        if before is not None:
            ends = {e for e in ends if self._slices.fires_at(e) > before}
        return sorted(ends)

    def _fire(self, before: int, until: int) -> None:
        if not self._panes:
            return
        out: list[tuple[Any, ...]] = []
        for end in self._due_windows(before):
            if self._slices.fires_at(end) > until:
                break
            self._emit(end, out)
        for pane in [p for p in self._panes if self._is_done(p, until)]:
            self._drop(pane)
        self.emit_rows(out)

    def _is_done(self, pane: int, until: int) -> bool:
        return self._slices.fires_at(self._last_window(pane)) <= until

    def _last_window(self, pane: int) -> int:
        """The last window that a pane is part of."""
        if self._shared and not self._spec.attached:
            return self._slices.last_window(pane)
        return pane

    def _emit(self, end: int, out: list[tuple[Any, ...]]) -> None:
        content = self._content(end)
        spec = self._spec
        columns = window_columns(self._slices, end, spec.properties, spec.slices.zone is not None)
        out += self._rows(content.items(), spec.keys == 1, columns)

    def _content(self, end: int) -> dict[Any, list[Any]]:
        """Accumulators of a window by key: of its slices, merged."""
        if self._spec.slices.kind == "TUMBLE" or not self._shared or self._spec.attached:
            return self._panes.get(end, {})
        # Most keys are in one slice alone, whose accumulators may be shown, but not added to.
        merged: dict[Any, list[Any]] = {}
        fresh: dict[Any, list[Any]] = {}
        create = self._create
        for pane in self._slices.slices_of(end):
            held = self._panes.get(pane, {})
            both = merged.keys() & held.keys()
            shown = [(key, merged[key]) for key in both if key not in fresh]
            self._merge_all(fresh, shown, lambda key, other: create())
            self._merge_all(fresh, [(key, held[key]) for key in both], _itself)
            merged = {**held, **merged, **fresh}
        return merged

    def _drop(self, pane: int) -> None:
        del self._panes[pane]
        for key in self._saved.pop(pane, ()):
            self.cell.key = (key, pane)
            self._state.clear()
        self.forget_key()

    # Snapshots.

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        """Write slices to the backend, whose own snapshot follows."""
        for pane, held in self._panes.items():
            for key, accumulator in held.items():
                self.cell.key = (key, pane)
                self._state.update(accumulator)
            self._saved.setdefault(pane, set()).update(held)
        self.forget_key()

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "fired_until": self._fired_until}

    def restore(self, snapshot: dict[str, Any]) -> None:
        super().restore(snapshot)
        # Windows of processing time that were emitted are not emitted again.
        self._fired_until = snapshot.get("fired_until")
