"""The five kinds of keyed state with time-to-live. See `ttl_cleanup` for what their tables store.

An expired value is removed by the first read that meets it, which returns it one last time when
the visibility is ReturnExpiredIfNotCleanedUp. List elements and map entries expire one by one.
Adding to a reducing or aggregating state that has expired starts anew, whatever the visibility.

Clean-up strategies: *full snapshot* leaves expired entries out of full snapshots; *incremental*
checks some entries on each access (the default in the background) and, if asked for, for every
record. The *RocksDB compaction filter* has nothing to filter in a dict, and cannot be reached from
Python in RocksDB: with that strategy alone, a table of either backend is cleaned incrementally,
unless clean-up in the background is disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

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
from headrace.runtime.state.declaration import TtlPolicy
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.state.kinds import (
    Entries,
    KeyedState,
    MergingKeyedState,
    checked_elements,
    fresh_default,
)
from headrace.runtime.state.ttl_cleanup import Stamped

__all__ = ["Aging", "create_ttl_state"]


class Aging:
    """How the entries of one table grow old; shared by the state objects over it."""

    __slots__ = ("clock", "on_access", "refresh_on_read", "return_expired", "ttl_ms")

    def __init__(
        self, policy: TtlPolicy, clock: Callable[[], int], on_access: Callable[[], object]
    ) -> None:
        self.ttl_ms = policy.ttl_ms
        self.refresh_on_read = policy.refresh_on_read
        self.return_expired = policy.return_expired
        self.clock = clock
        self.on_access = on_access


class _TtlState(KeyedState):
    __slots__ = ("_aging",)

    def __init__(
        self,
        descriptor: StateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
        aging: Aging,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed)
        self._aging = aging

    def _access(self) -> tuple[Any, Any]:
        """The address and what is stored there, after the clean-up that each access brings."""
        self._aging.on_access()
        key = self._cell.key
        return key, self._get(key)

    def _store(self, key: Any, stored: Any) -> None:
        """Replaces what is stored; an empty container or None removes it."""
        if stored:
            self._entries[key] = stored
        else:
            self._entries.pop(key)
        self._touch(key)

    def _read(self) -> Any:
        """The visible value of an entry that is a single pair."""
        key, stored = self._access()
        if stored is None:
            return None
        value, pair = self._look(stored)
        if pair is not stored:
            self._store(key, pair)
        return value

    def _write(self, key: Any, value: Any) -> None:
        self._store(key, (value, self._aging.clock()))

    def _look(self, pair: Stamped) -> tuple[Any, Stamped | None]:
        """What a reader sees of a pair (None: nothing), and what remains stored."""
        aging = self._aging
        now = aging.clock()
        if pair[1] + aging.ttl_ms <= now:
            return pair[0] if aging.return_expired else None, None
        if aging.refresh_on_read and pair[1] != now:
            return pair[0], (pair[0], now)
        return pair[0], pair

    def _unexpired(self, stored: Stamped | None) -> Any:
        if stored is None or stored[1] + self._aging.ttl_ms <= self._aging.clock():
            return None
        return stored[0]


class TtlValueState(_TtlState, ValueState[Any]):
    """Value state."""

    __slots__ = ("_default",)

    def __init__(
        self,
        descriptor: ValueStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
        aging: Aging,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed, aging)
        self._default = fresh_default(descriptor.default_value)

    def value(self) -> Any:
        value = self._read()
        return self._default() if value is None else value

    def update(self, value: Any) -> None:
        self._aging.on_access()
        if value is None:
            self.clear()
        else:
            self._write(self._cell.key, value)


class TtlListState(_TtlState, MergingKeyedState, ListState[Any]):
    """List state; each element has its own age."""

    __slots__ = ()

    def get(self) -> list[Any]:
        key, stored = self._access()
        if stored is None:
            return []
        aging = self._aging
        now = aging.clock()
        horizon = now - aging.ttl_ms
        kept = [pair for pair in stored if pair[1] > horizon]
        shown = stored if aging.return_expired else kept
        if aging.refresh_on_read and any(pair[1] != now for pair in kept):
            self._store(key, [(value, now) for value, _ in kept])
        elif len(kept) < len(stored):
            self._store(key, kept)
        return [value for value, _ in shown]

    def add(self, value: Any) -> None:
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        added = self._stamped(values)
        key, stored = self._access()
        if added:
            self._store(key, added if stored is None else stored + added)

    def update(self, values: Iterable[Any]) -> None:
        elements = self._stamped(values)
        key, stored = self._access()
        if elements or stored is not None:
            self._store(key, elements)

    def _stamped(self, values: Iterable[Any]) -> list[Stamped]:
        now = self._aging.clock()
        return [(value, now) for value in checked_elements(self._name, values)]

    def _merged(self, one: list[Stamped], other: list[Stamped]) -> list[Stamped]:
        return one + other


class TtlMapState(_TtlState, MapState[Any, Any]):
    """Map state; each entry has its own age."""

    __slots__ = ()

    def get(self, key: Any) -> Any:
        found = self._find(key)
        return None if found is None else found[0]

    def contains(self, key: Any) -> bool:
        return self._find(key) is not None

    def put(self, key: Any, value: Any) -> None:
        self.put_all({key: value})

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        now = self._aging.clock()
        added = {key: (value, now) for key, value in dict(dict_value).items()}
        address, stored = self._access()
        if not added:
            return
        if stored is None:
            stored = added
        else:
            stored.update(added)
        self._store(address, stored)

    def remove(self, key: Any) -> None:
        address, stored = self._access()
        if stored is not None and key in stored:
            del stored[key]
            self._store(address, stored)

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._visible().items())

    def keys(self) -> Iterator[Any]:
        return iter(self._visible())

    def values(self) -> Iterator[Any]:
        return iter(self._visible().values())

    def is_empty(self) -> bool:
        _, stored = self._access()
        if stored is None:
            return True
        aging = self._aging
        horizon = aging.clock() - aging.ttl_ms
        return not aging.return_expired and all(pair[1] <= horizon for pair in stored.values())

    def take_out(self) -> dict[Any, Stamped]:
        """All entries with their ages, which are not here any more."""
        address, stored = self._access()
        if stored is None:
            return {}
        self._entries.pop(address)
        self._touch(address)
        found: dict[Any, Stamped] = stored
        return found

    def put_in(self, entries: dict[Any, Stamped]) -> None:
        """Adds what was taken out of another state, or of another key."""
        address, stored = self._access()
        if entries:
            self._store(address, entries if stored is None else {**stored, **entries})

    def _find(self, key: Any) -> tuple[Any] | None:
        """The visible value of one entry, in a tuple since it may be None."""
        address, stored = self._access()
        pair = None if stored is None else stored.get(key)
        if pair is None:
            return None
        value, kept = self._look(pair)
        if kept is pair:
            return (value,)
        if kept is not None:
            stored[key] = kept
        else:
            del stored[key]
        self._store(address, stored)
        return (value,) if kept is not None or self._aging.return_expired else None

    def _visible(self) -> dict[Any, Any]:
        """All visible entries, in a new dict; expired ones are removed from the state."""
        address, stored = self._access()
        if stored is None:
            return {}
        aging = self._aging
        now = aging.clock()
        horizon = now - aging.ttl_ms
        kept = {key: pair for key, pair in stored.items() if pair[1] > horizon}
        shown = stored if aging.return_expired else kept
        if aging.refresh_on_read and any(pair[1] != now for pair in kept.values()):
            self._store(address, {key: (pair[0], now) for key, pair in kept.items()})
        elif len(kept) < len(stored):
            self._store(address, kept)
        return {key: pair[0] for key, pair in shown.items()}


class TtlReducingState(_TtlState, MergingKeyedState, ReducingState[Any]):
    """Reducing state; adding to it makes it young again."""

    __slots__ = ("_reduce",)

    def __init__(
        self,
        descriptor: ReducingStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
        aging: Aging,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed, aging)
        self._reduce = descriptor.get_reduce_function().reduce

    def get(self) -> Any:
        return self._read()

    def add(self, value: Any) -> None:
        key, stored = self._access()
        before = self._unexpired(stored)
        if before is not None and value is not None:
            value = self._reduce(before, value)
        if value is None:
            self.clear()
        else:
            self._write(key, value)

    def _merged(self, one: Stamped, other: Stamped) -> Stamped:
        left, right = self._unexpired(one), self._unexpired(other)
        if left is None or right is None:
            return other if left is None else one
        return self._reduce(left, right), self._aging.clock()


class TtlAggregatingState(_TtlState, MergingKeyedState, AggregatingState[Any, Any]):
    """Aggregating state; adding to it makes it young again."""

    __slots__ = ("_function",)

    def __init__(
        self,
        descriptor: AggregatingStateDescriptor,
        cell: KeyCell,
        entries: Entries,
        changed: set[Any] | None,
        aging: Aging,
    ) -> None:
        super().__init__(descriptor, cell, entries, changed, aging)
        self._function = descriptor.get_agg_function()

    def get(self) -> Any:
        accumulator = self._read()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:
        key, stored = self._access()
        if value is not None:
            before = self._unexpired(stored)
            if before is None:
                before = self._function.create_accumulator()
            value = self._function.add(value, before)
        if value is None:
            self.clear()
        else:
            self._write(key, value)

    def _merged(self, one: Stamped, other: Stamped) -> Stamped:
        left, right = self._unexpired(one), self._unexpired(other)
        if left is None or right is None:
            return other if left is None else one
        return self._function.merge(left, right), self._aging.clock()


def create_ttl_state(
    descriptor: StateDescriptor,
    cell: KeyCell,
    entries: Entries,
    changed: set[Any] | None,
    aging: Aging,
) -> Any:
    """The state object for a descriptor with time-to-live."""
    if isinstance(descriptor, ValueStateDescriptor):
        return TtlValueState(descriptor, cell, entries, changed, aging)
    if isinstance(descriptor, ListStateDescriptor):
        return TtlListState(descriptor, cell, entries, changed, aging)
    if isinstance(descriptor, MapStateDescriptor):
        return TtlMapState(descriptor, cell, entries, changed, aging)
    if isinstance(descriptor, ReducingStateDescriptor):
        return TtlReducingState(descriptor, cell, entries, changed, aging)
    assert isinstance(descriptor, AggregatingStateDescriptor)
    return TtlAggregatingState(descriptor, cell, entries, changed, aging)
