"""Tumbling and sliding windows in event time with their usual trigger: a batch at a time.

Such windows are the same for all keys, so their content is kept by window first and by key second,
lateness is decided once for a batch, and a window fires for all keys at once with no timer for each
of them. The content is in this operator while the job runs; it goes to the state backend when a
snapshot is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress, repeat
from math import gcd
from typing import Any

from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    WindowStagger,
)
from headrace.datastream.window.assigner import missing_timestamp
from headrace.graph.specs import WindowSpec
from headrace.runtime.batch import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headrace.runtime.operators.window.base import WindowBase, none_in_window
from headrace.runtime.operators.window.contents import PANE_STATE, SLICE_STATE, WINDOW_STATE
from headrace.runtime.operators.window.slices import SlidingMerger, merge_of_slices
from headrace.runtime.ownership import own

_MOST_COPIES = 100_000


def can_be_aligned(spec: WindowSpec) -> bool:
    """Whether this operator serves the spec."""
    if spec.evictor is not None or spec.allowed_lateness_ms:
        return False
    if type(spec.trigger) is not EventTimeTrigger:
        return False
    assigner = spec.assigner
    if type(assigner) is TumblingEventTimeWindows:
        return bool(assigner.window_stagger is WindowStagger.ALIGNED)
    return type(assigner) is SlidingEventTimeWindows and assigner.slide <= assigner.size


class AlignedWindowOperator(WindowBase):
    """Keeps panes: slices where those can be merged into windows, else a pane is a window.

    A pane is a dict from key to content. None as content stands for none, as after `clear` of
    state.
    """

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        assigner = spec.assigner
        self._size: int = assigner.size
        self._slide: int = getattr(assigner, "slide", assigner.size)
        self._offset: int = assigner.offset
        self._merger: SlidingMerger | None = None
        self._step = self._slide
        merge = merge_of_slices(spec)
        if merge is not None:
            self._step = gcd(self._size, self._slide)
            self._merger = SlidingMerger(merge, self._size, self._step)
        self._overlapping = merge is None and self._slide < self._size
        self._panes: dict[int, dict[Any, Any]] = {}
        # What the state backend has: panes by start, and keys of them that have changed since.
        self._saved: dict[int, set[Any]] = {}
        self._touched: dict[int, set[Any]] = {}
        self._state: Any
        self._fill: Callable[[list[Any], list[Any], list[int]], None] = self._filler()

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None
        state_name, other = PANE_STATE, SLICE_STATE
        if self._merger is not None:
            state_name, other = SLICE_STATE, PANE_STATE
        self.refuse_windows_of(WINDOW_STATE, other)
        self._state = backend.get_or_create(
            ValueStateDescriptor(state_name), self.window_cell, namespaced=True
        )
        for key, start in backend.keys_and_namespaces(state_name):
            self.window_cell.key = (key, start)
            self._panes.setdefault(start, {})[key] = self._state.value()
            self._saved.setdefault(start, set()).add(key)

    # Records.

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        stamps: Any = batch.timestamps
        step, offset = self._step, self._offset
        try:
            starts = [t - (t - offset) % step for t in stamps]
            earliest = min(starts)
        except TypeError:
            raise self._without_timestamp(batch) from None
        if earliest <= MIN_TIMESTAMP and MIN_TIMESTAMP in stamps:
            raise self._without_timestamp(batch)
        if self._is_late(earliest):
            batch, starts = self._without_late(batch, starts)
        if starts:
            assert batch.keys is not None
            if self._overlapping:
                self._fill_overlapping(batch)
            else:
                self._fill(batch.keys, batch.values, starts)
        if self.element_context.side:
            self.flush()

    def _without_timestamp(self, batch: Batch) -> Exception:
        stamps: Any = batch.timestamps or repeat(None)
        error = missing_timestamp(self.spec.assigner)
        for value, stamp in zip(batch.values, stamps, strict=False):
            if stamp is None or stamp <= MIN_TIMESTAMP:
                return self.failed(error, value, where="window")
        return self.failed(error, where="window")

    def _is_late(self, pane_start: int) -> bool:
        """Whether the last window of a pane is over."""
        last_window = pane_start - (pane_start - self._offset) % self._slide
        return last_window + self._size - 1 <= self.watermark

    def _without_late(self, batch: Batch, starts: list[int]) -> tuple[Batch, list[int]]:
        keep = [not self._is_late(s) for s in starts]
        stamps: Any = batch.timestamps
        for kept, value, stamp in zip(keep, batch.values, stamps, strict=True):
            if not kept:
                self.late(value, stamp)
        assert batch.keys is not None
        kept_batch = Batch(
            list(compress(batch.values, keep)),
            list(compress(stamps, keep)),
            list(compress(batch.keys, keep)),
        )
        return kept_batch, list(compress(starts, keep))

    def _fill_overlapping(self, batch: Batch) -> None:
        """Add each record to all its windows that are not over: one record after the other."""
        size, slide, offset, over = self._size, self._slide, self._offset, self.watermark + 1
        keys: list[Any] = []
        values: list[Any] = []
        starts: list[int] = []
        assert batch.keys is not None
        for key, value, t in zip(batch.keys, batch.values, batch.timestamps or (), strict=True):
            assert t is not None
            windows = range(t - (t - offset) % slide, max(t, over) - size, -slide)
            starts += windows
            keys += repeat(key, len(windows))
            # A window may change what it holds.
            other = own(value)
            if other is value:
                values += repeat(value, len(windows))
            else:
                values += [value, *(own(value) for _ in windows[1:])][: len(windows)]
            if len(starts) > _MOST_COPIES:
                self._fill(keys, values, starts)
                keys, values, starts = [], [], []
        self._fill(keys, values, starts)

    def _pane(self, start: int) -> dict[Any, Any]:
        if self._merger is not None:
            self._merger.touched(start)
        pane = self._panes.get(start)
        if pane is None:
            pane = self._panes[start] = {}
        return pane

    def _filler(self) -> Callable[[list[Any], list[Any], list[int]], None]:
        if self.spec.aggregate is not None:
            return self._fill_aggregating
        return self._fill_reducing if self.spec.reduce is not None else self._fill_listing

    def _fill_aggregating(self, keys: list[Any], values: list[Any], starts: list[int]) -> None:
        create, add = self.spec.aggregate.create_accumulator, self.spec.aggregate.add
        current, value = None, None
        try:
            for key, value, start in zip(keys, values, starts, strict=True):
                if start != current:
                    current, pane = start, self._pane(start)
                    known = pane.get
                held = known(key)
                if value is None:
                    pane[key] = None
                else:
                    pane[key] = add(value, create() if held is None else held)
        except Exception as error:
            raise self.failed(error, value, where="aggregate") from error
        self._note_touched(keys, starts)

    def _fill_reducing(self, keys: list[Any], values: list[Any], starts: list[int]) -> None:
        reduce = self.spec.reduce.reduce
        current, value = None, None
        try:
            for key, value, start in zip(keys, values, starts, strict=True):
                if start != current:
                    current, pane = start, self._pane(start)
                    known = pane.get
                held = known(key)
                pane[key] = value if held is None or value is None else reduce(held, value)
        except Exception as error:
            raise self.failed(error, value, where="reduce") from error
        self._note_touched(keys, starts)

    def _fill_listing(self, keys: list[Any], values: list[Any], starts: list[int]) -> None:
        current = None
        for key, value, start in zip(keys, values, starts, strict=True):
            if value is None:
                raise self.failed(none_in_window(), value, where="window")
            if start != current:
                current, pane = start, self._pane(start)
                known = pane.get
            held = known(key)
            if held is None:
                pane[key] = [value]
            else:
                held.append(value)
        self._note_touched(keys, starts)

    def _note_touched(self, keys: list[Any], starts: list[int]) -> None:
        """Remember what a snapshot must write again; a pane never written needs no list."""
        if not self._saved:
            return
        for start in self._saved.keys() & set(starts):
            mine = (s == start for s in starts)
            self._touched.setdefault(start, set()).update(compress(keys, mine))

    # Firing.

    def process_watermark(self, timestamp: int) -> None:
        if timestamp <= self.watermark:
            return
        before, self.watermark = self.watermark, timestamp
        self._fire_due(before)
        self.output.watermark(timestamp)

    def end_keys(self) -> None:
        self.watermark = MAX_TIMESTAMP
        self._fire_due(MIN_TIMESTAMP)
        self.watermark = MIN_TIMESTAMP

    def _fire_due(self, before: int) -> None:
        if self._panes:
            if self._merger is None:
                self._fire_windows(self.watermark)
            else:
                self._fire_slices(self._merger, before, self.watermark)

    def _fire_windows(self, watermark: int) -> None:
        size = self._size
        due = sorted(s for s in self._panes if s + size - 1 <= watermark)
        for start in due:
            self._fire_window(start, self._panes[start])
            self._drop(start)
        if due:
            self.flush()

    def _fire_slices(self, merger: SlidingMerger, before: int, watermark: int) -> None:
        """Fire the windows that end after `before`; the earlier ones have fired already."""
        size, slide = self._size, self._slide
        while self._panes:
            # The first window of the oldest slice, or the first one that has not fired.
            earliest = max(min(self._panes) + self._step - size, before + 2 - size)
            start = earliest + (self._offset - earliest) % slide
            if start + size - 1 > watermark:
                break
            try:
                content = merger.window(self._panes, start)
            except Exception as error:
                raise self.failed(error, where=f"merge for window from {start}") from error
            self._fire_window(start, content)
            before = start + size - 1
            for pane_start in [p for p in self._panes if p < start + slide]:
                self._drop(pane_start)
        if not self._panes:
            merger.reset()
        self.flush()

    def _fire_window(self, start: int, content: dict[Any, Any]) -> None:
        window = TimeWindow(start, start + self._size)
        if self.spec.function is None:
            results = self._results(content.values(), window)
            self._out += results
            self._out_stamps += repeat(window.max_timestamp(), len(results))
            return
        for key, held in content.items():
            self.cell.key = key
            self.window_cell.key = (key, window)
            if not self._incremental:
                self.fire(key, window, held, window.max_timestamp())
            elif results := self._results((held,), window):
                self.fire(key, window, results, window.max_timestamp())
            self.clear_function(key, window)

    def _results(self, contents: Iterable[Any], window: TimeWindow) -> list[Any]:
        """What comes out of reduced values or accumulators; None is nothing, as in Flink."""
        held = [c for c in contents if c is not None]
        if self.spec.aggregate is None:
            return held
        try:
            return [r for r in map(self.spec.aggregate.get_result, held) if r is not None]
        except Exception as error:
            raise self.failed(error, where=f"get_result of {window!r}") from error

    def _drop(self, start: int) -> None:
        del self._panes[start]
        self._touched.pop(start, None)
        for key in self._saved.pop(start, ()):
            self.window_cell.key = (key, start)
            self._state.clear()

    # Snapshots.

    def snapshot(self) -> dict[str, Any]:
        """Write what changed to the backend, whose own snapshot follows."""
        for start, pane in self._panes.items():
            saved = self._saved.get(start)
            touched = pane.keys() if saved is None else self._touched.get(start, ())
            for key in touched:
                self.window_cell.key = (key, start)
                self._state.update(pane[key])
            self._saved.setdefault(start, set()).update(touched)
        self._touched = {}
        return super().snapshot()
