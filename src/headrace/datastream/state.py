"""State as user functions see it.

Handles that the runtime hands out, descriptors that name and type them, and time-to-live settings.
Keyed state always means the state of the current key.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serializer import SerializedTypeInfo, TypeSerializer
from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.functions.adapters import as_reduce_function, check_function
from headrace.datastream.functions.basic import AggregateFunction, ReduceFunction
from headrace.datastream.state_ttl import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """A handle to state. Keyed state refers to the key of the current record or firing timer."""

    @abstractmethod
    def clear(self) -> None:
        """Removes the state of the current key."""


class ValueState(State, Generic[T]):
    """One value for each key."""

    @abstractmethod
    def value(self) -> T | None:
        """Returns the value; without one the descriptor's default value, or None."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Sets the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that values are added to."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Returns what was added, in the form the kind of state defines, or None if it is empty."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Adds one value."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state that can be merged when windows merge."""


class ReducingState(MergingState[T, T]):
    """One value for each key, combined with each added value by a `ReduceFunction`."""


class AggregatingState(MergingState[IN, OUT]):
    """An accumulator for each key; `get` returns the aggregate function's result."""


class ListState(MergingState[T, Iterable[T]]):
    """A list for each key, or, as operator state, for each subtask.

    The elements keep their order. `get` returns an empty iterable when there are none.
    """

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Returns the elements in the order in which they were added."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replaces the list; an empty one clears the state."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Adds several elements to the end."""

    def __iter__(self) -> Iterator[T]:
        """Iterates over the elements."""
        return iter(self.get())


class _ReadableMap(State, Generic[K, V]):
    @abstractmethod
    def get(self, key: K) -> V | None:
        """Returns the value of `key`, or None if there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Returns whether `key` has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Returns all pairs of key and value."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Returns all keys."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Returns all values."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Returns whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        """Same as `get`: None, not `KeyError`, for a missing key."""
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        """Same as `contains`."""
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        """Iterates over the keys."""
        return iter(self.keys())


class _WritableMap(_ReadableMap[K, V]):
    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Sets the value of `key`."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Sets several values."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Removes the entry of `key`, if there is one."""

    def __setitem__(self, key: K, value: V) -> None:
        """Same as `put`."""
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        """Same as `remove`: a missing key is not an error."""
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map for each key. Single entries are read and written without touching the others."""


class ReadOnlyBroadcastState(_ReadableMap[K, V]):
    """Broadcast state as the non-broadcast side sees it. Do not change the values in it.

    `clear` is refused with a `StateError`.
    """


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """A map that every subtask holds in full, written by the broadcast side.

    Every subtask must write the same entries. After a change of parallelism new subtasks get a copy
    from old ones.
    """


class OperatorStateStore(ABC):
    """Hands out state that belongs to a subtask and to no key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """Returns broadcast state: the same in all subtasks."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Returns a list whose elements are dealt out evenly when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """Returns a list that, on restore, holds the elements of all subtasks in each."""

    @abstractmethod
    def get_registered_state_names(self) -> set[str]:
        """Returns the names of all list states, including restored ones not asked for yet."""

    @abstractmethod
    def get_registered_broadcast_state_names(self) -> set[str]:
        """Returns the names of all broadcast states."""


class StateDescriptor(ABC):  # noqa: B024 - a base, never used itself
    """Names and types a state. Descriptors of one kind with one name describe the same state.

    Args:
        name: The name, unique among the states of one operator. Restored state is found by it.
        type_info: Type of the content; without it any picklable Python objects. A `TypeSerializer`
            in its place writes and reads the content in a form of its own.
    """

    def __init__(
        self, name: str, type_info: TypeInformation | TypeSerializer[Any] | None = None
    ) -> None:
        self.name = _checked_name(type(self).__name__, name)
        self.type_info = self._checked_type(type_info)
        self._ttl_config: StateTtlConfig | None = None
        self._queryable_name: str | None = None
        self._migrations: tuple[tuple[TypeInformation, Callable[[Any], Any]], ...] = ()

    def get_name(self) -> str:
        """Returns the name of the state."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Lets the state's entries expire. Map entries and list elements expire one by one."""
        if not isinstance(ttl_config, StateTtlConfig):
            raise FunctionTypeError(
                f"state {self.name!r}: enable_time_to_live() needs a StateTtlConfig, not "
                f"{ttl_config!r}; end the builder with .build()"
            )
        self._ttl_config = ttl_config

    def migrate_from(
        self, old_type: TypeInformation, function: Callable[[Any], Any]
    ) -> StateDescriptor:
        """Says how values of another declared type become values of this one.

        Fields that are added to or removed from a row with names need no migration. Any other
        change of type needs one. When state that was saved with `old_type` is restored, each value
        goes through the function once: the value itself, each element of a list, each value of a
        map, each accumulator.

        Args:
            old_type: The type that the state was saved with: of the value, of a list's elements, of
                a map's values, or of an accumulator.
            function: Takes an old value and returns the new one.
        """
        if not isinstance(old_type, TypeInformation):
            raise FunctionTypeError(
                f"state {self.name!r}: migrate_from() needs the old type, for example Types.INT(), "
                f"not {old_type!r}"
            )
        if not callable(function):
            raise FunctionTypeError(
                f"state {self.name!r}: migrate_from() needs a function from an old value to a new "
                f"one, not {function!r}"
            )
        self._migrations = (*self._migrations, (old_type, function))
        return self

    @property
    def migrations(self) -> tuple[tuple[TypeInformation, Callable[[Any], Any]], ...]:
        """Older types, each with the function that makes today's values of its values."""
        return self._migrations

    @property
    def ttl_config(self) -> StateTtlConfig | None:
        """The time-to-live settings, or None if entries never expire."""
        config = self._ttl_config
        return config if config is not None and config.is_enabled() else None

    def set_queryable(self, queryable_state_name: str) -> None:
        """Lets a `QueryableStateClient` read the state while the job runs.

        Args:
            queryable_state_name: The name to ask for, unique in the job.
        """
        self._queryable_name = _checked_name("queryable state", queryable_state_name)

    def is_queryable(self) -> bool:
        """Returns whether the state can be read from outside the job."""
        return self._queryable_name is not None

    def get_queryable_state_name(self) -> str:
        """Returns the name under which it can be read; the empty string without one."""
        return self._queryable_name or ""

    def _checked_type(self, type_info: object) -> TypeInformation:
        if type_info is None:
            return Types.PICKLED_BYTE_ARRAY()
        if isinstance(type_info, TypeSerializer):
            return SerializedTypeInfo(type_info)
        if not isinstance(type_info, TypeInformation):
            hint = "call it with ()" if callable(type_info) else "use for example Types.STRING()"
            raise FunctionTypeError(
                f"the type of state {self.name!r} must be a TypeInformation, not {type_info!r}; "
                f"{hint}"
            )
        return type_info

    def __eq__(self, other: object) -> bool:
        """Descriptors of the same kind and name are equal."""
        return type(self) is type(other) and self.name == getattr(other, "name", None)

    def __hash__(self) -> int:
        """Hashes kind and name."""
        return hash((type(self), self.name))

    def __repr__(self) -> str:
        """Shows kind, name and type."""
        return f"{type(self).__name__}({self.name!r}, {self.type_info!r})"


def _checked_name(kind: str, name: str) -> str:
    if not isinstance(name, str):
        raise FunctionTypeError(f"the name of a {kind} must be a string, not {name!r}")
    if not name:
        raise GraphError(f"a {kind} needs a non-empty name: restored state is found by it")
    return name


class ValueStateDescriptor(StateDescriptor):
    """Describes a `ValueState`.

    Args:
        name: The name of the state.
        value_type_info: Type of the value.
        default_value: What `value()` returns for a key without a value. Each call returns a copy.
    """

    def __init__(
        self,
        name: str,
        value_type_info: TypeInformation | TypeSerializer[Any] | None = None,
        default_value: Any = None,
    ) -> None:
        super().__init__(name, value_type_info)
        self.default_value = default_value

    def get_default_value(self) -> Any:
        """Returns a copy of the default value, or None without one."""
        return None if self.default_value is None else copy.deepcopy(self.default_value)


class ListStateDescriptor(StateDescriptor):
    """Describes a `ListState`.

    Args:
        name: The name of the state.
        elem_type_info: Type of the elements.
    """

    def __init__(
        self, name: str, elem_type_info: TypeInformation | TypeSerializer[Any] | None = None
    ) -> None:
        super().__init__(name)
        self.elem_type_info = self._checked_type(elem_type_info)
        self.type_info = Types.LIST(self.elem_type_info)


class MapStateDescriptor(StateDescriptor):
    """Describes a `MapState` or a `BroadcastState`.

    Args:
        name: The name of the state.
        key_type_info: Type of the map's keys.
        value_type_info: Type of the map's values.
    """

    def __init__(
        self,
        name: str,
        key_type_info: TypeInformation | TypeSerializer[Any] | None = None,
        value_type_info: TypeInformation | TypeSerializer[Any] | None = None,
    ) -> None:
        super().__init__(name)
        self.key_type_info = self._checked_type(key_type_info)
        self.value_type_info = self._checked_type(value_type_info)
        self.type_info = Types.MAP(self.key_type_info, self.value_type_info)


class ReducingStateDescriptor(StateDescriptor):
    """Describes a `ReducingState`.

    Args:
        name: The name of the state.
        reduce_function: A `ReduceFunction`, or a callable of two values. `open` and `close` of a
            function used in state are not called.
        type_info: Type of the value.
    """

    def __init__(
        self,
        name: str,
        reduce_function: ReduceFunction[Any] | Callable[[Any, Any], Any],
        type_info: TypeInformation | TypeSerializer[Any] | None = None,
    ) -> None:
        super().__init__(name, type_info)
        self._reduce_function = as_reduce_function(reduce_function)

    def get_reduce_function(self) -> ReduceFunction[Any]:
        """Returns the function that combines two values."""
        return self._reduce_function


class AggregatingStateDescriptor(StateDescriptor):
    """Describes an `AggregatingState`.

    Args:
        name: The name of the state.
        agg_function: The `AggregateFunction`.
        state_type_info: Type of the accumulator.
    """

    def __init__(
        self,
        name: str,
        agg_function: AggregateFunction[Any, Any, Any],
        state_type_info: TypeInformation | TypeSerializer[Any] | None = None,
    ) -> None:
        super().__init__(name, state_type_info)
        self._agg_function: AggregateFunction[Any, Any, Any] = check_function(
            agg_function, AggregateFunction, "AggregatingStateDescriptor"
        )

    def get_agg_function(self) -> AggregateFunction[Any, Any, Any]:
        """Returns the aggregate function."""
        return self._agg_function
