"""`KeyedStream.as_queryable_state`: the records of a stream as state that can be read outside."""

from __future__ import annotations

from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import (
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

__all__ = ["KeepQueryable", "QueryableStateStream", "queryable_descriptor"]


class QueryableStateStream:
    """The end of a stream whose records are kept for a `QueryableStateClient`."""

    def __init__(self, state_descriptor: StateDescriptor) -> None:
        self._descriptor = state_descriptor

    def get_queryable_state_name(self) -> str:
        """The name to ask for."""
        return self._descriptor.get_queryable_state_name()

    def get_state_descriptor(self) -> StateDescriptor:
        """What the state is."""
        return self._descriptor


class KeepQueryable(KeyedProcessFunction[Any, Any, Any]):
    """Keeps the last record of each key, or all of them reduced to one."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self._descriptor = descriptor

    def open(self, runtime_context: RuntimeContext) -> None:
        """Takes the state."""
        descriptor = self._descriptor
        if isinstance(descriptor, ReducingStateDescriptor):
            self._keep = runtime_context.get_reducing_state(descriptor).add
        else:
            assert isinstance(descriptor, ValueStateDescriptor)
            self._keep = runtime_context.get_state(descriptor).update

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        """Keeps a record."""
        self._keep(value)


def queryable_descriptor(name: str, descriptor: StateDescriptor | None) -> StateDescriptor:
    """The descriptor to use, marked with the name."""
    if descriptor is None:
        descriptor = ValueStateDescriptor(name)
    if not isinstance(descriptor, ValueStateDescriptor | ReducingStateDescriptor):
        raise FunctionTypeError(
            "as_queryable_state takes a ValueStateDescriptor or a ReducingStateDescriptor, not "
            f"{descriptor!r}"
        )
    descriptor.set_queryable(name)
    return descriptor
