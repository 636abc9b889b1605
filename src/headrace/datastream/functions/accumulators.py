"""Accumulators: small values that every subtask adds to and that the job's result holds merged.

Each subtask has its own copy; the job master merges them when the job ends, and earlier for
display.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "LongMaximum",
    "LongMinimum",
    "SimpleAccumulator",
]

V = TypeVar("V")
R = TypeVar("R")
Self = TypeVar("Self", bound="Accumulator[Any, Any]")


class Accumulator(ABC, Generic[V, R]):
    """Collects values of type V in one subtask; gives a result of type R."""

    @abstractmethod
    def add(self, value: V) -> None:
        """Adds one value."""

    @abstractmethod
    def get_local_value(self) -> R:
        """Returns what this copy has collected."""

    @abstractmethod
    def reset_local(self) -> None:
        """Forgets what this copy has collected."""

    @abstractmethod
    def merge(self, other: Accumulator[V, R]) -> None:
        """Takes over what another copy of the same kind has collected."""

    def clone(self: Self) -> Self:
        """Returns an independent copy with the same content."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        """Shows the kind and the local value."""
        return f"{type(self).__name__}({self.get_local_value()!r})"


class SimpleAccumulator(Accumulator[V, V]):
    """An accumulator whose result has the type of its inputs."""


class _Sum(SimpleAccumulator[V]):
    def __init__(self, value: V) -> None:
        self._zero = type(value)()
        self._value: Any = value

    def add(self, value: V) -> None:
        self._value += value

    def get_local_value(self) -> V:
        result: V = self._value
        return result

    def reset_local(self) -> None:
        self._value = self._zero

    def merge(self, other: Accumulator[V, V]) -> None:
        self._value += other.get_local_value()


class IntCounter(_Sum[int]):
    """A sum of integers."""

    def __init__(self, value: int = 0) -> None:
        super().__init__(value)


class LongCounter(_Sum[int]):
    """A sum of integers; Python's have one size, the name is for Flink's users."""

    def __init__(self, value: int = 0) -> None:
        super().__init__(value)


class DoubleCounter(_Sum[float]):
    """A sum of floats."""

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(float(value))


class _Extreme(SimpleAccumulator[V]):
    # What an accumulator without input reports; Flink's limits, so that results compare equal.
    _EMPTY: Any

    def __init__(self, value: V | None = None) -> None:
        self._value: Any = self._EMPTY if value is None else value

    def get_local_value(self) -> V:
        result: V = self._value
        return result

    def reset_local(self) -> None:
        self._value = self._EMPTY

    def merge(self, other: Accumulator[V, V]) -> None:
        self.add(other.get_local_value())


class _Maximum(_Extreme[V]):
    def add(self, value: V) -> None:
        if value > self._value:
            self._value = value


class _Minimum(_Extreme[V]):
    def add(self, value: V) -> None:
        if value < self._value:
            self._value = value


class IntMaximum(_Maximum[int]):
    """The largest integer seen; the smallest 32-bit integer without input."""

    _EMPTY = -(2**31)


class IntMinimum(_Minimum[int]):
    """The smallest integer seen; the largest 32-bit integer without input."""

    _EMPTY = 2**31 - 1


class LongMaximum(_Maximum[int]):
    """The largest integer seen; the smallest 64-bit integer without input."""

    _EMPTY = -(2**63)


class LongMinimum(_Minimum[int]):
    """The smallest integer seen; the largest 64-bit integer without input."""

    _EMPTY = 2**63 - 1


class DoubleMaximum(_Maximum[float]):
    """The largest float seen; minus infinity without input."""

    _EMPTY = float("-inf")


class DoubleMinimum(_Minimum[float]):
    """The smallest float seen; infinity without input."""

    _EMPTY = float("inf")


class AverageAccumulator(SimpleAccumulator[float]):
    """The mean of numbers; 0.0 without input."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        """Adds one number."""
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        """Returns the mean so far."""
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        """Forgets all numbers."""
        self._count = 0
        self._sum = 0.0

    def merge(self, other: Accumulator[float, float]) -> None:
        """Adds the numbers of another average, by count and sum."""
        if not isinstance(other, AverageAccumulator):
            raise TypeError(f"an AverageAccumulator cannot be merged with {type(other).__name__}")
        self._count += other._count
        self._sum += other._sum


class Histogram(Accumulator[int, dict[int, int]]):
    """How often each integer was added, as a dict sorted by integer."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        """Counts one occurrence of `value`."""
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        """Returns value and count pairs in ascending order of value."""
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        """Forgets all counts."""
        self._counts = {}

    def merge(self, other: Accumulator[int, dict[int, int]]) -> None:
        """Adds the counts of another histogram."""
        for value, count in other.get_local_value().items():
            self._counts[value] = self._counts.get(value, 0) + count


class ListAccumulator(Accumulator[V, list[V]]):
    """All values that were added; meant for few and small values."""

    def __init__(self) -> None:
        self._values: list[V] = []

    def add(self, value: V) -> None:
        """Appends one value."""
        self._values.append(value)

    def get_local_value(self) -> list[V]:
        """Returns the values in the order in which they were added."""
        return list(self._values)

    def reset_local(self) -> None:
        """Forgets all values."""
        self._values = []

    def merge(self, other: Accumulator[V, list[V]]) -> None:
        """Appends the values of another list."""
        self._values.extend(other.get_local_value())
