"""Lists and maps: in accumulators, and as state of process table functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, Generic, TypeVar

from headrace.common.errors import StateError

__all__ = ["DataView", "ListView", "MapIterator", "MapView"]

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


class MapIterator(Iterator[T], Generic[K, T]):
    """Goes over a map; meanwhile, only its `remove` may take entries away."""

    def __init__(self, entries: MutableMapping[K, Any], give: Callable[[K], T]) -> None:
        self._entries = entries
        self._give = give
        # Removing must not disturb the rest of the way.
        self._keys = iter(list(entries))
        self._last: list[K] = []

    def __next__(self) -> T:
        key = next(self._keys)
        self._last = [key]
        return self._give(key)

    def remove(self) -> None:
        """Forget the entry that came last."""
        if not self._last:
            raise StateError("call next() on the iterator before each remove()")
        del self._entries[self._last.pop()]


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

    def items(self) -> MapIterator[K, tuple[K, V]]:
        """Keys and values; the iterator can remove what it gave, see `MapIterator`."""
        return MapIterator(self._dict, lambda key: (key, self._dict[key]))

    def keys(self) -> MapIterator[K, K]:
        """All keys; the iterator can remove what it gave, see `MapIterator`."""
        return MapIterator(self._dict, lambda key: key)

    def values(self) -> MapIterator[K, V]:
        """All values; the iterator can remove what it gave, see `MapIterator`."""
        return MapIterator(self._dict, lambda key: self._dict[key])

    def is_empty(self) -> bool:
        """Whether there is nothing."""
        return not self._dict

    def clear(self) -> None:
        """Forget everything."""
        self._dict = {}

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._dict[key] = value

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    __hash__ = None  # type: ignore[assignment]
