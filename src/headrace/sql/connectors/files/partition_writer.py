"""Writes files into partitions, and commits those that are complete."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.datastream.connectors.base import Committer, SinkWriter, WriterContext
from headrace.datastream.connectors.file_system import BucketAssigner, FileSink
from headrace.datastream.connectors.file_system.compacting_writer import InnerContext
from headrace.datastream.connectors.file_system.enumeration import is_remote
from headrace.sql.connectors.files.partition_commit import (
    PartitionCommitSettings,
    PartitionContext,
    partition_values,
)

__all__ = ["PartitionedFileSink"]


@dataclass(frozen=True)
class CompletePartition:
    """A partition to be committed, after its files."""

    bucket: str


@dataclass(frozen=True)
class _Incomplete:
    """State of a writer: partitions that are not complete, and when they began."""

    partitions: dict[str, int]


@dataclass(frozen=True)
class PartitionedFileSink(FileSink):
    """A file sink that commits partitions."""

    partitions: PartitionCommitSettings | None = None

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """Called in each subtask."""
        assert self.partitions is not None
        seen: set[str] = set()
        noting = _Noting(self.settings.bucket_assigner, seen)
        sink = FileSink(
            replace(self.settings, bucket_assigner=noting), self.type_info, self.compaction
        )
        return PartitionWriter(sink, self.partitions, seen, context)

    def create_committer(self, context: WriterContext) -> Committer:
        """Called in each subtask."""
        assert self.partitions is not None
        return PartitionCommitter(self, self.partitions, super().create_committer(context))


@dataclass(frozen=True)
class _Noting(BucketAssigner):
    """Remembers the buckets that it names."""

    inner: BucketAssigner
    seen: set[str]

    def get_bucket_id(self, element: Any, context: BucketAssigner.Context) -> str:
        bucket = self.inner.get_bucket_id(element, context)
        self.seen.add(bucket)
        return bucket


class PartitionWriter(SinkWriter):
    """A file writer that knows which partitions have had rows since they were last committed."""

    def __init__(
        self,
        sink: FileSink,
        settings: PartitionCommitSettings,
        seen: set[str],
        context: WriterContext,
    ) -> None:
        self._settings = settings
        self._context = context
        self._seen = seen
        self._writer: Any = sink.create_writer(InnerContext(context, _Incomplete))
        self._incomplete: dict[str, int] = {}

    def open(self) -> None:
        for state in self._context.restored_state:
            if isinstance(state, _Incomplete):
                for bucket, began in state.partitions.items():
                    self._incomplete[bucket] = min(began, self._incomplete.get(bucket, began))
        self._writer.open()

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._writer.write(values, timestamps)

    def flush(self, end_of_input: bool) -> None:
        self._writer.flush(end_of_input)

    def flush_at(self, now_ms: int) -> int | None:
        at: int | None = self._writer.flush_at(now_ms)
        return at

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        now_ms, watermark = self._context.now_ms(), self._context.current_watermark()
        for bucket in self._seen:
            self._incomplete.setdefault(bucket, now_ms)
        self._seen.clear()
        due = [
            bucket
            for bucket, began in self._incomplete.items()
            if end_of_input or self._settings.is_due(bucket, began, now_ms, watermark)
        ]
        for bucket in due:
            del self._incomplete[bucket]
            self._writer.finish_bucket(bucket)
        files = self._writer.prepare_commit(checkpoint, end_of_input)
        return [*files, *map(CompletePartition, due)]

    def snapshot(self) -> list[Any]:
        return [*self._writer.snapshot(), _Incomplete(dict(self._incomplete))]

    def close(self) -> None:
        self._writer.close()


class PartitionCommitter(Committer):
    """Commits files, and then the partitions that are complete with them."""

    def __init__(self, sink: FileSink, settings: PartitionCommitSettings, files: Committer) -> None:
        self._base = sink.settings.base_path
        self._storages = sink.settings.storages
        self._settings = settings
        self._files = files
        self._policy = settings.custom_policy()

    def commit(self, committables: list[Any]) -> None:
        self._files.commit([c for c in committables if not isinstance(c, CompletePartition)])
        complete = [c.bucket for c in committables if isinstance(c, CompletePartition)]
        for bucket in dict.fromkeys(complete):
            for policy in self._settings.policies:
                if policy == "success-file":
                    self._mark(os.path.join(self._base, bucket, self._settings.success_file))
                elif self._policy is not None:
                    self._policy.commit(self._described(bucket))

    def _mark(self, file: str) -> None:
        if is_remote(file):
            self._storages.of(file).write(file, b"")
        else:
            Path(file).touch()

    def _described(self, bucket: str) -> PartitionContext:
        settings = self._settings
        catalog, database, table = settings.table
        values = partition_values(bucket)
        path = os.path.join(self._base, bucket)
        return PartitionContext(catalog, database, table, settings.keys, values, path)

    def close(self) -> None:
        self._files.close()
