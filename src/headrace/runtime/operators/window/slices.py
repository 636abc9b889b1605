"""Sliding windows without computing each record once for each window.

Records are aggregated once, into slices. A window is the merge of its slices, and of that most is
shared with the window before it: aggregates of the older slices (*suffixes*) are computed once for
as many slides as a window has, and the newer slices (*back*) are merged in one by one. So a slide
costs a few merges for each key, however long the window is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from headrace.datastream.functions import AggregateFunction
from headrace.datastream.window import SlidingEventTimeWindows
from headrace.graph.specs import WindowSpec
from headrace.runtime.ownership import copied

Panes = dict[int, dict[Any, Any]]
Merge = Callable[[Any, Any], Any]

_MOST_SLICES_PER_SLIDE = 16


def merge_of_slices(spec: WindowSpec) -> Merge | None:
    """How slices of the windows are merged; None if windows have to be filled one by one.

    An aggregate function says with merge() how to combine accumulators. A reduce function says no
    such thing: `lambda a, b: (a[0], a[1] + 1)` counts records as long as they come one by one. So
    it is used on slices only if it says that it is `associative`, as sum() and min() do.
    """
    assigner = spec.assigner
    if type(assigner) is not SlidingEventTimeWindows or assigner.slide >= assigner.size:
        return None
    if assigner.slide // gcd(assigner.size, assigner.slide) > _MOST_SLICES_PER_SLIDE:
        return None
    if getattr(spec.reduce, "associative", False):
        reduce: Merge = spec.reduce.reduce
        return reduce
    return spec.aggregate.merge if _can_merge(spec.aggregate) else None


def _can_merge(aggregate: AggregateFunction[Any, Any, Any] | None) -> bool:
    """Whether merge() does something: many leave it empty, as only sessions call it in Flink."""
    if aggregate is None:
        return False
    try:
        merged = aggregate.merge(aggregate.create_accumulator(), aggregate.create_accumulator())
    except Exception:  # noqa: BLE001 - many refuse to merge, each its own way
        return False
    return merged is not None


class SlidingMerger:
    """Merges the slices of one window after the other, oldest window first.

    merge() gets the older slices first, and copies of what is kept: it may use up what it is given.
    """

    def __init__(self, merge: Merge, size_ms: int, slice_ms: int) -> None:
        self._merge = merge
        self._size_ms = size_ms
        self._slice_ms = slice_ms
        self._suffixes: dict[int, dict[Any, Any]] = {}
        self._back: dict[Any, Any] = {}
        self._back_end = 0

    def touched(self, start: int) -> None:
        """A slice got a record: what was made of it before does not count any more."""
        if self._suffixes and start < self._back_end:
            self.reset()

    def reset(self) -> None:
        """Forget what was merged."""
        self._suffixes, self._back = {}, {}

    def window(self, panes: Panes, start: int) -> dict[Any, Any]:
        """Aggregates of the window from `start` on, by key; the caller may keep and change them."""
        end = start + self._size_ms
        if start not in self._suffixes:
            self._flip(panes, start, end)
        back = self._back
        for pane_start in range(self._back_end, end, self._slice_ms):
            self._merge_into(back, panes.get(pane_start))
        self._back_end = end
        suffix, merge = self._suffixes[start], self._merge
        result = {}
        for key, older in suffix.items():
            newer = back.get(key)
            result[key] = copied(older) if newer is None else merge(copied(older), copied(newer))
        for key, newer in back.items():
            if key not in suffix:
                result[key] = copied(newer)
        return result

    def _flip(self, panes: Panes, start: int, end: int) -> None:
        """Compute the suffixes of all slices of a window; the next ones start from nothing."""
        suffix: dict[Any, Any] = {}
        suffixes = {end: suffix}
        merge = self._merge
        for pane_start in range(end - self._slice_ms, start - 1, -self._slice_ms):
            pane = panes.get(pane_start)
            if pane:
                suffix = dict(suffix)
                for key, value in pane.items():
                    newer = suffix.get(key)
                    if value is not None:
                        suffix[key] = (
                            copied(value) if newer is None else merge(copied(value), copied(newer))
                        )
            suffixes[pane_start] = suffix
        self._suffixes, self._back, self._back_end = suffixes, {}, end

    def _merge_into(self, back: dict[Any, Any], pane: dict[Any, Any] | None) -> None:
        merge = self._merge
        for key, value in (pane or {}).items():
            older = back.get(key)
            if value is not None:
                back[key] = copied(value) if older is None else merge(older, copied(value))
