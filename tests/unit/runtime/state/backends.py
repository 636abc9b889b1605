"""Every keyed state backend under one interface, and what the contract suites drive them with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.datastream.functions import AggregateFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.hashmap import HashMapStateBackend
from headrace.runtime.state.key_cell import NO_KEY, KeyCell
from headrace.runtime.state.rocksdb import RocksDBStateBackend
from headrace.runtime.state.rocksdb_settings import RocksDBSettings
from headrace.runtime.state.rocksdb_store import RocksDBResources

MAX_PARALLELISM = 16

BackendFactory = Callable[..., KeyedStateBackend]


def small_cache(*args: Any, **kwargs: Any) -> KeyedStateBackend:
    """RocksDB with so few cached objects that most accesses go to the database."""
    resources = RocksDBResources(RocksDBSettings(object_cache_size=5))
    return RocksDBStateBackend(*args, resources=resources, **kwargs)


# Add a backend here and every contract and property runs against it.
BACKENDS: dict[str, BackendFactory] = {
    "hashmap": HashMapStateBackend,
    "rocksdb": RocksDBStateBackend,
    "rocksdb-small-cache": small_cache,
}


class ManualClock:
    """Processing time that moves only when a test says so."""

    def __init__(self, now: int = 1_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, ms: int) -> None:
        self.now += ms


class Average(AggregateFunction):
    """The accumulator is `[sum, count]`, changed in place on purpose."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return [a[0] + b[0], a[1] + b[1]]


def value_of(name: str = "value", **kwargs: Any) -> ValueStateDescriptor:
    return ValueStateDescriptor(name, **kwargs)


def list_of(name: str = "list") -> ListStateDescriptor:
    return ListStateDescriptor(name)


def map_of(name: str = "map") -> MapStateDescriptor:
    return MapStateDescriptor(name)


def sum_of(name: str = "sum") -> ReducingStateDescriptor:
    return ReducingStateDescriptor(name, lambda a, b: a + b)


def average_of(name: str = "average") -> AggregatingStateDescriptor:
    return AggregatingStateDescriptor(name, Average())


ALL_KINDS: list[Callable[[], StateDescriptor]] = [value_of, list_of, map_of, sum_of, average_of]


def write_something(state: Any, number: int) -> None:
    """Writes to a state of any kind."""
    if hasattr(state, "put"):
        state.put(f"k{number}", number)
    elif hasattr(state, "add"):
        state.add(number)
    else:
        state.update(number)


def read_all(state: Any) -> Any:
    """The content of a state of any kind, comparable with `==`."""
    if hasattr(state, "items"):
        return dict(state.items())
    return state.value() if hasattr(state, "value") else state.get()


class Subtask:
    """One backend with its cell and clock."""

    def __init__(
        self,
        factory: BackendFactory,
        *,
        clock: ManualClock | None = None,
        track_changes: bool = True,
        max_parallelism: int = MAX_PARALLELISM,
    ) -> None:
        self.factory = factory
        self.clock = clock or ManualClock()
        self.backend = factory(
            max_parallelism, self.clock, track_changes=track_changes, operator_uid="op"
        )
        self.cell = KeyCell()

    def state(self, descriptor: StateDescriptor, namespaced: bool = False) -> Any:
        return self.backend.get_or_create(descriptor, self.cell, namespaced)

    def at(self, key: Any) -> None:
        self.cell.key = key

    def leave_key(self) -> None:
        self.cell.key = NO_KEY

    def restored(self, *snapshots: Any, key_groups: range = range(MAX_PARALLELISM)) -> Subtask:
        """A new subtask with the same clock that starts from snapshots."""
        subtask = Subtask(self.factory, clock=self.clock)
        subtask.backend.restore(snapshots, key_groups)
        return subtask

    def dump(self, descriptor: StateDescriptor) -> dict[Any, Any]:
        """Every key's content; reads the state, so it may refresh or remove what has expired."""
        found: dict[Any, Any] = {}
        self.backend.apply_to_all_keys(
            descriptor, lambda key, state: found.__setitem__(key, read_all(state))
        )
        return found
