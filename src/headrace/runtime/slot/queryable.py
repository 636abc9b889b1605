"""Reads keyed state for somebody outside of the job, between two pieces of work of the slot."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

import cloudpickle

from headrace.datastream.state import StateDescriptor
from headrace.graph.ids import SlotId
from headrace.runtime.key_groups import hashable_key
from headrace.runtime.operator import Operator
from headrace.runtime.slot.messages import QueryState, StateRead
from headrace.runtime.state.declaration import StateKind, describe
from headrace.runtime.state.key_cell import KeyCell

__all__ = ["answer_query"]


def answer_query(slot: SlotId, query: QueryState, operators: Iterable[Operator]) -> StateRead:
    """The state of a key in the operator that made it queryable, as plain Python values.

    A value stays what it is; list state becomes a list, map state a dict.
    """
    names: list[str] = []
    for operator in operators:
        names += operator.context.queryable
        descriptor = operator.context.queryable.get(query.name)
        if descriptor is not None:
            try:
                return _read(slot, query, operator, descriptor)
            except Exception as error:  # noqa: BLE001 - the user's classes; who asked is told
                return StateRead(slot, query.request, error=f"{type(error).__name__}: {error}")
    return StateRead(slot, query.request, names=tuple(names))


def _read(
    slot: SlotId, query: QueryState, operator: Operator, descriptor: StateDescriptor
) -> StateRead:
    backend = operator.context.backend
    assert backend is not None, "only keyed state can be queryable"
    state = backend.get_or_create(descriptor, KeyCell(hashable_key(pickle.loads(query.key))))
    kind = describe(descriptor, namespaced=False).kind
    value: Any
    if kind is StateKind.VALUE:
        value = state.value()
    elif kind is StateKind.MAP:
        value = dict(state.items()) or None
    elif kind is StateKind.LIST:
        value = list(state.get()) or None
    else:
        value = state.get()
    content = None if value is None else cloudpickle.dumps(value)
    return StateRead(slot, query.request, kind.value, content, names=(query.name,))
