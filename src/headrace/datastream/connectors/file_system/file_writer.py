"""The writer of a file sink: one open file for each bucket."""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from headrace.common.errors import HeadraceError, TypeMismatchError
from headrace.common.serialization import Encoder
from headrace.datastream.connectors.base import SinkWriter, WriterContext
from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.output_file import OutputFileConfig
from headrace.datastream.connectors.file_system.part_file import (
    PartFile,
    PendingFile,
    encode_lines,
)
from headrace.datastream.connectors.file_system.rolling import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)

__all__ = ["FileWriter", "FileWriterSettings"]


@dataclass(frozen=True)
class FileWriterSettings:
    """What a `FileSink` is made of."""

    base_path: str
    encoder: Encoder
    bucket_assigner: BucketAssigner
    rolling_policy: RollingPolicy
    output_file: OutputFileConfig
    check_interval_ms: int


class _BucketContext(BucketAssigner.Context):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self.stamp: int | None = None

    def current_processing_time(self) -> int:
        return self._context.now_ms()

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def timestamp(self) -> int | None:
        return self.stamp


class FileWriter(SinkWriter):
    """Writes records into part files.

    A file that the policy rolls becomes pending; `prepare_commit` gives the pending files, `finish`
    gives them their final names. Without checkpoints that happens at the end of each epoch, and for
    all files when the input has ended or the job is over.
    """

    def __init__(self, settings: FileWriterSettings, context: WriterContext) -> None:
        self._settings = settings
        self._context = context
        self._bucket_context = _BucketContext(context)
        self._files: dict[str, PartFile] = {}
        self._pending: list[PendingFile] = []
        self._id = str(uuid.uuid4())
        self._next_number = 0
        self._check_at: int | None = None

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
        assign, context = self._settings.bucket_assigner.get_bucket_id, self._bucket_context
        stamps = repeat(None) if timestamps is None else timestamps
        buckets: dict[str, list[Any]] = {}
        for value, context.stamp in zip(values, stamps, strict=False):
            buckets.setdefault(assign(value, context), []).append(value)
        return buckets

    def _write_to(self, bucket: str, values: list[Any], now_ms: int) -> None:
        encoder, policy = self._settings.encoder, self._settings.rolling_policy
        file = self._files.get(bucket)
        if file is None:
            file = self._new_file(bucket, now_ms)
        data = encode_lines(values, encoder)
        if data is not None and _fits(policy, file, len(data)):
            file.write_bytes(data, now_ms)
            return
        for value in values:
            if policy.should_roll_on_event(file, value):
                self._roll(bucket)
                file = self._new_file(bucket, now_ms)
            file.write(value, encoder, now_ms)

    def _new_file(self, bucket: str, now_ms: int) -> PartFile:
        names = self._settings.output_file
        name = f"{names.part_prefix}-{self._id}-{self._next_number}{names.part_suffix}"
        self._next_number += 1
        file = PartFile(self._directory(bucket), name, bucket, now_ms)
        self._files[bucket] = file
        if self._check_at is None:
            self._check_at = now_ms + self._settings.check_interval_ms
        return file

    def _directory(self, bucket: str) -> str:
        if not isinstance(bucket, str):
            raise TypeMismatchError(f"a bucket id is a str, not {bucket!r}")
        base = self._settings.base_path
        directory = os.path.normpath(os.path.join(base, bucket))
        if directory != base and not directory.startswith(base.rstrip("/") + "/"):
            raise HeadraceError(f"bucket {bucket!r} is outside of the base path {base}")
        return directory

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
        self.finish(self.prepare_commit())

    def flush_at(self, now_ms: int) -> int | None:
        if self._check_at is None:
            return None
        known = [self._settings.rolling_policy.roll_at(f) for f in self._files.values()]
        if all(at is not None for at in known):
            return max(self._check_at, min(at for at in known if at is not None))
        # A policy that does not say when is asked again and again, unless it never rolls by time.
        never = isinstance(self._settings.rolling_policy, OnCheckpointRollingPolicy)
        return None if never else self._check_at

    def prepare_commit(self) -> list[PendingFile]:
        """Hand over the files that are complete; they stay hidden until `finish`."""
        pending, self._pending = self._pending, []
        return pending

    @staticmethod
    def finish(pending: Sequence[PendingFile]) -> None:
        """Give files their final names."""
        for file in pending:
            file.finish()

    def close(self) -> None:
        """Finish what is open: the job is over, by its end or by a cancellation."""
        for bucket in list(self._files):
            self._roll(bucket)
        self.finish(self.prepare_commit())


def _fits(policy: RollingPolicy, file: PartFile, size: int) -> bool:
    """Whether so many bytes can be written without asking the policy for each record."""
    if type(policy) is DefaultRollingPolicy:
        return file.size + size <= policy.part_size
    return type(policy) is OnCheckpointRollingPolicy
