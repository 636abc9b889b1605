"""The writer of a file sink: one open file for each bucket."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

from headrace.common.errors import HeadraceError, TypeMismatchError
from headrace.common.serialization import BulkWriterFactory, Encoder
from headrace.datastream.connectors.base import Committer, SinkWriter, WriterContext
from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.enumeration import is_remote
from headrace.datastream.connectors.file_system.output_file import OutputFileConfig
from headrace.datastream.connectors.file_system.part_file import (
    BulkFile,
    PartFile,
    PendingFile,
    UnfinishedFile,
    encode_lines,
)
from headrace.datastream.connectors.file_system.remote import Workspace
from headrace.datastream.connectors.file_system.rolling import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from headrace.datastream.connectors.record_context import RecordContext

if TYPE_CHECKING:
    from headrace.runtime.storage import Storages

__all__ = ["FileCommitter", "FileWriter", "FileWriterSettings"]


@dataclass(frozen=True)
class FileWriterSettings:
    """What a `FileSink` is made of."""

    base_path: str
    encoder: Encoder | BulkWriterFactory
    bucket_assigner: BucketAssigner
    rolling_policy: RollingPolicy
    output_file: OutputFileConfig
    check_interval_ms: int
    storages: Any = None


@dataclass(frozen=True)
class _Names:
    """Who writes: the names of files begin alike only for one writer in one attempt.

    It is part of checkpoints: its fields keep their names.
    """

    job_id: str
    operator_id: str
    subtask: int
    incarnation: int

    @property
    def id(self) -> str:
        """What comes after the prefix in the names of the writer's files."""
        text = f"{self.job_id}/{self.operator_id}/{self.subtask}/{self.incarnation}"
        return str(uuid.uuid5(uuid.NAMESPACE_OID, text))


@dataclass(frozen=True)
class _Saved:
    """The state of a writer: files from `next_number` on were begun after the checkpoint."""

    names: _Names
    next_number: int
    files: tuple[UnfinishedFile, ...]
    pending: tuple[PendingFile, ...] = ()


class _BucketContext(RecordContext, BucketAssigner.Context):
    """What a bucket assigner is given."""


class FileWriter(SinkWriter):
    """Writes records into part files.

    A file that the policy rolls becomes pending. Pending files are what is committed: the committer
    gives them their final names. A file that goes on over a checkpoint is cut back to its length at
    the checkpoint when the job is restored.
    """

    def __init__(self, settings: FileWriterSettings, context: WriterContext) -> None:
        self._settings = settings
        self._context = context
        self._bucket_context = _BucketContext(context)
        self._files: dict[str, PartFile] = {}
        self._pending: list[PendingFile] = []
        self._names = _Names(context.job_id, context.operator_id, context.subtask, context.attempt)
        self._id = self._names.id
        self._next_number = 0
        self._check_at: int | None = None
        remote = is_remote(settings.base_path)
        self._workspace = Workspace(settings.storages) if remote else None

    def open(self) -> None:
        """Go on with the files of the checkpoint, and delete what failed attempts left behind."""
        saved: list[_Saved] = list(self._context.restored_state)
        for state in saved:
            self._pending += state.pending
            for unfinished in state.files:
                file = PartFile.resume(unfinished)
                if self._files.setdefault(file.bucket_id, file) is not file:
                    # Another writer's file for the same bucket, after a change of parallelism.
                    self._pending.append(file.close())
        leftovers = {state.names.id: state.next_number for state in saved}
        if saved or self._context.restored_checkpoint is None:
            # Those of this job that never came to a checkpoint.
            first = 1 + max((s.names.incarnation for s in saved if self._is_own(s)), default=0)
            for attempt in range(first, self._context.attempt):
                leftovers[replace(self._names, incarnation=attempt).id] = 0
        if leftovers:
            delete_leftovers(self._settings, leftovers)
        if self._files:
            self._check_at = self._context.now_ms()

    def _is_own(self, saved: _Saved) -> bool:
        return saved.names.job_id == self._names.job_id

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if not values:
            return
        now_ms = self._context.now_ms()
        bucket = self._settings.bucket_assigner.bucket_at(now_ms)
        if bucket is not None:
            self._write_to(bucket, values, now_ms)
            return
        for bucket, some in self._by_bucket(values, timestamps).items():
            self._write_to(bucket, some, now_ms)

    def _by_bucket(
        self, values: list[Any], timestamps: Sequence[int | None] | None
    ) -> dict[str, list[Any]]:
        buckets: dict[str, list[Any]] = {}
        ids = self._settings.bucket_assigner.buckets_of(values)
        if ids is not None:
            for bucket, value in zip(ids, values, strict=True):
                buckets.setdefault(bucket, []).append(value)
            return buckets
        assign, context = self._settings.bucket_assigner.get_bucket_id, self._bucket_context
        stamps = repeat(None) if timestamps is None else timestamps
        for value, context.stamp in zip(values, stamps, strict=False):
            buckets.setdefault(assign(value, context), []).append(value)
        return buckets

    def _write_to(self, bucket: str, values: list[Any], now_ms: int) -> None:
        encoder, policy = self._settings.encoder, self._settings.rolling_policy
        file = self._files.get(bucket)
        if file is None:
            file = self._new_file(bucket, now_ms)
        if isinstance(file, BulkFile) and type(policy) is OnCheckpointRollingPolicy:
            file.write_all(values, now_ms)
            return
        data = encode_lines(values, encoder)
        if data is not None and _fits(policy, file, len(data)):
            file.write_bytes(data, now_ms)
            return
        for value in values:
            if policy.should_roll_on_event(file, value):
                self._roll(bucket)
                file = self._new_file(bucket, now_ms)
            file.write(value, cast("Encoder", encoder), now_ms)

    def _new_file(self, bucket: str, now_ms: int) -> PartFile:
        names = self._settings.output_file
        name = f"{names.part_prefix}-{self._id}-{self._next_number}{names.part_suffix}"
        self._next_number += 1
        directory, encoder = self.directory_of(bucket), self._settings.encoder
        file = (
            BulkFile(directory, name, bucket, now_ms, encoder, self._workspace)
            if isinstance(encoder, BulkWriterFactory)
            else PartFile(directory, name, bucket, now_ms, self._workspace)
        )
        self._files[bucket] = file
        if self._check_at is None:
            self._check_at = now_ms + self._settings.check_interval_ms
        return file

    def directory_of(self, bucket: str) -> str:
        """The directory of a bucket."""
        if not isinstance(bucket, str):
            raise TypeMismatchError(f"a bucket id must be a str, not {bucket!r}")
        scheme, separator, base = self._settings.base_path.rpartition("://")
        directory = os.path.normpath(os.path.join(base, bucket))
        if directory != base and not directory.startswith(base.rstrip("/") + "/"):
            raise HeadraceError(
                f"bucket {bucket!r} is outside the base path {self._settings.base_path}"
            )
        return scheme + separator + directory

    def finish_bucket(self, bucket: str) -> None:
        """Finish the file of a bucket with the next commit, whatever the policy says."""
        if bucket in self._files:
            self._roll(bucket)

    def _roll(self, bucket: str) -> None:
        self._pending.append(self._files.pop(bucket).close())

    def flush(self, end_of_input: bool) -> None:
        now_ms = self._context.now_ms()
        policy = self._settings.rolling_policy
        for bucket, file in list(self._files.items()):
            if end_of_input or policy.should_roll_on_processing_time(file, now_ms):
                self._roll(bucket)
            else:
                file.flush()
        self._check_at = now_ms + self._settings.check_interval_ms if self._files else None

    def flush_at(self, now_ms: int) -> int | None:
        if self._check_at is None or not self._files:
            return None
        known = [self._settings.rolling_policy.roll_at(f) for f in self._files.values()]
        if all(at is not None for at in known):
            return max(self._check_at, min(at for at in known if at is not None))
        # A policy that does not say when is asked again and again, unless it never rolls by time.
        never = isinstance(self._settings.rolling_policy, OnCheckpointRollingPolicy)
        return None if never else self._check_at

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[PendingFile]:
        """Hand over the files that are complete; they stay hidden until they are committed."""
        policy = self._settings.rolling_policy
        for bucket, file in list(self._files.items()):
            at_checkpoint = self._workspace is not None or policy.should_roll_on_checkpoint(file)
            if end_of_input or (at_checkpoint and self._context.checkpointing):
                self._roll(bucket)
        pending, self._pending = self._pending, []
        return pending

    def snapshot(self) -> list[_Saved]:
        """The files that go on, and how many there were."""
        for bucket, file in list(self._files.items()):
            if isinstance(file, BulkFile) or self._workspace is not None:
                # Only a savepoint of a job without checkpoints finds one open.
                self._roll(bucket)
        files = tuple(file.save() for file in self._files.values())
        return [_Saved(self._names, self._next_number, files, tuple(self._pending))]

    def close(self) -> None:
        """Leave files as they are, hidden.

        When the input has ended all of them were handed over. In any other case they may have
        records of an epoch that failed.
        """
        for file in self._files.values():
            file.abandon()
        if self._workspace is not None:
            self._workspace.close()


class FileCommitter(Committer):
    """Gives files their final names."""

    def __init__(self, storages: Storages | None = None) -> None:
        self._storages = storages

    def commit(self, committables: list[PendingFile]) -> None:
        """Finish files; those that are finished already stay as they are."""
        for file in committables:
            file.finish(self._storages)


def delete_leftovers(settings: FileWriterSettings, leftovers: dict[str, int]) -> None:
    """Delete hidden files by the id of their writer, from a number on."""
    prefix = re.escape(settings.output_file.part_prefix)
    name = re.compile(rf"\.{prefix}-([0-9a-f-]{{36}})-(\d+).*\.inprogress\.[0-9a-f-]{{36}}")
    for path in _files_below(settings):
        match = name.fullmatch(os.path.basename(path))
        if match and int(match[2]) >= leftovers.get(match[1], sys.maxsize):
            if is_remote(path):
                settings.storages.of(path).delete(path)
            else:
                os.unlink(path)


def _files_below(settings: FileWriterSettings) -> Iterator[str]:
    base = settings.base_path
    if is_remote(base):
        yield from settings.storages.of(base).files(base)
    for directory, _, files in os.walk(base):
        yield from (os.path.join(directory, file) for file in files)


def _fits(policy: RollingPolicy, file: PartFile, size: int) -> bool:
    """Whether so many bytes can be written without asking the policy for each record."""
    if type(policy) is DefaultRollingPolicy:
        return file.size + size <= policy.part_size
    return type(policy) is OnCheckpointRollingPolicy
