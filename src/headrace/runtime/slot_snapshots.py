"""Snapshots in a slot: taken at the barrier, written by a forked child during the next epoch."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

from headrace.common.crash_points import crash_point
from headrace.graph.ids import SlotId
from headrace.runtime.epoch import CheckpointRequest
from headrace.runtime.messages import Snapshotted
from headrace.runtime.snapshot_files import read_snapshot, write_snapshot
from headrace.runtime.snapshots import SubtaskSnapshot, restore_subtask, take_snapshot
from headrace.runtime.storage import Storage, Storages, join
from headrace.runtime.subtask import Subtask


class SlotSnapshots:
    """Takes and restores the snapshots of a slot's subtasks."""

    def __init__(self, slot: SlotId, report: Callable[[Any], None]) -> None:
        self._slot = slot
        self._report = report
        self._storages = Storages()

    def use(self, storages: Storages) -> None:
        """Where the job keeps its checkpoints."""
        self._storages = storages

    def take(self, subtask: Subtask, request: CheckpointRequest) -> None:
        """Take a snapshot; it is reported when it is in storage."""
        crash_point("barrier-reached")
        snapshot = take_snapshot(subtask, request.checkpoint)
        splits = snapshot.take_splits()
        path = join(request.directory, f"{subtask.vertex.id}-{subtask.task.subtask}.snapshot")
        storage = self._storages.of(path)
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            # The child's memory stays as it is at this moment. It ends without anybody's exit code.
            try:
                os.close(read_end)
                os.write(write_end, pickle.dumps(_written(storage, path, snapshot)))
            finally:
                os._exit(0)
        os.close(write_end)
        crash_point("snapshot-taken")
        snapshot.release()
        message = Snapshotted(
            self._slot,
            subtask.vertex.id,
            subtask.task.subtask,
            request.checkpoint,
            path,
            splits=splits,
        )
        threading.Thread(target=self._await, args=(child, read_end, message), daemon=True).start()

    def _await(self, child: int, read_end: int, message: Snapshotted) -> None:
        with os.fdopen(read_end, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        size, error = (
            pickle.loads(answer) if answer else (0, "the process that writes it was killed")
        )
        self._report(
            Snapshotted(
                message.slot,
                message.vertex,
                message.subtask,
                message.checkpoint,
                message.path,
                size,
                message.splits,
                error,
            )
        )

    def restore(self, subtask: Subtask, files: dict[str, list[str]]) -> None:
        """Give a subtask its share of a checkpoint, before it is opened."""
        operator_ids = [o.context.operator_id for o in subtask.operators.values()]
        paths = sorted({path for i in operator_ids for path in files.get(i, ())})
        if files:
            crash_point("restore-begun")
            restore_subtask(
                subtask, [read_snapshot(self._storages.of(path), path) for path in paths]
            )
            crash_point("restore-done")


def _written(storage: Storage, path: str, snapshot: SubtaskSnapshot) -> tuple[int, str | None]:
    try:
        crash_point("part-begun")
        size = write_snapshot(storage, path, snapshot.serialized())
        crash_point("part-written")
        return size, None
    except BaseException as error:
        return 0, f"{type(error).__name__}: {error}"
