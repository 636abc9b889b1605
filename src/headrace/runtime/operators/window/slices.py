"""Sliding windows without computing each record once for each window.

Records are aggregated once, into slices. A window is the merge of its slices, and of that most is shared with
the window before it: aggregates of the older slices (*suffixes*) are computed once for as many slides as a
window has, and the newer slices (*back*) are merged in one by one. So a slide costs a few merges for
each key, however long the window is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Panes = dict[int, dict[Any, Any]]
Merge = Callable[[Any, Any], Any]

_IMMUTABLE = (int, float, str, bytes, bool, tuple, frozenset, type(None), complex)


class SlidingMerger:
    """Merges the slices of one window after the other, oldest window first."""

    def __init__(self, merge: Merge, size_ms: int, slice_ms: int) -> None:
        self._merge = merge
        self._size_ms = size_ms
        self._slice_ms = slice_ms
        self._suffixes: dict[int, dict[Any, Any]] = {}
        self._back: dict[Any, Any] = {}
        self._back_end: int | None = None

    def touched(self, start: int) -> None:
        """A slice got a record: what was made of it before does not count any more."""
        if self._back_end is not None and start < self._back_end:
            self.reset()

    def reset(self) -> None:
        """Forget what was merged."""
        self._suffixes, self._back, self._back_end = {}, {}, None

    def window(self, panes: Panes, start: int) -> dict[Any, Any]:
        """Aggregates of the window from `start` on, by key."""
        end = start + self._size_ms
        if self._back_end is None or start not in self._suffixes:
            self._flip(panes, start, end)
        back = self._back
        for pane_start in range(self._back_end or end, end, self._slice_ms):
            self._merge_into(back, panes.get(pane_start))
        self._back_end = end
        suffix = self._suffixes[start]
        if not back:
            return suffix
        if not suffix:
            return dict(back)
        result = {k: v for k, v in suffix.items() if k not in back}
        merge = self._merge
        for key, value in back.items():
            older = suffix.get(key)
            result[key] = value if older is None else merge(_own(older), _own(value))
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
                    suffix[key] = _own(value) if newer is None else merge(_own(value), _own(newer))
            suffixes[pane_start] = suffix
        self._suffixes, self._back, self._back_end = suffixes, {}, end

    def _merge_into(self, back: dict[Any, Any], pane: dict[Any, Any] | None) -> None:
        merge = self._merge
        for key, value in (pane or {}).items():
            older = back.get(key)
            back[key] = _own(value) if older is None else merge(older, _own(value))


def _own(accumulator: Any) -> Any:
    """A copy, unless nobody can change it: merge() may use up what it is given."""
    return accumulator if type(accumulator) in _IMMUTABLE else copy.deepcopy(accumulator)
