"""State that a `TypeSerializer` of the user writes and reads: its tables hold bytes.

The bytes of a value are one byte for the serializer's version and what the serializer wrote. Each
access serializes, as it does in Flink on RocksDB.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from typing import Any

from headrace.common.serializer import SerializedTypeInfo, TypeSerializer
from headrace.common.typeinfo import ListTypeInfo, MapTypeInfo, TypeInformation
from headrace.datastream.functions.basic import AggregateFunction, ReduceFunction
from headrace.datastream.state import (
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
from headrace.runtime.state.kinds import checked_elements, fresh_default

__all__ = ["Packing", "opened", "packing_of", "stored_descriptor"]


class Packing:
    """Objects to bytes and back."""

    __slots__ = ("_serializer", "_version")

    def __init__(self, serializer: TypeSerializer[Any]) -> None:
        self._serializer = serializer
        self._version = bytes((serializer.version,))

    def pack(self, value: Any) -> bytes:
        """The bytes of an object."""
        stream = BytesIO()
        stream.write(self._version)
        self._serializer.serialize(value, stream)
        return stream.getvalue()

    def unpack(self, data: Any) -> Any:
        """The object of some bytes; None stays None."""
        if data is None:
            return None
        stream = BytesIO(data)
        version = stream.read(1)
        if version == self._version:
            return self._serializer.deserialize(stream)
        return self._serializer.deserialize_old(stream, version[0])


class _AsIs:
    """The packing of a type without a serializer."""

    @staticmethod
    def pack(value: Any) -> Any:
        return value

    unpack = pack


def packing_of(type_info: TypeInformation) -> Packing | _AsIs:
    """How values of a type are kept."""
    if isinstance(type_info, SerializedTypeInfo):
        return Packing(type_info.serializer)
    return _AsIs()


def _is_serialized(type_info: TypeInformation) -> bool:
    if isinstance(type_info, ListTypeInfo):
        return isinstance(type_info.element_type, SerializedTypeInfo)
    if isinstance(type_info, MapTypeInfo):
        return any(
            isinstance(part, SerializedTypeInfo)
            for part in (type_info.key_type, type_info.value_type)
        )
    return isinstance(type_info, SerializedTypeInfo)


def stored_descriptor(descriptor: StateDescriptor) -> StateDescriptor:
    """The descriptor of what a table holds: the same one if no serializer takes part."""
    if not _is_serialized(descriptor.type_info):
        return descriptor
    stored = copy.copy(descriptor)
    packing = packing_of(descriptor.type_info)
    if isinstance(stored, ValueStateDescriptor):
        stored.default_value = None
    elif isinstance(stored, ReducingStateDescriptor):
        stored._reduce_function = _PackedReduce(stored.get_reduce_function().reduce, packing)
    elif isinstance(stored, AggregatingStateDescriptor):
        stored._agg_function = _PackedAggregate(stored.get_agg_function(), packing)
    return stored


def opened(descriptor: StateDescriptor, state: Any) -> Any:
    """What the user gets for the state object over a table of bytes."""
    if isinstance(descriptor, ValueStateDescriptor):
        return _Value(descriptor, state)
    if isinstance(descriptor, ListStateDescriptor):
        return _List(descriptor, state)
    if isinstance(descriptor, MapStateDescriptor):
        return _Map(descriptor, state)
    if isinstance(descriptor, ReducingStateDescriptor):
        return _Reducing(descriptor, state)
    # The function packs the accumulator, and nobody else sees it.
    return state


class _PackedReduce(ReduceFunction[Any]):
    """A reduce function over bytes."""

    def __init__(self, reduce: Callable[[Any, Any], Any], packing: Packing | _AsIs) -> None:
        self._reduce = reduce
        self._packing = packing

    def reduce(self, value1: Any, value2: Any) -> Any:
        unpack = self._packing.unpack
        return self._packing.pack(self._reduce(unpack(value1), unpack(value2)))


class _PackedAggregate(AggregateFunction[Any, Any, Any]):
    """An aggregate function whose accumulators are bytes."""

    def __init__(self, function: AggregateFunction[Any, Any, Any], packing: Any) -> None:
        self._function = function
        self._packing = packing

    def create_accumulator(self) -> Any:
        return self._packing.pack(self._function.create_accumulator())

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._packing.pack(self._function.add(value, self._packing.unpack(accumulator)))

    def get_result(self, accumulator: Any) -> Any:
        return self._function.get_result(self._packing.unpack(accumulator))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        unpack = self._packing.unpack
        return self._packing.pack(self._function.merge(unpack(acc_a), unpack(acc_b)))


class _Opened:
    """A state object over another one that holds bytes."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def clear(self) -> None:
        self._state.clear()

    def merge_namespaces(self, key: Any, target: Any, sources: Iterable[Any]) -> None:
        """Moves bytes from windows that merge."""
        self._state.merge_namespaces(key, target, sources)


class _Value(_Opened, ValueState[Any]):
    def __init__(self, descriptor: ValueStateDescriptor, state: Any) -> None:
        super().__init__(state)
        self._packing = packing_of(descriptor.type_info)
        self._default = fresh_default(descriptor.default_value)

    def value(self) -> Any:
        data = self._state.value()
        return self._default() if data is None else self._packing.unpack(data)

    def update(self, value: Any) -> None:
        self._state.update(None if value is None else self._packing.pack(value))


class _Reducing(_Opened, ReducingState[Any]):
    def __init__(self, descriptor: ReducingStateDescriptor, state: Any) -> None:
        super().__init__(state)
        self._packing = packing_of(descriptor.type_info)

    def get(self) -> Any:
        return self._packing.unpack(self._state.get())

    def add(self, value: Any) -> None:
        self._state.add(None if value is None else self._packing.pack(value))


class _List(_Opened, ListState[Any]):
    def __init__(self, descriptor: ListStateDescriptor, state: Any) -> None:
        super().__init__(state)
        self._name = descriptor.get_name()
        self._packing = packing_of(descriptor.elem_type_info)

    def get(self) -> list[Any]:
        return [self._packing.unpack(data) for data in self._state.get()]

    def add(self, value: Any) -> None:
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        self._state.add_all(self._packed(values))

    def update(self, values: Iterable[Any]) -> None:
        self._state.update(self._packed(values))

    def _packed(self, values: Iterable[Any]) -> list[Any]:
        return [self._packing.pack(value) for value in checked_elements(self._name, values)]


class _Map(_Opened, MapState[Any, Any]):
    """Keys are looked up by their bytes: equal keys must have equal bytes."""

    def __init__(self, descriptor: MapStateDescriptor, state: Any) -> None:
        super().__init__(state)
        self._keys = packing_of(descriptor.key_type_info)
        self._values = packing_of(descriptor.value_type_info)

    def get(self, key: Any) -> Any:
        return self._values.unpack(self._state.get(self._keys.pack(key)))

    def contains(self, key: Any) -> bool:
        return bool(self._state.contains(self._keys.pack(key)))

    def put(self, key: Any, value: Any) -> None:
        self._state.put(self._keys.pack(key), None if value is None else self._values.pack(value))

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        self._state.remove(self._keys.pack(key))

    def items(self) -> Iterator[tuple[Any, Any]]:
        for key, value in self._state.items():
            yield self._keys.unpack(key), self._values.unpack(value)

    def keys(self) -> Iterator[Any]:
        return map(self._keys.unpack, self._state.keys())

    def values(self) -> Iterator[Any]:
        return map(self._values.unpack, self._state.values())

    def is_empty(self) -> bool:
        return bool(self._state.is_empty())
