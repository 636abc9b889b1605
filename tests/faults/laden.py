"""So much state that a slot forks to write its snapshots."""

from __future__ import annotations

from typing import Any

from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.runtime.snapshots.subtasks import FEW_ENTRIES

MANY = FEW_ENTRIES + 1


class _Laden(MapFunction[Any, Any], CheckpointedFunction):
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        store.get_list_state(ListStateDescriptor("laden")).update([False] * MANY)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def map(self, value: Any) -> Any:
        return value


def laden(stream: DataStream[Any]) -> DataStream[Any]:
    """The same stream, from subtasks with that much state."""
    return stream.map(_Laden()).uid("laden")
