"""Interfaces that a function may implement beside its own, to take part in checkpoints.

Operator state and notifications.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from headrace.datastream.functions.base import KeyedStateStore
    from headrace.datastream.state import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "ListCheckpointed",
]

T = TypeVar("T")


class FunctionSnapshotContext(ABC):
    """Passed to `CheckpointedFunction.snapshot_state`."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Returns the number of the checkpoint; later checkpoints have larger numbers."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Returns the time in milliseconds at which the checkpoint was started."""


class FunctionInitializationContext(ABC):
    """Passed to `CheckpointedFunction.initialize_state`."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Returns whether the job resumes from a checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Returns the number of that checkpoint, or None if nothing is restored."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Returns the store of state that belongs to the subtask and to no key."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Returns the store of keyed state; only on a keyed stream."""


class CheckpointedFunction(ABC):
    """A function with operator state.

    The runtime calls `initialize_state` once, before `open`, and `snapshot_state` at each
    checkpoint barrier, between two records.

    Example:
        >>> from headrace.datastream.functions import SinkFunction
        >>> class Buffer(SinkFunction, CheckpointedFunction):
        ...     def initialize_state(self, context):
        ...         store = context.get_operator_state_store()
        ...         self.saved = store.get_list_state(ListStateDescriptor("buffer"))
        ...         self.buffer = list(self.saved.get())
        ...     def snapshot_state(self, context):
        ...         self.saved.update(self.buffer)
    """

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at a checkpoint: brings the operator state up to date."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called before `open`, at first start and after recovery: declares and reads state."""


class ListCheckpointed(ABC, Generic[T]):
    """A short form of `CheckpointedFunction`: the state is one list.

    After a change of parallelism the elements of all lists are dealt out evenly.
    """

    @abstractmethod
    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[T]:
        """Called at a checkpoint: returns the state as a list of redistributable elements."""

    @abstractmethod
    def restore_state(self, state: list[T]) -> None:
        """Called before `open` after recovery, with this subtask's share of the elements."""


class CheckpointListener(ABC):
    """A function that wants to hear how checkpoints end.

    Notifications may get lost when a job fails; a later checkpoint includes what an earlier one
    had.
    """

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called after the checkpoint is complete and durable."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027
        """Called after the checkpoint was given up."""
