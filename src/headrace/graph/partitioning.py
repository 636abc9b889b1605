"""How records choose a subtask of the next operator.

These are descriptions; `headrace.runtime.exchange.routing` turns one into code that splits a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True)
class Partitioning:
    """Base of all descriptions. `ship_strategy` is the word that Flink's plan uses."""

    ship_strategy: ClassVar[str] = "FORWARD"

    @property
    def pointwise(self) -> bool:
        """Whether a subtask sends to a fixed few subtasks instead of to all of them."""
        return False


@dataclass(frozen=True)
class Forward(Partitioning):
    """Subtask i sends to subtask i: both sides have one parallelism."""

    ship_strategy: ClassVar[str] = "FORWARD"

    @property
    def pointwise(self) -> bool:
        return True


@dataclass(frozen=True)
class Rebalance(Partitioning):
    """Round robin over all subtasks."""

    ship_strategy: ClassVar[str] = "REBALANCE"


@dataclass(frozen=True)
class Rescale(Partitioning):
    """Round robin over the subtasks that belong to the sender's share."""

    ship_strategy: ClassVar[str] = "RESCALE"

    @property
    def pointwise(self) -> bool:
        return True


@dataclass(frozen=True)
class Shuffle(Partitioning):
    """A random subtask for each record."""

    ship_strategy: ClassVar[str] = "SHUFFLE"


@dataclass(frozen=True)
class Broadcast(Partitioning):
    """Every record to every subtask."""

    ship_strategy: ClassVar[str] = "BROADCAST"


@dataclass(frozen=True)
class Global(Partitioning):
    """Every record to subtask 0."""

    ship_strategy: ClassVar[str] = "GLOBAL"


@dataclass(frozen=True)
class Custom(Partitioning):
    """`partition(key, number_of_subtasks)` chooses."""

    partition: Callable[[Any, int], int]
    key_selector: Callable[[Any], Any]

    ship_strategy: ClassVar[str] = "CUSTOM"


@dataclass(frozen=True)
class Keyed(Partitioning):
    """All records of a key to one subtask, by key group. The key travels with the record."""

    key_selector: Callable[[Any], Any]

    ship_strategy: ClassVar[str] = "HASH"


@dataclass(frozen=True)
class KeyBy(Keyed):
    """The same, where a program says `key_by()`: its keys may be NaN, which is one key."""


class ColumnKeys(Protocol):
    """The keys of the records of a batch of columns."""

    def __call__(self, columns: Any, /) -> list[Any]: ...

    def numbers(self, columns: Any, /) -> list[Any] | None:
        """Their parts as arrays of numpy, where all of these are whole numbers of 64 bits."""


@dataclass(frozen=True)
class KeyedColumns(Keyed):
    """The same for batches of columns, which become records behind the exchange.

    Attributes:
        keys_of: The keys of the records of a batch.
        decode: The records and their keys.
    """

    keys_of: ColumnKeys
    decode: Callable[[Any], tuple[list[Any], list[Any]]]
