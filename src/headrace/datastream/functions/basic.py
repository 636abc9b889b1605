"""Functions that see one record at a time and neither timers nor a context.

Map, filter, flat map, reduce, aggregate, key selectors, partitioners, and their two-input forms.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from headrace.datastream.functions.base import Function, RichFunction

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "FilterFunction",
    "FlatMapFunction",
    "KeySelector",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
    "RichAggregateFunction",
    "RichCoFlatMapFunction",
    "RichCoMapFunction",
    "RichFilterFunction",
    "RichFlatMapFunction",
    "RichMapFunction",
    "RichReduceFunction",
]

IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
ACC = TypeVar("ACC")
KEY = TypeVar("KEY")


class MapFunction(Function, Generic[IN, OUT]):
    """Turns every record into exactly one record.

    Example:
        >>> class Double(MapFunction[int, int]):
        ...     def map(self, value: int) -> int:
        ...         return value * 2
        >>> Double().map(4)
        8
    """

    @abstractmethod
    def map(self, value: IN) -> OUT:
        """Called for each record; returns the record to emit."""


class FlatMapFunction(Function, Generic[IN, OUT]):
    """Turns every record into any number of records."""

    @abstractmethod
    def flat_map(self, value: IN) -> Iterable[OUT] | None:
        """Called for each record; yields the records to emit, or returns an iterable, or None."""


class FilterFunction(Function, Generic[IN]):
    """Keeps or drops records. It must not change them."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Called for each record; returns whether to keep it."""


class CoMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Maps two connected streams to one; both methods share the object's fields and state."""

    @abstractmethod
    def map1(self, value: IN1) -> OUT:
        """Called for each record of the first stream; returns the record to emit."""

    @abstractmethod
    def map2(self, value: IN2) -> OUT:
        """Called for each record of the second stream; returns the record to emit."""


class CoFlatMapFunction(Function, Generic[IN1, IN2, OUT]):
    """Turns each record of two connected streams into any number of records.

    A typical use is a stream of rules and a stream of events: `flat_map1` keeps the rule in state,
    `flat_map2` applies it.
    """

    @abstractmethod
    def flat_map1(self, value: IN1) -> Iterable[OUT] | None:
        """Called for each record of the first stream; yields the records to emit."""

    @abstractmethod
    def flat_map2(self, value: IN2) -> Iterable[OUT] | None:
        """Called for each record of the second stream; yields the records to emit."""


class ReduceFunction(Function, Generic[IN]):
    """Combines two records into one of the same type; it must be associative."""

    @abstractmethod
    def reduce(self, value1: IN, value2: IN) -> IN:
        """Called with the result so far and the next record; returns the new result."""


class AggregateFunction(Function, Generic[IN, ACC, OUT]):
    """Aggregates records through an accumulator, whose type may differ from input and result.

    The function itself holds no result: one object serves all keys and windows, each with its own
    accumulator. Accumulators are state, so they must be picklable.

    Example:
        >>> class Mean(AggregateFunction[float, tuple[int, float], float]):
        ...     def create_accumulator(self):
        ...         return 0, 0.0
        ...     def add(self, value, accumulator):
        ...         return accumulator[0] + 1, accumulator[1] + value
        ...     def get_result(self, accumulator):
        ...         return accumulator[1] / accumulator[0]
        ...     def merge(self, acc_a, acc_b):
        ...         return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Called when a key or window gets its first record; returns an empty accumulator."""

    @abstractmethod
    def add(self, value: IN, accumulator: ACC) -> ACC:
        """Called for each record; returns the accumulator with `value` in it, changed or new."""

    @abstractmethod
    def get_result(self, accumulator: ACC) -> OUT:
        """Called when the result is wanted; may happen repeatedly for one accumulator."""

    @abstractmethod
    def merge(self, acc_a: ACC, acc_b: ACC) -> ACC:
        """Called when windows merge; returns one accumulator, new or either argument changed."""


class KeySelector(Function, Generic[IN, KEY]):
    """Extracts the key by which records are distributed.

    For one record it must always return the same key, in every process.
    """

    @abstractmethod
    def get_key(self, value: IN) -> KEY:
        """Called for each record, before it is sent to the subtask that owns the key."""


class NullByteKeySelector(KeySelector[Any, int]):
    """Gives every record the same key, so that a keyed operator sees the whole stream."""

    def get_key(self, value: Any) -> int:
        """Returns 0."""
        return 0


class Partitioner(Function, Generic[KEY]):
    """Chooses the receiving subtask for `DataStream.partition_custom`."""

    @abstractmethod
    def partition(self, key: KEY, num_partitions: int) -> int:
        """Called for each record with its key; returns an index from 0 to `num_partitions - 1`."""


class RichMapFunction(MapFunction[IN, OUT], RichFunction):
    """A map function with `get_runtime_context()`."""


class RichFlatMapFunction(FlatMapFunction[IN, OUT], RichFunction):
    """A flat map function with `get_runtime_context()`."""


class RichFilterFunction(FilterFunction[IN], RichFunction):
    """A filter function with `get_runtime_context()`."""


class RichCoMapFunction(CoMapFunction[IN1, IN2, OUT], RichFunction):
    """A two-input map function with `get_runtime_context()`."""


class RichCoFlatMapFunction(CoFlatMapFunction[IN1, IN2, OUT], RichFunction):
    """A two-input flat map function with `get_runtime_context()`."""


class RichReduceFunction(ReduceFunction[IN], RichFunction):
    """A reduce function with `get_runtime_context()`."""


class RichAggregateFunction(AggregateFunction[IN, ACC, OUT], RichFunction):
    """An aggregate function with `get_runtime_context()`."""
