"""Snapshots in a slot: taken at the barrier, written during the next epoch.

A few changes since the last checkpoint are turned into bytes at once, and a thread writes those.
For anything else the slot forks: the child, whose memory stays as it was at the barrier, makes the
bytes. It writes local files itself; what goes elsewhere it hands back
through a pipe, because connections and their threads do not survive a fork.
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from struct import Struct
from typing import Any, BinaryIO

from headrace.common.crash_points import crash_point
from headrace.graph.ids import CheckpointId, SlotId
from headrace.runtime.epoch import CheckpointRequest, SubtaskKey
from headrace.runtime.local_copies import CopyingStorage, LocalCopies
from headrace.runtime.messages import Snapshotted
from headrace.runtime.snapshot_files import read_snapshot, write_snapshot
from headrace.runtime.snapshot_writer import write_to
from headrace.runtime.snapshots import SubtaskSnapshot, restore_subtask, take_snapshot
from headrace.runtime.storage import Storage, Storages, is_local, join
from headrace.runtime.subtask import Subtask

_LONG_S = 0.05
_FRAME = Struct(">cI")
_DATA, _DONE = b"d", b"e"


class SlotSnapshots:
    """Takes and restores the snapshots of a slot's subtasks."""

    def __init__(self, slot: SlotId, report: Callable[[Any], None]) -> None:
        self._slot = slot
        self._report = report
        self._storages = Storages()
        self._copies: LocalCopies | None = None
        # Subtasks whose entries are so large that even few of them take long.
        self._slow: set[SubtaskKey] = set()

    def use(self, storages: Storages, copies: LocalCopies | None = None) -> None:
        """Where the job keeps its checkpoints, and copies of them."""
        self._storages = storages
        self._copies = copies if copies is not None and copies.usable else None

    def _storage(self, path: str) -> Storage:
        storage = self._storages.of(path)
        return storage if self._copies is None else CopyingStorage(storage, self._copies)

    def ended(self, checkpoint: CheckpointId, completed: bool) -> None:
        """What became of a checkpoint: copies that nobody needs go."""
        if self._copies is not None:
            self._copies.ended(checkpoint, completed)

    def take(self, subtask: Subtask, request: CheckpointRequest) -> None:
        """Take a snapshot; it is reported when it is in storage."""
        crash_point("barrier-reached")
        key = (subtask.vertex.id, subtask.task.subtask)
        path = join(request.directory, f"{key[0]}-{key[1]}.snapshot")
        # Nobody goes back to a savepoint by himself.
        storage = self._storages.of(path) if request.savepoint else self._storage(path)
        snapshot = take_snapshot(
            subtask, request.checkpoint, base=request.base, savepoint=request.savepoint
        )
        message = Snapshotted(
            self._slot,
            *key,
            request.checkpoint,
            path,
            splits=snapshot.take_splits(),
            base=snapshot.base,
        )
        if self._copies is not None and not request.savepoint:
            self._copies.began(request.checkpoint, snapshot.base, path)
        if snapshot.few and key not in self._slow:
            started = time.thread_time()
            write = self._write_encoded(storage, path, snapshot, request.compress)
            if time.thread_time() - started > _LONG_S:
                self._slow.add(key)
        else:
            write = self._write_forked(storage, path, snapshot, request.compress)
        crash_point("snapshot-taken")
        name = f"snapshot-{request.checkpoint}"
        threading.Thread(target=self._finish, args=(write, message), daemon=True, name=name).start()

    def _finish(self, write: Callable[[], int], message: Snapshotted) -> None:
        try:
            self._report(replace(message, size=write()))
        except Exception as error:
            text = str(error) if isinstance(error, _ChildError) else _text(error)
            self._report(replace(message, error=text))

    @staticmethod
    def _write_encoded(
        storage: Storage, path: str, snapshot: SubtaskSnapshot, compress: bool
    ) -> Callable[[], int]:
        """Make the bytes now; what writes them."""
        buffer = BytesIO()
        try:
            size = write_to(buffer, snapshot, compress=compress)
        except Exception as error:
            raised = error

            def fail() -> int:
                raise raised

            return fail

        def write() -> int:
            crash_point("part-begun")
            storage.write(path, buffer.getvalue())
            crash_point("part-written")
            return size

        return write

    @staticmethod
    def _write_forked(
        storage: Storage, path: str, snapshot: SubtaskSnapshot, compress: bool
    ) -> Callable[[], int]:
        """Fork a child that makes the bytes; what sees it through."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            # The child ends without anybody's exit code.
            try:
                # A collection would touch, and so copy, every page of the parent.
                gc.disable()
                os.close(read_end)
                with os.fdopen(write_end, "wb", buffering=0) as pipe:
                    target = storage if is_local(path) else None
                    _work(pipe, target, path, snapshot, compress)
            finally:
                os._exit(0)
        os.close(write_end)
        snapshot.release()

        def write() -> int:
            try:
                with os.fdopen(read_end, "rb") as pipe:
                    return _receive(pipe, storage, path)
            finally:
                os.waitpid(child, 0)

        return write

    def restore(self, subtask: Subtask, files: dict[str, list[list[str]]]) -> None:
        """Give a subtask its share of a checkpoint, before it is opened."""
        if not files:
            return
        crash_point("restore-begun")
        chains: dict[tuple[str, ...], None] = {}
        for operator in subtask.operators.values():
            chains |= dict.fromkeys(map(tuple, files.get(operator.context.operator_id, ())))
        snapshots = [self._read(path) for chain in sorted(chains) for path in chain]
        restore_subtask(subtask, snapshots)
        crash_point("restore-done")

    def _read(self, path: str) -> SubtaskSnapshot:
        snapshot = read_snapshot(self._storage(path), path)
        if self._copies is not None and snapshot.checkpoint is not None:
            self._copies.began(snapshot.checkpoint, snapshot.base, path)
        return snapshot


class _ChildError(Exception):
    """What the forked child could not do."""


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# The child's side of the pipe.


class _Sender:
    """The end of a pipe as a file: bytes go as frames."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> None:
        self.send(_DATA, data)

    def send(self, kind: bytes, data: bytes) -> None:
        frame = memoryview(_FRAME.pack(kind, len(data)) + data)
        while frame:
            frame = frame[self._pipe.write(frame) :]


def _work(
    pipe: BinaryIO, storage: Storage | None, path: str, snapshot: SubtaskSnapshot, compress: bool
) -> None:
    sender = _Sender(pipe)
    try:
        crash_point("part-begun")
        if storage is None:
            answer: tuple[int, str | None] = (write_to(sender, snapshot, compress=compress), None)
        else:
            answer = (write_snapshot(storage, path, snapshot, compress=compress), None)
            crash_point("part-written")
    except BaseException as error:
        answer = (0, _text(error))
    sender.send(_DONE, pickle.dumps(answer))


# The parent's side.


def _receive(pipe: BinaryIO, storage: Storage, path: str) -> int:
    if is_local(path):
        return _answer(_frame(pipe)[1])
    with storage.create(path) as file:
        while (frame := _frame(pipe))[0] != _DONE:
            file.write(frame[1])
        size = _answer(frame[1])
    crash_point("part-written")
    return size


def _frame(pipe: BinaryIO) -> tuple[bytes, bytes]:
    header = pipe.read(_FRAME.size)
    if len(header) == _FRAME.size:
        kind, length = _FRAME.unpack(header)
        data = pipe.read(length)
        if len(data) == length:
            return kind, data
    raise _ChildError("the process that writes it was killed")


def _answer(data: bytes) -> int:
    size, error = pickle.loads(data)
    if error is not None:
        raise _ChildError(error)
    return int(size)
