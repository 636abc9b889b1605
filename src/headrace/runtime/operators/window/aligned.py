"""Tumbling and sliding windows in event time with their usual trigger: a batch at a time.

Such windows are the same for all keys, so their content is kept by window first and by key second, lateness
is decided once for a batch, and a window fires for all keys at once with no timer for each of them.
The content is in this operator while the job runs; it goes to the state backend when a snapshot is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, repeat
from math import gcd
from typing import Any

from headrace.datastream.functions import AggregateFunction
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
from headrace.runtime.batch import Batch
from headrace.runtime.operators.window.operator import WindowBase
from headrace.runtime.operators.window.slices import SlidingMerger

_STATE = "window-panes"
_MOST_SLICES_PER_SLIDE = 16


def can_be_aligned(spec: WindowSpec) -> bool:
    """Whether this operator serves the spec."""
    if (
        spec.evictor is not None
        or spec.allowed_lateness_ms
        or type(spec.trigger) is not EventTimeTrigger
    ):
        return False
    assigner = spec.assigner
    if type(assigner) is TumblingEventTimeWindows:
        return bool(assigner.window_stagger is WindowStagger.ALIGNED)
    if type(assigner) is not SlidingEventTimeWindows:
        return False
    slice_ms = gcd(assigner.size, assigner.slide)
    return (
        assigner.slide <= assigner.size
        and assigner.slide // slice_ms <= _MOST_SLICES_PER_SLIDE
        and (spec.reduce is not None or _can_merge(spec.aggregate))
    )


def _can_merge(aggregate: AggregateFunction[Any, Any, Any] | None) -> bool:
    """Whether merge() does something: many programs leave it empty, because only sessions called it."""
    if aggregate is None:
        return False
    try:
        merged = aggregate.merge(aggregate.create_accumulator(), aggregate.create_accumulator())
    except Exception:
        return False
    return merged is not None


class AlignedWindowOperator(WindowBase):
    """Keeps panes: a window each for tumbling windows, a slice each for sliding ones."""

    def __init__(self, spec: WindowSpec) -> None:
        super().__init__(spec)
        assigner = spec.assigner
        self._assigner = assigner
        self._size: int = assigner.size
        self._slide: int = getattr(assigner, "slide", assigner.size)
        self._offset: int = assigner.offset
        self._pane_ms = gcd(self._size, self._slide)
        self._merger: SlidingMerger | None = None
        if self._slide != self._size:
            merge = spec.reduce.reduce if spec.reduce is not None else spec.aggregate.merge
            self._merger = SlidingMerger(merge, self._size, self._pane_ms)
        self._panes: dict[int, dict[Any, Any]] = {}
        self._touched: dict[int, set[Any]] = {}
        self._saved: dict[int, set[Any]] = {}
        self._state: Any
        self._fill: Callable[[Batch, list[int]], None] = self._filler()

    def open(self) -> None:
        super().open()
        backend = self.context.backend
        assert backend is not None
        self._state = backend.get_or_create(
            ValueStateDescriptor(_STATE), self.window_cell, namespaced=True
        )
        for key, start in backend.keys_and_namespaces(_STATE):
            self.window_cell.key = (key, start)
            self._panes.setdefault(start, {})[key] = self._state.value()
            self._saved.setdefault(start, set()).add(key)

    # Records.

    def process_batch(self, batch: Batch) -> None:
        self.records_in += len(batch.values)
        stamps: Any = batch.timestamps
        if stamps is None or None in stamps:
            where = 0 if stamps is None else list(stamps).index(None)
            raise self.failed(missing_timestamp(self._assigner), batch.values[where], where="window")
        width, offset = self._pane_ms, self._offset
        starts = [t - (t - offset) % width for t in stamps]
        if self._is_late(min(starts)):
            batch, starts = self._without_late(batch, starts)
        if starts:
            self._fill(batch, starts)
        if self.element_context.side:
            self.flush()

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

    def _pane(self, start: int) -> dict[Any, Any]:
        if self._merger is not None:
            self._merger.touched(start)
        pane = self._panes.get(start)
        if pane is None:
            pane = self._panes[start] = {}
        return pane

    def _filler(self) -> Callable[[Batch, list[int]], None]:
        if self.spec.aggregate is not None:
            return self._fill_aggregating
        return self._fill_reducing if self.spec.reduce is not None else self._fill_listing

    def _fill_aggregating(self, batch: Batch, starts: list[int]) -> None:
        create, add = self.spec.aggregate.create_accumulator, self.spec.aggregate.add
        current, value = None, None
        assert batch.keys is not None
        try:
            for key, value, start in zip(batch.keys, batch.values, starts, strict=True):
                if start != current:
                    current, pane = start, self._pane(start)
                    known = pane.get
                accumulator = known(key)
                pane[key] = add(value, create() if accumulator is None else accumulator)
        except Exception as error:
            raise self.failed(error, value, where="aggregate") from error
        self._note_touched(batch.keys, starts)

    def _fill_reducing(self, batch: Batch, starts: list[int]) -> None:
        reduce = self.spec.reduce.reduce
        current, value = None, None
        assert batch.keys is not None
        try:
            for key, value, start in zip(batch.keys, batch.values, starts, strict=True):
                if start != current:
                    current, pane = start, self._pane(start)
                pane[key] = reduce(pane[key], value) if key in pane else value
        except Exception as error:
            raise self.failed(error, value, where="reduce") from error
        self._note_touched(batch.keys, starts)

    def _fill_listing(self, batch: Batch, starts: list[int]) -> None:
        current = None
        assert batch.keys is not None
        for key, value, start in zip(batch.keys, batch.values, starts, strict=True):
            if start != current:
                current, pane = start, self._pane(start)
            if key in pane:
                pane[key].append(value)
            else:
                pane[key] = [value]
        self._note_touched(batch.keys, starts)

    def _note_touched(self, keys: list[Any], starts: list[int]) -> None:
        """Remember what a snapshot must write again; a pane that was never written needs no list."""
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
        if self._panes:
            if self._merger is None:
                self._fire_tumbling(timestamp)
            else:
                self._fire_sliding(self._merger, before, timestamp)
        self.output.watermark(timestamp)

    def _fire_tumbling(self, watermark: int) -> None:
        size = self._size
        due = sorted(s for s in self._panes if s + size - 1 <= watermark)
        for start in due:
            self._fire_window(start, self._panes[start])
            self._drop(start)
        if due:
            self.flush()

    def _fire_sliding(self, merger: SlidingMerger, before: int, watermark: int) -> None:
        size, slide, offset = self._size, self._slide, self._offset
        while self._panes:
            oldest = min(self._panes)
            # The first window that holds the oldest pane and was not fired before.
            end = oldest - (oldest - offset) % self._pane_ms + self._pane_ms
            end += -(end - offset - size) % slide
            if before + 1 >= end:
                end += (before + 1 - end) // slide * slide
                end += slide if end <= before + 1 else 0
            if end - 1 > watermark:
                break
            start = end - size
            content = merger.window(self._panes, start)
            if content:
                self._fire_window(start, content)
            before = end - 1
            for pane_start in [p for p in self._panes if p < start + slide]:
                self._drop(pane_start)
        if not self._panes:
            merger.reset()
        self.flush()

    def _fire_window(self, start: int, content: dict[Any, Any]) -> None:
        end = start + self._size
        result = self.spec.aggregate.get_result if self.spec.aggregate is not None else None
        if self.spec.function is None:
            try:
                self._out.extend(content.values() if result is None else map(result, content.values()))
            except Exception as error:
                raise self.failed(error, where=f"get_result of window ending at {end}") from error
            self._out_stamps.extend(repeat(end - 1, len(content)))
            return
        window = TimeWindow(start, end)
        listing = result is None and self.spec.reduce is None
        for key, held in content.items():
            self.cell.key = key
            self.window_cell.key = (key, window)
            self.fire(key, window, held if listing else (held if result is None else result(held),))
            self._clear_function(window)

    def _clear_function(self, window: TimeWindow) -> None:
        clear = getattr(self.function, "clear", None)
        if clear is not None:
            self.window_context.current = window
            clear(self.window_context)

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


