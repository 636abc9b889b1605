"""Lists and maps: in accumulators, and as state of process table functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """Base of both."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""


class ListView(DataView, Generic[T]):
    """A list."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """The elements."""
        return self._list

    def add(self, value: T) -> None:
        """Add an element."""
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Add elements."""
        self._list.extend(values)

    def clear(self) -> None:
        """Forget all elements."""
        self._list = []

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    __hash__ = None  # type: ignore[assignment]


class MapView(DataView, Generic[K, V]):
    """A map."""

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key; None if there is none."""
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Set the value of a key."""
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Set the values of some keys."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Forget a key."""
        self._dict.pop(key, None)

    def contains(self, key: K) -> bool:
        """Whether there is a key."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Keys and values."""
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        """All keys."""
        return self._dict.keys()

    def values(self) -> Iterable[V]:
        """All values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Whether there is nothing."""
        return not self._dict

    def clear(self) -> None:
        """Forget everything."""
        self._dict = {}

    def __getitem__(self, key: K) -> V:
        return self._dict[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._dict[key] = value

    def __delitem__(self, key: K) -> None:
        del self._dict[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]
