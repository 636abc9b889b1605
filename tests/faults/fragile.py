"""A function that goes wrong on demand: a file in a directory says how."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from headrace.datastream.functions import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    MapFunction,
)
from headrace.datastream.state import ListStateDescriptor


class Fragile(MapFunction[Any, Any], CheckpointedFunction, CheckpointListener):
    """Passes records on, unless one of these files is there.

    `raise`: the next record fails, once. `refuse`: the next snapshot fails, once. `unwritable`:
    what the next snapshot has of this function cannot be written, once. `slow`: that takes until
    the file is gone to be written. What the function hears of checkpoints goes to `heard`.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def map(self, value: Any) -> Any:
        if _claimed(self._directory / "raise"):
            raise ValueError(f"{value} was one too many")
        return value

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._state = store.get_list_state(ListStateDescriptor("fragile"))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        if _claimed(self._directory / "refuse"):
            raise ValueError("no snapshot now")
        self._state.update([Piece(self._directory)])

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._note("completed", checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._note("aborted", checkpoint_id)

    def _note(self, what: str, checkpoint: int) -> None:
        with (self._directory / "heard").open("a") as file:
            file.write(f"{what} {checkpoint}\n")


class Piece:
    """A piece of state that may be slow or impossible to write."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __getstate__(self) -> dict[str, Any]:
        while (self.directory / "slow").exists():
            time.sleep(0.02)
        if _claimed(self.directory / "unwritable"):
            raise ValueError("this cannot be written")
        return {"directory": self.directory}


def _claimed(file: Path) -> bool:
    """Whether a file is there; it is gone afterwards, so that only one finds it."""
    if not file.exists():
        return False
    try:
        file.unlink()
    except FileNotFoundError:
        return False
    return True
