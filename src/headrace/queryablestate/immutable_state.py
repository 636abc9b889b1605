"""Copies of state, for reading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from headrace.common.errors import StateError
from headrace.datastream.state import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    State,
    ValueState,
)

__all__ = ["immutable_state"]


class _Immutable:
    def __init__(self, name: str, content: Any) -> None:
        self._name = name
        self._content = content

    def _refuse(self) -> NoReturn:
        raise StateError(
            f"this is a copy of the queryable state {self._name!r}: only the job itself changes it"
        )

    def clear(self) -> None:
        self._refuse()

    def __repr__(self) -> str:
        return f"<{self._name}: {self._content!r}>"


class ImmutableValueState(_Immutable, ValueState[Any]):
    """A value."""

    def value(self) -> Any:
        """The value."""
        return self._content

    def update(self, value: Any) -> None:
        """Refused."""
        self._refuse()


class _ImmutableAppending(_Immutable):
    def get(self) -> Any:
        return self._content

    def add(self, value: Any) -> None:
        self._refuse()


class ImmutableReducingState(_ImmutableAppending, ReducingState[Any]):
    """A reduced value."""


class ImmutableAggregatingState(_ImmutableAppending, AggregatingState[Any, Any]):
    """The result of an aggregate function."""


class ImmutableListState(_ImmutableAppending, ListState[Any]):
    """A list."""

    def update(self, values: Iterable[Any]) -> None:
        """Refused."""
        self._refuse()

    def add_all(self, values: Iterable[Any]) -> None:
        """Refused."""
        self._refuse()


class ImmutableMapState(_Immutable, MapState[Any, Any]):
    """A map."""

    def get(self, key: Any) -> Any:
        """The value of a key, or None."""
        return self._content.get(key)

    def contains(self, key: Any) -> bool:
        """Whether a key has a value."""
        return key in self._content

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All pairs."""
        return list(self._content.items())

    def keys(self) -> Iterable[Any]:
        """All keys."""
        return list(self._content)

    def values(self) -> Iterable[Any]:
        """All values."""
        return list(self._content.values())

    def is_empty(self) -> bool:
        """Whether there are no entries."""
        return not self._content

    def put(self, key: Any, value: Any) -> None:
        """Refused."""
        self._refuse()

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        """Refused."""
        self._refuse()

    def remove(self, key: Any) -> None:
        """Refused."""
        self._refuse()


_KINDS: dict[str, Callable[[str, Any], State]] = {
    "ValueState": ImmutableValueState,
    "ListState": ImmutableListState,
    "MapState": ImmutableMapState,
    "ReducingState": ImmutableReducingState,
    "AggregatingState": ImmutableAggregatingState,
}


def immutable_state(kind: str, content: Any, name: str) -> State:
    """A state object of a kind with this content."""
    return _KINDS[kind](name, content)
