"""Functions that users write to read the state of keys, and to fill state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from headrace.datastream.functions import (
    CheckpointedFunction,
    Function,
    KeyedProcessFunction,
    ProcessFunction,
)
from headrace.datastream.state import BroadcastState, MapStateDescriptor

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "StateBootstrapFunction",
]


class KeyedStateReaderFunction(Function):
    """Reads all states of a key together.

    `open` gets states with the same descriptors as the program that wrote them.
    """

    @abstractmethod
    def read_key(self, key: Any) -> Iterable[Any]:
        """The rows for one key: tuples in the order of the schema. Called once for each key."""


class KeyedStateBootstrapFunction(KeyedProcessFunction[Any, Any, Any]):
    """Fills keyed state, and sets timers, from rows. Override `process_element(value, ctx)`.

    `value` is a `Row` with the columns of the DataFrame. Nothing may be yielded.
    """


class StateBootstrapFunction(ProcessFunction[Any, Any], CheckpointedFunction):
    """Fills operator state from rows.

    Get the state in `initialize_state`, take rows in `process_element(value, ctx)`, and write
    the state there or in `snapshot_state`.
    """

    def snapshot_state(self, context: Any) -> None:
        """Called once, after the last row."""


class BroadcastStateBootstrapFunction(StateBootstrapFunction):
    """Fills broadcast state from rows: `process_broadcast_element(value, state)`.

    Args:
        descriptor: The broadcast state.
    """

    def __init__(self, descriptor: MapStateDescriptor) -> None:
        self.descriptor = descriptor
        self._state: BroadcastState[Any, Any]

    def initialize_state(self, context: Any) -> None:
        """Gets the state."""
        self._state = context.get_operator_state_store().get_broadcast_state(self.descriptor)

    @abstractmethod
    def process_broadcast_element(self, value: Any, state: BroadcastState[Any, Any]) -> None:
        """Take one row."""

    def process_element(self, value: Any, ctx: Any) -> None:
        """Hands the row on."""
        self.process_broadcast_element(value, self._state)
