"""The five kinds of keyed state without time-to-live, over any table that behaves like a dict.

A table maps addresses to what is stored: the value itself, a list, a dict, or an accumulator. None
and empty containers are never stored, so nothing is left behind after `clear`. What is read may be
the stored object itself: changing it in place without writing it back is not seen by checkpoints.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

from headrace.common.errors import StateError
from headrace.datastream.state import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.runtime.state.key_cell import KeyCell

__all__ = [
    "Entries",
    "KeyedState",
    "MergingKeyedState",
    "checked_elements",
    "create_state",
    "fresh_default",
]

Entries = MutableMapping[Any, Any]
"""A table; entries are removed with `pop`, since a table with a cache has no use for `del`."""
Touch = Callable[[Any], object]


class KeyedState:
    """What all kinds have: the cell that scopes them, the table, and a way to report changes."""

    __slots__ = ("_cell", "_entries", "_get", "_name", "_touch")

    def __init__(
        self, descriptor: StateDescriptor, cell: KeyCell, entries: Entries, changed: set[Any] | None
    ) -> None:
        self._name = descriptor.get_name()
        self._cell = cell
        self._entries = entries
        self._get: Callable[[Any], Any] = entries.get
        # Without tracking: the cheapest built-in call with one argument and no effect.
        self._touch: Touch = id if changed is None else changed.add

    def clear(self) -> None:
        """Removes the entry of the current key."""
        key = self._cell.key
        if key in self._entries:
            self._entries.pop(key)
            self._touch(key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class PlainValueState(KeyedState, ValueState[Any]):
    """Value state without default value and change tracking."""

    __slots__ = ("_default",)

    def __init__(
        self,
        descriptor: ValueStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed)
        self._default = fresh_default(descriptor.default_value)

    def value(self) -> Any:
        return self._get(self._cell.key)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._entries[self._cell.key] = value


class TrackedValueState(PlainValueState):
    """Value state with change tracking."""

    __slots__ = ("_changed",)

    def __init__(
        self, descriptor: ValueStateDescriptor, cell: KeyCell, entries: Entries, changed: set[Any]
    ) -> None:
        super().__init__(descriptor, cell, entries, changed)
        self._changed = changed

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            key = self._cell.key
            self._entries[key] = value
            # A look first is cheaper than a method call for keys that come again and again.
            if key not in self._changed:
                self._changed.add(key)


class DefaultingValueState(PlainValueState):
    """Value state with a default value."""

    __slots__ = ()

    def value(self) -> Any:
        value = self._get(self._cell.key)
        return self._default() if value is None else value


class TrackedDefaultingValueState(TrackedValueState):
    """Value state with a default value and change tracking."""

    __slots__ = ()

    def value(self) -> Any:
        value = self._get(self._cell.key)
        return self._default() if value is None else value


def fresh_default(default: Any) -> Callable[[], Any]:
    """A function that gives the default value, or a copy of it if it is mutable."""
    if copy.deepcopy(default) is default:
        return lambda: default
    return lambda: copy.deepcopy(default)


class MergingKeyedState(KeyedState):
    """Kinds whose entries can be merged when windows merge."""

    __slots__ = ()

    def merge_namespaces(self, key: Any, target: Any, sources: Iterable[Any]) -> None:
        """Moves what `key` has in the namespaces `sources` into the namespace `target`.

        The target's own content comes first, the sources follow in their order.
        """
        entries, goal = self._entries, (key, target)
        merged = before = entries.get(goal)
        moved = False
        for source in sources:
            address = (key, source)
            if address == goal or address not in entries:
                continue
            stored = entries.pop(address)
            self._touch(address)
            merged = stored if merged is None else self._merged(merged, stored)
            moved = True
        if not moved:
            return
        if merged is not None:
            entries[goal] = merged
        elif before is not None:
            entries.pop(goal)
        self._touch(goal)

    def _merged(self, one: Any, other: Any) -> Any:
        raise NotImplementedError


class PlainListState(MergingKeyedState, ListState[Any]):
    """List state."""

    __slots__ = ()

    def get(self) -> list[Any]:
        stored = self._get(self._cell.key)
        # A copy: users add to the state, or update it with this very list, while they iterate.
        return [] if stored is None else stored[:]

    def add(self, value: Any) -> None:
        if value is None:
            checked_elements(self._name, (None,))
        key = self._cell.key
        stored = self._get(key)
        if stored is None:
            self._entries[key] = [value]
        else:
            stored.append(value)
        self._touch(key)

    def add_all(self, values: Iterable[Any]) -> None:
        added = checked_elements(self._name, values)
        key = self._cell.key
        stored = self._get(key)
        if not added:
            return
        if stored is None:
            self._entries[key] = added
        else:
            stored.extend(added)
        self._touch(key)

    def update(self, values: Iterable[Any]) -> None:
        elements = checked_elements(self._name, values)
        if not elements:
            self.clear()
            return
        key = self._cell.key
        self._entries[key] = elements
        self._touch(key)

    def _merged(self, one: list[Any], other: list[Any]) -> list[Any]:
        one.extend(other)
        return one


def checked_elements(name: str, values: Iterable[Any] | None) -> list[Any]:
    """A new list of elements for the list state `name`; None is not an element."""
    elements = None if values is None else list(values)
    if elements is None or any(element is None for element in elements):
        what = "None instead of a list" if elements is None else "None as an element"
        raise StateError(
            f"list state {name!r} was given {what}; leave None out, or call clear() to empty the "
            "state"
        )
    return elements


class PlainMapState(KeyedState, MapState[Any, Any]):
    """Map state."""

    __slots__ = ()

    def get(self, key: Any) -> Any:
        stored = self._get(self._cell.key)
        return None if stored is None else stored.get(key)

    def put(self, key: Any, value: Any) -> None:
        address = self._cell.key
        stored = self._get(address)
        if stored is None:
            self._entries[address] = {key: value}
        else:
            stored[key] = value
        self._touch(address)

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        added = dict(dict_value)
        address = self._cell.key
        stored = self._get(address)
        if not added:
            return
        if stored is None:
            self._entries[address] = added
        else:
            stored.update(added)
        self._touch(address)

    def remove(self, key: Any) -> None:
        address = self._cell.key
        stored = self._get(address)
        if stored is None or key not in stored:
            return
        del stored[key]
        if not stored:
            self._entries.pop(address)
        self._touch(address)

    def contains(self, key: Any) -> bool:
        stored = self._get(self._cell.key)
        return stored is not None and key in stored

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._stored().items())

    def keys(self) -> Iterator[Any]:
        return iter(self._stored())

    def values(self) -> Iterator[Any]:
        return iter(self._stored().values())

    def is_empty(self) -> bool:
        return self._get(self._cell.key) is None

    def _stored(self) -> dict[Any, Any]:
        stored: dict[Any, Any] | None = self._get(self._cell.key)
        return {} if stored is None else stored

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains
    __iter__ = keys


class PlainReducingState(MergingKeyedState, ReducingState[Any]):
    """Reducing state; adding None clears it, as does a reduce function that returns None."""

    __slots__ = ("_reduce",)

    def __init__(
        self,
        descriptor: ReducingStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed)
        self._reduce = descriptor.get_reduce_function().reduce

    def get(self) -> Any:
        return self._get(self._cell.key)

    def add(self, value: Any) -> None:
        key = self._cell.key
        stored = self._get(key)
        if stored is not None and value is not None:
            value = self._reduce(stored, value)
        if value is None:
            self.clear()
        else:
            self._entries[key] = value
            self._touch(key)

    def _merged(self, one: Any, other: Any) -> Any:
        return self._reduce(one, other)


class PlainAggregatingState(MergingKeyedState, AggregatingState[Any, Any]):
    """Aggregating state; adding None clears it."""

    __slots__ = ("_accumulate", "_create", "_merge", "_result")

    def __init__(
        self,
        descriptor: AggregatingStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed)
        function = descriptor.get_agg_function()
        self._create = function.create_accumulator
        self._accumulate = function.add
        self._merge = function.merge
        self._result = function.get_result

    def get(self) -> Any:
        stored = self._get(self._cell.key)
        return None if stored is None else self._result(stored)

    def add(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._cell.key
        stored = self._get(key)
        accumulator = self._accumulate(value, self._create() if stored is None else stored)
        if accumulator is None:
            self.clear()
        else:
            self._entries[key] = accumulator
            self._touch(key)

    def _merged(self, one: Any, other: Any) -> Any:
        return self._merge(one, other)


def create_state(
    descriptor: StateDescriptor, cell: KeyCell, entries: Entries, changed: set[Any] | None
) -> Any:
    """The state object for a descriptor without time-to-live."""
    if isinstance(descriptor, ValueStateDescriptor):
        return _create_value_state(descriptor, cell, entries, changed)
    if isinstance(descriptor, ListStateDescriptor):
        return PlainListState(descriptor, cell, entries, changed)
    if isinstance(descriptor, MapStateDescriptor):
        return PlainMapState(descriptor, cell, entries, changed)
    if isinstance(descriptor, ReducingStateDescriptor):
        return PlainReducingState(descriptor, cell, entries, changed)
    assert isinstance(descriptor, AggregatingStateDescriptor)
    return PlainAggregatingState(descriptor, cell, entries, changed)


def _create_value_state(
    descriptor: ValueStateDescriptor, cell: KeyCell, entries: Entries, changed: set[Any] | None
) -> PlainValueState:
    has_default = descriptor.default_value is not None
    if changed is None:
        plain = DefaultingValueState if has_default else PlainValueState
        return plain(descriptor, cell, entries, None)
    tracked = TrackedDefaultingValueState if has_default else TrackedValueState
    return tracked(descriptor, cell, entries, changed)
