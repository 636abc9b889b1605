"""Snapshots in a slot: taken at the barrier, written during the next epoch.

A few entries are turned into bytes at once, and a thread writes those: a fork costs more, since the
slot then has to copy each page that it writes to. For anything else the slot forks: the child,
whose memory stays as it was at the barrier, makes the bytes. It writes local files itself; what
goes elsewhere it hands back through a pipe, because connections and their threads do not survive a
fork. What it prints takes the same way. It ends with its slot: nobody waits any more for what it
would write.
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
from headrace.runtime.epoch import ChannelReport, CheckpointRequest, SubtaskKey
from headrace.runtime.slot.messages import Snapshotted
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.local_copies import CopyingStorage, LocalCopies
from headrace.runtime.snapshots.subtasks import SubtaskSnapshot, restore_subtask, take_snapshot
from headrace.runtime.snapshots.writer import Seal, write_to
from headrace.runtime.storage import Storage, Storages, is_local, join
from headrace.runtime.subtask import Subtask

_LONG_S = 0.02
_FRAME = Struct(">cI")
_DATA, _MESSAGE, _DONE = b"d", b"m", b"e"
_LOOK_S = 0.2


class SlotSnapshots:
    """Takes and restores the snapshots of a slot's subtasks.

    Args:
        slot: The slot.
        report: Sends a message to the job master.
        in_child: Called in a forked child with what it sends messages by instead.
        at_once: Whether a snapshot is in storage when `take` returns: no thread, no fork.
    """

    def __init__(
        self,
        slot: SlotId,
        report: Callable[[Any], None],
        in_child: Callable[[Callable[[Any], None]], None] = lambda send: None,
        at_once: bool = False,
    ) -> None:
        self._slot = slot
        self._report = report
        self._in_child = in_child
        self._at_once = at_once
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
        """Note the outcome of a checkpoint, and delete local copies that are no longer needed."""
        if self._copies is not None:
            self._copies.ended(checkpoint, completed)

    def take(
        self, subtask: Subtask, request: CheckpointRequest, channels: ChannelReport | None = None
    ) -> None:
        """Take a snapshot; it is reported when it is in storage.

        Args:
            subtask: Whose.
            request: Of which checkpoint, and where to.
            channels: How barriers have aligned; None if there were none.
        """
        crash_point("barrier-reached")
        key = (subtask.vertex.id, subtask.task.subtask)
        path = join(request.directory, f"{key[0]}-{key[1]}{request.suffix}.snapshot")
        # Nobody goes back to a savepoint by himself.
        storage = self._storages.of(path) if request.savepoint else self._storage(path)
        snapshot = take_snapshot(
            subtask, request.checkpoint, base=request.base, savepoint=request.savepoint
        )
        channels = channels or ChannelReport()
        message = Snapshotted(
            self._slot,
            *key,
            request.checkpoint,
            path,
            splits=snapshot.take_splits(),
            base=snapshot.base,
            alignment_ms=channels.alignment_ms,
            alignment_bytes=channels.alignment_bytes,
            unaligned=channels.cut or snapshot.carried is not None,
            carried_bytes=0 if snapshot.carried is None else snapshot.carried.size,
        )
        if self._copies is not None and not request.savepoint:
            self._copies.began(request.checkpoint, snapshot.base, path)
        given = (storage, path, snapshot, request.compress)
        if self._at_once:
            self._finish(self._write_encoded(*given, BytesIO()), message)
            return
        quickly = snapshot.few and key not in self._slow
        write = self._write_quickly(key, *given) if quickly else None
        if write is None:
            write = self._write_forked(*given)
        crash_point("snapshot-taken")
        name = f"snapshot-{request.checkpoint}"
        threading.Thread(target=self._finish, args=(write, message), daemon=True, name=name).start()

    def _finish(self, write: Callable[[], Seal], message: Snapshotted) -> None:
        try:
            self._report(replace(message, seal=write()))
        except Exception as error:  # noqa: BLE001 - a thread's top: the job master is told
            text = str(error) if isinstance(error, _ChildError) else _text(error)
            self._report(replace(message, error=text))

    def _write_quickly(
        self,
        key: SubtaskKey,
        storage: Storage,
        path: str,
        snapshot: SubtaskSnapshot,
        compress: bool,
    ) -> Callable[[], Seal] | None:
        """Make the bytes now; what writes them, or None if that takes too long."""
        buffer = _Hasty(can_give_up=snapshot.base is None)
        try:
            return self._write_encoded(storage, path, snapshot, compress, buffer)
        except _TooLongError:
            return None
        finally:
            if buffer.is_late:
                self._slow.add(key)

    @staticmethod
    def _write_encoded(
        storage: Storage,
        path: str,
        snapshot: SubtaskSnapshot,
        compress: bool,
        buffer: BytesIO,
    ) -> Callable[[], Seal]:
        """Make the bytes now; what writes them."""
        try:
            seal = write_to(buffer, snapshot, compress=compress)
        except _TooLongError:
            raise
        except Exception as error:  # noqa: BLE001 - raised by what writes
            raised = error

            def fail() -> Seal:
                raise raised

            return fail

        def write() -> Seal:
            crash_point("part-begun")
            storage.write(path, buffer.getvalue())
            crash_point("part-written")
            return seal

        return write

    def _write_forked(
        self, storage: Storage, path: str, snapshot: SubtaskSnapshot, compress: bool
    ) -> Callable[[], Seal]:
        """Fork a child that makes the bytes; what sees it through."""
        read_end, write_end = os.pipe()
        slot = os.getpid()
        child = os.fork()
        if child == 0:
            # The child ends without anybody's exit code.
            try:
                # A collection would touch, and so copy, every page of the parent.
                gc.disable()
                os.close(read_end)
                threading.Thread(target=_end_with, args=(slot,), daemon=True).start()
                with os.fdopen(write_end, "wb", buffering=0) as pipe:
                    sender = _Sender(pipe)
                    self._in_child(sender.send_message)
                    target = storage if is_local(path) else None
                    _work(sender, slot, target, path, snapshot, compress)
            finally:
                os._exit(0)
        os.close(write_end)
        snapshot.release()

        def write() -> Seal:
            try:
                with os.fdopen(read_end, "rb") as pipe:
                    if is_local(path):
                        return self._receive(pipe, None)
                    with storage.create(path) as file:
                        seal = self._receive(pipe, file)
                crash_point("part-written")
                return seal
            finally:
                os.waitpid(child, 0)

        return write

    def _receive(self, pipe: BinaryIO, file: BinaryIO | None) -> Seal:
        """Take what the child sends to its end; bytes, if any come, are for the file."""
        while True:
            kind, data = _frame(pipe)
            if kind == _DONE:
                return _answer(data)
            if kind == _MESSAGE:
                self._report(pickle.loads(data))
            elif file is not None:
                file.write(data)

    def restore(self, subtask: Subtask, files: dict[str, list[list[SnapshotRef]]]) -> None:
        """Give a subtask its share of a checkpoint, before it is opened."""
        if not files:
            return
        crash_point("restore-begun")
        chains: dict[tuple[SnapshotRef, ...], None] = {}
        for operator in subtask.operators.values():
            chains |= dict.fromkeys(map(tuple, files.get(operator.context.operator_id, ())))
        in_order = sorted(chains, key=lambda chain: [ref.path for ref in chain])
        snapshots = [self._read(ref) for chain in in_order for ref in chain]
        restore_subtask(subtask, snapshots)
        crash_point("restore-done")

    def _read(self, ref: SnapshotRef) -> SubtaskSnapshot:
        snapshot = ref.read(self._storage(ref.path))
        if self._copies is not None and snapshot.checkpoint is not None:
            self._copies.began(snapshot.checkpoint, snapshot.base, ref.path)
        return snapshot


class _TooLongError(Exception):
    """Making the bytes would keep the subtask waiting."""


class _Hasty(BytesIO):
    """Memory to write to, for a short time.

    Args:
        can_give_up: Whether to raise when the time is over. Changes may be read from a database,
            which can be done once; a whole state that is small is in memory.
    """

    def __init__(self, can_give_up: bool) -> None:
        super().__init__()
        self._can_give_up = can_give_up
        self._end = time.thread_time() + _LONG_S

    @property
    def is_late(self) -> bool:
        return time.thread_time() > self._end

    def write(self, data: Any, /) -> int:
        if self._can_give_up and self.is_late:
            raise _TooLongError
        return super().write(data)


class _ChildError(Exception):
    """What the forked child could not do."""


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


# The child's side of the pipe.


def _end_with(slot: int) -> None:
    """End also when a value takes for ever to be pickled."""
    while os.getppid() == slot:
        time.sleep(_LOOK_S)
    os._exit(1)


class _Sender:
    """The end of a pipe as a file: bytes go as frames."""

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe

    def write(self, data: bytes) -> None:
        self.send(_DATA, data)

    def send_message(self, message: Any) -> None:
        self.send(_MESSAGE, pickle.dumps(message))

    def send(self, kind: bytes, data: bytes) -> None:
        frame = memoryview(_FRAME.pack(kind, len(data)) + data)
        while frame:
            frame = frame[self._pipe.write(frame) :]


def _work(
    sender: _Sender,
    slot: int,
    storage: Storage | None,
    path: str,
    snapshot: SubtaskSnapshot,
    compress: bool,
) -> None:
    answer: Seal | str
    try:
        crash_point("part-begun")
        if storage is None:
            answer = write_to(sender, snapshot, compress=compress)
        else:
            with storage.create(path) as file:
                answer = write_to(file, snapshot, compress=compress)
                if os.getppid() != slot:
                    raise _ChildError("the slot is gone")
            crash_point("part-written")
    except BaseException as error:  # noqa: BLE001 - the top of a process: the slot is told
        answer = _text(error)
    sender.send(_DONE, pickle.dumps(answer))


# The parent's side.


def _frame(pipe: BinaryIO) -> tuple[bytes, bytes]:
    header = pipe.read(_FRAME.size)
    if len(header) == _FRAME.size:
        kind, length = _FRAME.unpack(header)
        data = pipe.read(length)
        if len(data) == length:
            return kind, data
    raise _ChildError("the process that writes it was killed")


def _answer(data: bytes) -> Seal:
    answer: Seal | str = pickle.loads(data)
    if isinstance(answer, str):
        raise _ChildError(answer)
    return answer
