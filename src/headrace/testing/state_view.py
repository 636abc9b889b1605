"""Looking at keyed state without touching it: a copy of the backend is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.common.errors import StateError
from headrace.datastream.state import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    StateDescriptor,
    ValueState,
)
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.subtask import Subtask

Descriptors = dict[str, tuple[StateDescriptor, bool]]


def remember_descriptors(subtask: Subtask, descriptors: Descriptors) -> None:
    """Note with which descriptors the operators of a subtask ask for state."""
    for backend in subtask.backends.values():
        _remember(backend, descriptors)


def _remember(backend: KeyedStateBackend, descriptors: Descriptors) -> None:
    get_or_create = backend.get_or_create

    def remembering(descriptor: StateDescriptor, cell: KeyCell, namespaced: bool = False) -> Any:
        descriptors[descriptor.get_name()] = (descriptor, namespaced)
        return get_or_create(descriptor, cell, namespaced)

    backend.get_or_create = remembering  # type: ignore[method-assign]


def state_of(
    name: str, subtasks: Sequence[Subtask], descriptors: Descriptors, clock: Callable[[], int]
) -> dict[Any, Any]:
    """All values of a state, by key, or by key and namespace."""
    if name not in descriptors:
        known = ", ".join(sorted(descriptors)) or "none"
        raise StateError(f"the function did not ask for a state {name!r}; it asked for: {known}")
    values: dict[Any, Any] = {}
    for subtask in subtasks:
        for backend in subtask.backends.values():
            if name in backend.state_names():
                values |= _copied(backend, *descriptors[name], clock)
    return values


def _copied(
    backend: KeyedStateBackend,
    descriptor: StateDescriptor,
    namespaced: bool,
    clock: Callable[[], int],
) -> dict[Any, Any]:
    copy = HashMapStateBackend(backend.max_parallelism, clock)
    copy.restore([backend.snapshot()], range(backend.max_parallelism))
    cell = KeyCell()
    state = copy.get_or_create(descriptor, cell, namespaced)
    name = descriptor.get_name()
    values = {}
    for cell.key in copy.keys_and_namespaces(name) if namespaced else copy.keys(name):
        value = _plain(state)
        if value is not None:
            values[cell.key] = value
    return values


def _plain(state: Any) -> Any:
    if isinstance(state, ValueState):
        return state.value()
    if isinstance(state, MapState):
        return dict(state.items()) or None
    if isinstance(state, ListState):
        return list(state.get()) or None
    assert isinstance(state, ReducingState | AggregatingState)
    return state.get()
