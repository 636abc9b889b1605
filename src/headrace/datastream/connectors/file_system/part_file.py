"""A file of the sink, from its first record until everybody sees it.

It is written as `.part-<id>-<n>.inprogress.<uuid>`, then *pending*: complete and closed, but still
hidden; and at last *finished*, under its final name. A pending file can be finished again after a
failure: if it was finished before, nothing happens.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from headrace.common.errors import HeadraceError
from headrace.common.serialization import (
    BulkWriterFactory,
    Encoder,
    LinesEncoder,
    SimpleStringEncoder,
)
from headrace.datastream.connectors.file_system.enumeration import is_remote
from headrace.datastream.connectors.file_system.remote import Workspace

if TYPE_CHECKING:
    from headrace.runtime.storage import Storage, Storages

__all__ = ["BulkFile", "PartFile", "PendingFile", "UnfinishedFile", "encode_lines", "remedy"]

_BUFFER = 256 * 1024


@dataclass(frozen=True)
class UnfinishedFile:
    """A file that was being written at a checkpoint: what is behind `size` does not count."""

    hidden_path: str
    final_path: str
    bucket_id: str
    size: int
    creation_time: int
    last_update_time: int


@dataclass(frozen=True)
class PendingFile:
    """A file that is complete and waits for its final name. Picklable, for checkpoints."""

    hidden_path: str
    final_path: str

    def finish(self, storages: Storages | None = None) -> None:
        """Give the file its final name; `storages` has those that are not on this machine."""
        if is_remote(self.final_path):
            assert storages is not None
            self._move(storages.of(self.final_path))
            return
        try:
            os.rename(self.hidden_path, self.final_path)
        except FileNotFoundError:
            if not os.path.exists(self.final_path):
                raise self._lost() from None

    def _move(self, storage: Storage) -> None:
        # A move that was broken off is repeated: the same content gets the same name once more.
        if storage.exists(self.hidden_path):
            storage.move(self.hidden_path, self.final_path)
        elif not storage.exists(self.final_path):
            raise self._lost()

    def _lost(self) -> HeadraceError:
        return HeadraceError(
            f"the file sink lost a file: neither {self.hidden_path} nor {self.final_path} exists"
        )


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def remedy(error: OSError) -> str:
    """What to do when the system refuses a file."""
    if error.errno in _FULL:
        return "free space on the disk, or write to another one"
    return "let the user that runs the workers write there, or choose another path"


class PartFile:
    """A file that is being written; `saved` if a checkpoint knows it.

    A file of an object store is written on this machine and sent when it is complete.
    """

    saved = False
    _workspace: Workspace | None = None

    def __init__(
        self,
        directory: str,
        name: str,
        bucket_id: str,
        now_ms: int,
        workspace: Workspace | None = None,
    ) -> None:
        self.bucket_id = bucket_id
        self.creation_time = now_ms
        self.last_update_time = now_ms
        self._final_path = os.path.join(directory, name)
        self._hidden_path = os.path.join(directory, f".{name}.inprogress.{uuid.uuid4()}")
        self._workspace = workspace
        self._work_path = self._hidden_path
        try:
            if workspace is not None:
                self._work_path = workspace.path_for(name)
            else:
                os.makedirs(directory, exist_ok=True)
            self._stream: BinaryIO = open(self._work_path, "xb", buffering=_BUFFER)  # noqa: SIM115
        except OSError as error:
            raise HeadraceError(
                f"the file sink cannot write to {directory}: {error}; {remedy(error)}"
            ) from error

    @classmethod
    def resume(cls, saved: UnfinishedFile) -> PartFile:
        """Go on with a file of a checkpoint, without what was written after it."""
        file = cls.__new__(cls)
        file.bucket_id = saved.bucket_id
        file.creation_time, file.last_update_time = saved.creation_time, saved.last_update_time
        file._hidden_path, file._final_path = saved.hidden_path, saved.final_path
        try:
            file._stream = open(saved.hidden_path, "r+b", buffering=_BUFFER)  # noqa: SIM115
            if os.path.getsize(saved.hidden_path) < saved.size:
                raise OSError(f"it is shorter than the {saved.size} bytes that the checkpoint has")
            file._stream.truncate(saved.size)
            file._stream.seek(saved.size)
        except OSError as error:
            raise HeadraceError(
                f"the file sink cannot continue {saved.hidden_path}, which is part of the "
                f"checkpoint: {error}; restore from another checkpoint"
            ) from error
        return file

    def save(self) -> UnfinishedFile:
        """What is there now, for a checkpoint."""
        self._to_disk()
        self.saved = True
        return UnfinishedFile(
            self._hidden_path,
            self._final_path,
            self.bucket_id,
            self.size,
            self.creation_time,
            self.last_update_time,
        )

    def _to_disk(self) -> None:
        self._stream.flush()
        os.fsync(self._stream.fileno())

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._stream.tell()

    def write(self, element: Any, encoder: Encoder, now_ms: int) -> None:
        """Write one record."""
        with self._named_failures():
            encoder.encode(element, self._stream)
        self.last_update_time = now_ms

    def write_bytes(self, data: bytes, now_ms: int) -> None:
        """Write records that are encoded already."""
        with self._named_failures():
            self._stream.write(data)
        self.last_update_time = now_ms

    def flush(self) -> None:
        """Hand what is buffered to the operating system."""
        with self._named_failures():
            self._stream.flush()

    @contextlib.contextmanager
    def _named_failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HeadraceError(
                f"the file sink cannot write {self._final_path}: {error}; {remedy(error)}; records "
                "since the last checkpoint are written again when the job is restarted"
            ) from error

    def close(self) -> PendingFile:
        """Close the file; it is complete now."""
        with self._named_failures():
            self._to_disk()
            self._stream.close()
            if self._workspace is not None:
                self._workspace.send(self._work_path, self._hidden_path)
        return PendingFile(self._hidden_path, self._final_path)

    def abandon(self) -> None:
        """Close the file as it is: it stays hidden, and a recovery may go on with it.

        One of an object store is not there yet, and never will be.
        """
        with contextlib.suppress(OSError):
            self._stream.close()


class BulkFile(PartFile):
    """A file in a bulk format. It is complete only when it is closed, so it cannot be resumed."""

    def __init__(
        self,
        directory: str,
        name: str,
        bucket_id: str,
        now_ms: int,
        factory: BulkWriterFactory,
        workspace: Workspace | None = None,
    ) -> None:
        super().__init__(directory, name, bucket_id, now_ms, workspace)
        with self._named_failures():
            self._writer = factory.create(self._stream)

    def write(self, element: Any, encoder: Any, now_ms: int) -> None:
        """Write one record."""
        with self._named_failures():
            self._writer.add_element(element)
        self.last_update_time = now_ms

    def write_all(self, elements: list[Any], now_ms: int) -> None:
        """Write many records."""
        with self._named_failures():
            self._writer.add_elements(elements)
        self.last_update_time = now_ms

    def flush(self) -> None:
        """Hand over what the format can."""
        with self._named_failures():
            self._writer.flush()
            self._stream.flush()

    def close(self) -> PendingFile:
        """Complete the file and close it."""
        with self._named_failures():
            self._writer.finish()
        return super().close()

    def abandon(self) -> None:
        """Close the file; a recovery deletes it."""
        # A writer that is not finished would complain when it is collected.
        with contextlib.suppress(Exception):
            self._writer.finish()
        super().abandon()


def encode_lines(elements: list[Any], encoder: Any) -> bytes | None:
    """Many records at once, where the encoder is known; None if it has to write them one by one."""
    if isinstance(encoder, LinesEncoder):
        return encoder.encode_all(elements)
    if type(encoder) is not SimpleStringEncoder:
        return None
    return ("\n".join(map(encoder.to_text, elements)) + "\n").encode(encoder.charset)
