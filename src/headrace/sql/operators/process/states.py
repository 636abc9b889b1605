"""State of process table functions: users' objects of the keys that a batch touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from copy import deepcopy
from typing import Any
from zoneinfo import ZoneInfo

from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.sql.operators.base import RowOperator
from headrace.sql.plan.checks.keys import has_no_hash
from headrace.sql.types import ArrayType, MapType, RowType
from headrace.sql.types.values import to_external, to_internal
from headrace.sql.udf.data_views import ListView, MapView
from headrace.sql.udf.process.signature import StateEntry

__all__ = ["KeyStates"]

_CLEARED = object()
"""In place of state that is gone: a new one comes with the next call for its key."""


class KeyStates:
    """The state of a function.

    A row is read when its key comes in a batch for the first time, and written at the end of the
    batch if it has changed; lists and maps are views of the backend's state.
    """

    def __init__(
        self, operator: RowOperator, entries: tuple[StateEntry, ...], ttl_ms: int, zone: ZoneInfo
    ) -> None:
        self._operator = operator
        self._names = [entry.name for entry in entries]
        self._entries = [_opened(operator, entry, ttl_ms, zone) for entry in entries]
        self._touched: dict[Any, list[Any]] = {}
        self._cleared: set[int] = set()

    def of(self, key: Any) -> list[Any]:
        """The objects of a key, which the operator's cell has."""
        found = self._touched.get(key)
        if found is None:
            found = self._touched[key] = [entry.read() for entry in self._entries]
        elif _CLEARED in found:
            found[:] = [
                entry.read() if value is _CLEARED else value
                for entry, value in zip(self._entries, found, strict=True)
            ]
        return found

    def clear(self, names: list[str] | None) -> None:
        """Forget state as soon as the call is over: all, or some by name."""
        for name in self._names if names is None else names:
            if name not in self._names:
                raise ValueError(f"Unknown state entry: {name}")
            self._cleared.add(self._names.index(name))

    def end_call(self, key: Any) -> None:
        """The call for a key is over."""
        for place in self._cleared:
            self._entries[place].clear()
            self._touched[key][place] = _CLEARED
        self._cleared.clear()

    def write(self) -> None:
        """Keep what has changed."""
        rows = [(i, e) for i, e in enumerate(self._entries) if isinstance(e, _Rows)]
        for key, objects in self._touched.items() if rows else ():
            self._operator.cell.key = key
            for place, entry in rows:
                if objects[place] is not _CLEARED:
                    entry.write(objects[place])
        self._operator.forget_key()
        self._touched = {}


def _opened(operator: RowOperator, entry: StateEntry, ttl_ms: int, zone: ZoneInfo) -> Any:
    ttl = ttl_ms if entry.ttl_ms is None else entry.ttl_ms
    type_ = entry.type
    if isinstance(type_, RowType):
        state = operator.state_of(ValueStateDescriptor(entry.name), ttl)
        return _Rows(state, type_, entry.make, zone)
    if isinstance(type_, MapType):
        return _MapState(operator.state_of(MapStateDescriptor(entry.name), ttl), type_, zone)
    assert isinstance(type_, ArrayType)
    return _ListState(operator.state_of(ListStateDescriptor(entry.name), ttl), type_, zone)


class _Rows:
    """A row for each key; without any value there is no entry."""

    def __init__(
        self, state: Any, type_: RowType, make: Callable[..., Any] | None, zone: ZoneInfo
    ) -> None:
        self._state = state
        self._names = type_.names
        self._take = to_internal(type_.not_null(), zone)
        self._give = to_external(type_, zone) or _same
        self._make = make
        # Users change maps in place, which must not change what is stored.
        self._copy = deepcopy if has_no_hash(type_) else _same

    def read(self) -> Any:
        stored = self._state.value()
        if stored is None:
            return self._make() if self._make is not None else self._give([None] * len(self._names))
        row = self._give(self._copy(stored))
        return row if self._make is None else self._make(*row)

    def write(self, value: Any) -> None:
        if self._make is not None:
            value = [getattr(value, name) for name in self._names]
        row = self._take(value)
        stored = self._state.value()
        if row == stored:
            return
        if any(field is not None for field in row):
            self._state.update(row)
        elif stored is not None:
            self._state.clear()

    def clear(self) -> None:
        self._state.clear()


class _MapState(MapView[Any, Any]):
    """A map for each key."""

    def __init__(self, state: Any, type_: MapType, zone: ZoneInfo) -> None:
        self._dict: Any = _Map(state, type_, zone)

    def read(self) -> Any:
        return self

    def clear(self) -> None:
        self._dict.clear()


class _Map(MutableMapping[Any, Any]):
    """The backend's map with users' objects."""

    def __init__(self, state: Any, type_: MapType, zone: ZoneInfo) -> None:
        self._state = state
        self._take_key, self._take_value = (
            to_internal(x, zone) for x in (type_.key_type, type_.value_type)
        )
        self._give_key, self._give_value = (
            to_external(x, zone) or _same for x in (type_.key_type, type_.value_type)
        )

    def __getitem__(self, key: Any) -> Any:
        own = self._take_key(key)
        if not self._state.contains(own):
            raise KeyError(key)
        return self._give_value(self._state.get(own))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._state.put(self._take_key(key), self._take_value(value))

    def __delitem__(self, key: Any) -> None:
        own = self._take_key(key)
        if not self._state.contains(own):
            raise KeyError(key)
        self._state.remove(own)

    def __iter__(self) -> Iterator[Any]:
        return map(self._give_key, list(self._state.keys()))

    def __len__(self) -> int:
        return len(list(self._state.keys()))

    def clear(self) -> None:
        self._state.clear()


class _ListState(ListView[Any]):
    """A list for each key."""

    def __init__(self, state: Any, type_: ArrayType, zone: ZoneInfo) -> None:
        self._list: Any = _List(state, type_, zone)

    def read(self) -> Any:
        return self

    def clear(self) -> None:
        self._list.clear()


class _List:
    """The backend's list with users' objects."""

    def __init__(self, state: Any, type_: ArrayType, zone: ZoneInfo) -> None:
        self._state = state
        self._take = to_internal(type_.element_type, zone)
        self._give = to_external(type_.element_type, zone) or _same

    def append(self, value: Any) -> None:
        self._state.add(self._take(value))

    def extend(self, values: list[Any]) -> None:
        self._state.add_all([self._take(v) for v in values])

    def clear(self) -> None:
        self._state.clear()

    def __iter__(self) -> Iterator[Any]:
        return map(self._give, list(self._state.get()))


def _same(value: Any) -> Any:
    return value
