"""State that belongs to a subtask and to no key: lists, union lists and broadcast maps.

It is kept as plain Python objects, whatever the backend of keyed state is. A snapshot holds one
part for each state. When a job goes on from a checkpoint each subtask takes its share of all parts:

- a list stays with its subtask, or, at another parallelism, all elements are one list in the order
  of the subtasks, which is cut into pieces that differ in length by one at most;
- of a union list everybody gets everything;
- of a broadcast map everybody gets one of the copies, which are the same.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NoReturn

import cloudpickle

from headrace.common.errors import (
    FunctionTypeError,
    StateError,
    StateMigrationError,
    shorten_repr,
)
from headrace.datastream.state import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    ReadOnlyBroadcastState,
    StateDescriptor,
)
from headrace.runtime.pickling import first_unpicklable
from headrace.runtime.state.declaration import StateMeta, describe, require_compatible
from headrace.runtime.state.evolution import upgrade_of
from headrace.runtime.state.kinds import checked_elements
from headrace.runtime.state.serialized import opened, stored_descriptor

__all__ = [
    "OperatorStateBackend",
    "OperatorStateSnapshot",
    "Redistribution",
    "SavedOperatorState",
]


class Redistribution(StrEnum):
    """Who gets what of a state when the job goes on from a checkpoint."""

    SPLIT = "split"
    UNION = "union"
    BROADCAST = "broadcast"


_ASKED_WITH = {
    Redistribution.SPLIT: "get_list_state()",
    Redistribution.UNION: "get_union_list_state()",
    Redistribution.BROADCAST: "get_broadcast_state()",
}


@dataclass(slots=True)
class SavedOperatorState:
    """One state of one subtask in a snapshot.

    Attributes:
        meta: Name, kind and type.
        mode: How it is dealt out.
        size: Number of elements or entries.
        content: A list or a dict, until `serialize`.
        data: The content as bytes, after `serialize`.
    """

    meta: StateMeta
    mode: Redistribution
    size: int
    content: Any = None
    data: bytes = b""

    def serialize(self) -> None:
        """Turn the content into bytes, once."""
        if self.content is not None:
            self.data, self.content = self._dumped(), None

    def load(self) -> Any:
        """A copy of the content that no other object shares."""
        self.serialize()
        try:
            return pickle.loads(self.data)
        except Exception as error:
            raise StateError(
                f"the saved operator state {self.meta.name!r} ({self.meta}) cannot be read: "
                f"{type(error).__name__}: {error}; keep the classes of saved values importable "
                "under their names, or fall back to another checkpoint if the file is damaged"
            ) from error

    def _dumped(self) -> bytes:
        try:
            return _dumps(self.content)
        except Exception as error:
            elements = self.content.items() if isinstance(self.content, dict) else self.content
            raise StateError(
                f"operator state {self.meta.name!r} holds a value that cannot be pickled, so it "
                f"cannot be saved: {shorten_repr(first_unpicklable(elements, self.content))} "
                f"({type(error).__name__}: {error}); keep connections, locks, files and generators "
                "out of state"
            ) from error


def _dumps(content: Any) -> bytes:
    # Classes of the user's main program are known to a slot by value only.
    data: bytes = cloudpickle.dumps(content, protocol=5)
    return data


@dataclass(slots=True)
class OperatorStateSnapshot:
    """The operator state of one operator in one subtask at a barrier.

    Until `serialized` it shares the elements with the subtask: serialize it at once, or in a forked
    child, before user code runs again.
    """

    lists: dict[str, SavedOperatorState] = field(default_factory=dict)
    broadcasts: dict[str, SavedOperatorState] = field(default_factory=dict)

    def serialized(self) -> OperatorStateSnapshot:
        """The same with all contents turned into bytes."""
        for part in (*self.lists.values(), *self.broadcasts.values()):
            part.serialize()
        return self

    def __bool__(self) -> bool:
        return bool(self.lists or self.broadcasts)


class OperatorListState(ListState[Any]):
    """A list of this subtask."""

    __slots__ = ("elements", "name")

    def __init__(self, name: str, elements: list[Any]) -> None:
        self.name = name
        self.elements = elements

    def get(self) -> list[Any]:
        # A copy: users update the state with what they made of this very list.
        return self.elements[:]

    def add(self, value: Any) -> None:
        self.elements += checked_elements(self.name, (value,))

    def add_all(self, values: Iterable[Any]) -> None:
        self.elements += checked_elements(self.name, values)

    def update(self, values: Iterable[Any]) -> None:
        # In place: whoever asked for the state twice has two handles to one list.
        self.elements[:] = checked_elements(self.name, values)

    def clear(self) -> None:
        self.elements.clear()


class ReadOnlyBroadcastMap(ReadOnlyBroadcastState[Any, Any]):
    """The map as the side that is not broadcast sees it; it keeps the order of insertion."""

    __slots__ = ("_entries", "name")

    def __init__(self, name: str, entries: dict[Any, Any]) -> None:
        self.name = name
        self._entries = entries

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._entries.items())

    def keys(self) -> Iterator[Any]:
        return iter(self._entries)

    def values(self) -> Iterator[Any]:
        return iter(self._entries.values())

    def is_empty(self) -> bool:
        return not self._entries

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise StateError(
            f"broadcast state {self.name!r} is read-only in process_element() and on_timer(): "
            "each subtask sees different records there, and the copies would diverge; change it "
            "in process_broadcast_element(), or use keyed state for what belongs to a record's key"
        )

    clear = _refuse
    put = put_all = remove = _refuse
    __setitem__ = __delitem__ = _refuse


class BroadcastMap(BroadcastState[Any, Any]):
    """The map as the broadcast side sees it."""

    __slots__ = ("_entries", "name")

    def __init__(self, name: str, entries: dict[Any, Any]) -> None:
        self.name = name
        self._entries = entries

    def read_only(self) -> ReadOnlyBroadcastMap:
        """A view that cannot write."""
        return ReadOnlyBroadcastMap(self.name, self._entries)

    @property
    def entries(self) -> dict[Any, Any]:
        return self._entries

    def get(self, key: Any) -> Any:
        return self._entries.get(key)

    def contains(self, key: Any) -> bool:
        return key in self._entries

    # Copies: a broadcast record often removes entries while it goes through them.

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter(list(self._entries.items()))

    def keys(self) -> Iterator[Any]:
        return iter(list(self._entries))

    def values(self) -> Iterator[Any]:
        return iter(list(self._entries.values()))

    def is_empty(self) -> bool:
        return not self._entries

    def put(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        self._entries.update(dict_value)

    def remove(self, key: Any) -> None:
        self._entries.pop(key, None)

    def clear(self) -> None:
        self._entries.clear()


@dataclass(slots=True)
class _Entry:
    meta: StateMeta
    mode: Redistribution
    content: Any
    restored: bool


class OperatorStateBackend(OperatorStateStore):
    """The operator state of one operator in one subtask; used by one thread.

    Restored state that nobody asks for is kept, and is in the next snapshot again.
    """

    def __init__(self, operator: str | None = None) -> None:
        self.operator = operator
        self._lists: dict[str, _Entry] = {}
        self._broadcasts: dict[str, _Entry] = {}

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._list_state(state_descriptor, Redistribution.SPLIT)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._list_state(state_descriptor, Redistribution.UNION)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastMap:
        _require_kind(state_descriptor, MapStateDescriptor)
        _require_no_serializer(state_descriptor)
        entry = self._declared(self._broadcasts, state_descriptor, Redistribution.BROADCAST, {})
        return BroadcastMap(entry.meta.name, entry.content)

    def detach_lists(self) -> None:
        """Replace the elements of lists by copies that no other object shares."""
        for entry in self._lists.values():
            entry.content[:] = pickle.loads(_dumps(entry.content))

    def get_registered_state_names(self) -> set[str]:
        return set(self._lists)

    def get_registered_broadcast_state_names(self) -> set[str]:
        return set(self._broadcasts)

    def _list_state(self, descriptor: ListStateDescriptor, mode: Redistribution) -> ListState[Any]:
        _require_kind(descriptor, ListStateDescriptor)
        entry = self._declared(self._lists, descriptor, mode, [])
        state = OperatorListState(entry.meta.name, entry.content)
        if stored_descriptor(descriptor) is descriptor:
            return state
        serialized: ListState[Any] = opened(descriptor, state)
        return serialized

    def _declared(
        self,
        known: dict[str, _Entry],
        descriptor: StateDescriptor,
        mode: Redistribution,
        empty: Any,
    ) -> _Entry:
        meta = describe(descriptor, namespaced=False)
        if meta.ttl is not None:
            warnings.warn(
                f"operator state {meta.name!r} never expires: its time-to-live is ignored, only "
                "keyed state has one",
                stacklevel=4,
            )
            meta = replace(meta, ttl=None)
        entry = known.get(meta.name)
        if entry is None:
            entry = known[meta.name] = _Entry(meta, mode, empty, restored=False)
            return entry
        self._require_mode(entry, mode)
        upgrade = upgrade_of(entry.meta, meta, descriptor) if entry.restored else None
        require_compatible(
            entry.meta,
            meta,
            self.operator,
            restored=entry.restored,
            upgradable=upgrade is not None,
        )
        if entry.restored:
            if upgrade is not None:
                entry.content = upgrade(entry.content)
            entry.meta, entry.restored = meta, False
        return entry

    def _require_mode(self, entry: _Entry, mode: Redistribution) -> None:
        if entry.mode is mode:
            return
        name, before, now = entry.meta.name, _ASKED_WITH[entry.mode], _ASKED_WITH[mode]
        if entry.restored:
            raise StateMigrationError(
                f"operator state {name!r} of operator {self.operator!r} was saved by a function "
                f"that asked for it with {before}, and is now asked for with {now}; use {before}, "
                "or choose a new state name to start empty"
            )
        raise StateError(
            f"operator state {name!r} is asked for with {before} and with {now}; a name stands "
            "for one state, so rename one of them"
        )

    # Checkpoints.

    def snapshot(self) -> OperatorStateSnapshot:
        """The state at the barrier."""
        return OperatorStateSnapshot(
            {name: _saved(entry) for name, entry in self._lists.items()},
            {name: _saved(entry) for name, entry in self._broadcasts.items()},
        )

    def restore(
        self, saved: Mapping[int, OperatorStateSnapshot], before: int, subtask: int, now: int
    ) -> None:
        """Take this subtask's share of a checkpoint.

        Args:
            saved: Snapshots by the number of the subtask that wrote them.
            before: The parallelism with which they were written.
            subtask: The number of this subtask.
            now: The parallelism now.
        """
        snapshots = [saved[number] for number in sorted(saved)]
        first = 0
        for name, parts in _by_name([s.lists for s in snapshots]).items():
            if parts[0].mode is Redistribution.UNION:
                content = [element for part in parts for element in part.load()]
            elif before == now:
                own = saved[subtask].lists.get(name) if subtask in saved else None
                content = [] if own is None else own.load()
            else:
                content, first = _piece(parts, subtask, now, first)
            self._lists[name] = _Entry(parts[0].meta, parts[0].mode, content, restored=True)
        for name, parts in _by_name([s.broadcasts for s in snapshots]).items():
            copy = parts[subtask % len(parts)].load()
            self._broadcasts[name] = _Entry(parts[0].meta, parts[0].mode, copy, restored=True)


def _require_kind(descriptor: Any, kind: type[StateDescriptor]) -> None:
    if not isinstance(descriptor, kind):
        raise FunctionTypeError(f"a {kind.__name__} is needed here, not {shorten_repr(descriptor)}")


def _require_no_serializer(descriptor: MapStateDescriptor) -> None:
    if stored_descriptor(descriptor) is not descriptor:
        raise FunctionTypeError(
            f"broadcast state {descriptor.get_name()!r} does not accept a TypeSerializer: its "
            "entries are pickled; give the descriptor types, or none"
        )


def _saved(entry: _Entry) -> SavedOperatorState:
    return SavedOperatorState(
        entry.meta, entry.mode, len(entry.content), type(entry.content)(entry.content)
    )


def _by_name(
    snapshots: list[dict[str, SavedOperatorState]],
) -> dict[str, list[SavedOperatorState]]:
    """All parts of each state; the names in an order that is the same in all subtasks."""
    names = sorted({name for snapshot in snapshots for name in snapshot})
    return {name: [s[name] for s in snapshots if name in s] for name in names}


def _piece(
    parts: list[SavedOperatorState], subtask: int, parallelism: int, first: int
) -> tuple[list[Any], int]:
    """The piece of a subtask, and who is the first to get a longer piece of the next state.

    Turning that round keeps the low subtasks from always having more, where there are many states
    with few elements each.
    """
    base, longer = divmod(sum(part.size for part in parts), parallelism)
    turn = (subtask - first) % parallelism
    start = turn * base + min(turn, longer)
    end = start + base + (turn < longer)
    piece: list[Any] = []
    position = 0
    for part in parts:
        low, high = max(start - position, 0), min(end - position, part.size)
        if low < high:
            piece += part.load()[low:high]
        position += part.size
    return piece, (first + longer) % parallelism
