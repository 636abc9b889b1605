"""Windows of a key that merge: which are in flight, and where their content is kept.

When windows merge the content stays where one of them had it (the *state window*), so that merging
moves little. The map from window to state window is itself state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.datastream.window import MergingWindowAssigner

MergeFunction = Callable[[Any, list[Any], Any, list[Any]], None]
"""(resulting window, merged windows, state window that stays, state windows that go)"""


class MergingWindowSet:
    """The windows of one key."""

    def __init__(
        self, assigner: MergingWindowAssigner[Any, Any], mapping: dict[Any, Any] | None
    ) -> None:
        self._assigner = assigner
        self._stored = mapping or {}
        self.mapping: dict[Any, Any] = dict(self._stored)

    @property
    def changed(self) -> bool:
        """Whether it must be written back."""
        return self.mapping != self._stored

    def state_window(self, window: Any) -> Any:
        """Where the content of a window is kept; None for a window that is not in flight."""
        return self.mapping.get(window)

    def retire(self, window: Any) -> None:
        """A window is over."""
        self.mapping.pop(window, None)

    def add(self, new_window: Any, merge: MergeFunction) -> Any:
        """Add a window, merging it with those in flight; the window that it is part of now."""
        found = _Merges()
        self._assigner.merge_windows([*self.mapping, new_window], found)
        result = new_window
        merged_new = False
        for merge_result, merged in found.merges:
            if new_window in merged:
                merged.discard(new_window)
                merged_new = True
                result = merge_result
            if not merged or merged == {merge_result}:
                continue  # A window that is inside of one that was there already changes nothing.
            merged_list = [w for w in self.mapping if w in merged]
            state_windows = [self.mapping.pop(w) for w in merged_list]
            kept, others = state_windows[0], state_windows[1:]
            self.mapping[merge_result] = kept
            merge(merge_result, merged_list, kept, others)
        if not found.merges or (result == new_window and not merged_new):
            self.mapping.setdefault(result, result)
        elif result not in self.mapping:
            self.mapping[result] = result
        return result


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.merges: list[tuple[Any, set[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.merges.append((merge_result, set(to_be_merged)))
