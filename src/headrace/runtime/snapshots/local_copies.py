"""Copies of snapshots on the host of a slot, for a restore that need not ask the storage.

A copy is made while the snapshot is written, and its name has the checksum of its content. It is
used if it is there and intact; the storage is always right and always asked otherwise, so nothing
is lost when a copy is, or when the subtask comes back on another host.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from headrace.common.errors import ConfigurationError
from headrace.common.files.private_directory import private_directory
from headrace.graph.ids import CheckpointId
from headrace.runtime.storage import LocalStorage, Storage

__all__ = ["CopyingStorage", "LocalCopies", "local_root"]

_log = logging.getLogger(__name__)
_ABANDONED_S = 24 * 3600
_READ_BYTES = 1 << 20


def local_root(directory: str | None) -> Path:
    """The directory of all jobs' local copies; other users cannot write to it."""
    return Path(directory or tempfile.gettempdir()) / f"headrace-local-state-{os.getuid()}"


class LocalCopies:
    """The copies of one job in a slot.

    Args:
        directory: Where to keep copies; a temporary directory of the host if left out.
        job_id: The job.
    """

    def __init__(self, directory: str | None, job_id: str) -> None:
        root = local_root(directory)
        self._directory = root / job_id
        # Snapshots are unpickled, and old ones deleted: neither in what another user made.
        try:
            private_directory(root)
            private_directory(self._directory)
            self.usable = True
        except (ConfigurationError, OSError) as error:
            _log.warning("no local copies of snapshots are kept: %s", error)
            self.usable = False
        self._intact: dict[str, Path | None] = {}
        self._written: dict[CheckpointId, list[str]] = {}
        self._bases: dict[CheckpointId, CheckpointId | None] = {}
        if self.usable:
            self._remove_abandoned(root)

    def _remove_abandoned(self, root: Path) -> None:
        """Jobs that were killed with their hosts left something behind."""
        oldest = time.time() - _ABANDONED_S
        for job in root.iterdir():
            with contextlib.suppress(OSError):
                if job != self._directory and job.lstat().st_mtime < oldest:
                    shutil.rmtree(job, ignore_errors=True)

    # Which copies there are.

    def path_of(self, path: str) -> Path:
        """Where the copy of a file goes, without its checksum."""
        return self._directory / hashlib.sha256(path.encode()).hexdigest()[:32]

    def intact(self, path: str) -> Path | None:
        """The copy of a file, if it is there and has its checksum."""
        if path not in self._intact:
            found = next(iter(self._directory.glob(self.path_of(path).name + ".*")), None)
            good = found is not None and _has_checksum(found)
            if found is not None and not good:
                _log.warning("the local copy of %s is damaged; reading from storage", path)
            self._intact[path] = found if good else None
        return self._intact[path]

    # When they go.

    def began(self, checkpoint: CheckpointId, base: CheckpointId | None, path: str) -> None:
        """A snapshot is about to be written."""
        self._written.setdefault(checkpoint, []).append(path)
        self._bases[checkpoint] = base if base is not None else self._bases.get(checkpoint)

    def ended(self, checkpoint: CheckpointId, completed: bool) -> None:
        """A checkpoint is complete, so that those it does not build upon may go; or it is lost."""
        needed: set[CheckpointId] = set()
        link: CheckpointId | None = checkpoint if completed else None
        while link is not None:
            needed.add(link)
            link = self._bases.get(link)
        for known in list(self._written):
            if (known == checkpoint and not completed) or (completed and known < min(needed)):
                for path in self._written.pop(known):
                    self._remove(path)
                self._bases.pop(known, None)

    def _remove(self, path: str) -> None:
        self._intact.pop(path, None)
        for copy in self._directory.glob(self.path_of(path).name + "*"):
            copy.unlink(missing_ok=True)

    @staticmethod
    def remove_job(directory: str | None, job_id: str) -> None:
        """The job is over: remove its copies on this host."""
        root = local_root(directory)
        if not root.is_symlink():
            shutil.rmtree(root / job_id, ignore_errors=True)


def _has_checksum(copy: Path) -> bool:
    checksum = 0
    try:
        with copy.open("rb") as file:
            while data := file.read(_READ_BYTES):
                checksum = zlib.crc32(data, checksum)
    except OSError:
        return False
    return copy.suffix == f".{checksum:08x}"


class _Tee:
    """Writes to a file and to its copy; a copy that cannot be written is left out."""

    def __init__(self, file: BinaryIO, copy: BinaryIO | None) -> None:
        self._file = file
        self.copy = copy
        self.checksum = 0

    def write(self, data: bytes) -> int:
        self.checksum = zlib.crc32(data, self.checksum)
        if self.copy is not None:
            try:
                self.copy.write(data)
            except OSError as error:
                _log.warning("no local copy of a snapshot: %s", error)
                self.copy = None
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class CopyingStorage(Storage):
    """A storage with copies of its files on this host."""

    def __init__(self, storage: Storage, copies: LocalCopies) -> None:
        self._storage = storage
        self._copies = copies
        self._local = LocalStorage()

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[BinaryIO]:
        target = self._copies.path_of(path)
        part = target.with_suffix(f".{os.getpid()}-part")
        try:
            with contextlib.ExitStack() as stack:
                file = stack.enter_context(self._storage.create(path))
                copy: BinaryIO | None = None
                with contextlib.suppress(OSError):
                    copy = stack.enter_context(part.open("wb"))
                tee = _Tee(file, copy)
                yield cast("BinaryIO", tee)
            if tee.copy is not None:
                with contextlib.suppress(OSError):
                    part.replace(target.with_suffix(f".{tee.checksum:08x}"))
        finally:
            part.unlink(missing_ok=True)

    def write(self, path: str, data: bytes) -> None:
        self._storage.write(path, data)
        copy = self._copies.path_of(path).with_suffix(f".{zlib.crc32(data):08x}")
        with contextlib.suppress(OSError):
            copy.write_bytes(data)

    def open(self, path: str) -> BinaryIO:
        copy = self._copies.intact(path)
        return self._storage.open(path) if copy is None else copy.open("rb")

    def read_range(self, path: str, start: int, end: int | None) -> bytes:
        copy = self._copies.intact(path)
        if copy is not None:
            with contextlib.suppress(OSError):
                return self._local.read_range(str(copy), start, end)
        return self._storage.read_range(path, start, end)

    def exists(self, path: str) -> bool:
        return self._storage.exists(path)

    def names(self, directory: str) -> list[str]:
        return self._storage.names(directory)

    def delete(self, path: str) -> None:
        self._storage.delete(path)

    def delete_directory(self, directory: str) -> None:
        self._storage.delete_directory(directory)
