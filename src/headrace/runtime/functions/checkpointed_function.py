"""A user function's part in checkpoints: its operator state, and the news about checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.errors import StateError
from headrace.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedStateStore,
    ListCheckpointed,
    RichFunction,
    RuntimeContext,
)
from headrace.datastream.state import ListState, ListStateDescriptor, OperatorStateStore

if TYPE_CHECKING:
    from headrace.runtime.operator import Operator

__all__ = ["FunctionCheckpoints"]

_LIST_CHECKPOINTED = "_list_checkpointed"


class FunctionCheckpoints:
    """Calls what a function has of the interfaces that concern checkpoints, if it has any."""

    def __init__(self, function: Any, operator: Operator) -> None:
        self._function = function
        self._operator = operator

    def initialize(self, context: RuntimeContext) -> None:
        """Give the function its state back, before it is opened."""
        function, operator = self._function, self._operator
        if not isinstance(function, CheckpointedFunction | ListCheckpointed):
            return
        if isinstance(function, RichFunction):
            function.set_runtime_context(context)
        try:
            if isinstance(function, CheckpointedFunction):
                where = "initialize_state"
                function.initialize_state(_InitializationContext(operator, context))
            elif operator.restored:
                where = "restore_state"
                function.restore_state(list(self._list_state().get()))
        except Exception as error:
            raise operator.failed(error, where=where) from error

    def before_snapshot(self, checkpoint: int, timestamp: int) -> None:
        """Let the function bring its state up to date, at the barrier."""
        function = self._function
        try:
            if isinstance(function, CheckpointedFunction):
                function.snapshot_state(_SnapshotContext(checkpoint, timestamp))
            elif isinstance(function, ListCheckpointed):
                elements: Any = function.snapshot_state(checkpoint, timestamp)
                if elements is None:
                    elements = []
                if not isinstance(elements, list | tuple):
                    raise StateError(
                        f"snapshot_state() of {type(function).__name__} must return a list, not "
                        f"{elements!r}; return [] for no state"
                    )
                self._list_state().update(elements)
        except Exception as error:
            raise self._operator.failed(error, where="snapshot_state") from error

    def notify(self, checkpoint: int, completed: bool) -> None:
        """Tell the function how a checkpoint ended."""
        if not isinstance(self._function, CheckpointListener):
            return
        try:
            if completed:
                self._function.notify_checkpoint_complete(checkpoint)
            else:
                self._function.notify_checkpoint_aborted(checkpoint)
        except Exception as error:
            raise self._operator.failed(error, where="notify_checkpoint") from error

    def _list_state(self) -> ListState[Any]:
        descriptor = ListStateDescriptor(_LIST_CHECKPOINTED)
        return self._operator.operator_state.get_list_state(descriptor)


class _InitializationContext(FunctionInitializationContext):
    def __init__(self, operator: Operator, context: RuntimeContext) -> None:
        self._operator = operator
        self._context = context

    def is_restored(self) -> bool:
        return self._operator.restored

    def get_restored_checkpoint_id(self) -> int | None:
        return self._operator.restored_checkpoint

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._operator.operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._context


class _SnapshotContext(FunctionSnapshotContext):
    def __init__(self, checkpoint: int, timestamp: int) -> None:
        self._checkpoint = checkpoint
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        return self._checkpoint

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp
