"""Rows that wait in files until the driver writes those of a whole checkpoint at once.

Each subtask stages its rows as Parquet files. When their checkpoint is complete the files of all
subtasks are a *batch*, and the driver hands it on. A batch always has the same rows and the same
name, however often it has to be handed on.
"""

from __future__ import annotations

import logging
import os
import shutil
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.common.serialization import BulkWriterFactory
from headrace.datastream.connectors.base import (
    Committer,
    GlobalCommitter,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.file_sink import FileSink
from headrace.datastream.connectors.file_system.part_file import PendingFile

__all__ = ["StagedBatches", "Staging", "StagingCommitter", "StagingWriter", "batch_name"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Staging:
    """The directories in which rows wait for the driver. All hosts must see the same ones."""

    path: str

    @property
    def files(self) -> str:
        """Where subtasks write, hidden."""
        return os.path.join(self.path, "files")

    @property
    def ready(self) -> str:
        """Where the files of committed checkpoints are, a directory for each batch."""
        return os.path.join(self.path, "ready")

    def done(self, batch: str) -> Path:
        """The marker of a batch that was handed on; that of the last one counts for all before."""
        return Path(self.path, "done", batch)

    def is_done(self, batch: str) -> bool:
        """Whether a batch was handed on."""
        return any(marker.name >= batch for marker in self._markers(batch))

    def mark_done(self, batch: str) -> None:
        """Write down that a batch was handed on, and so all earlier ones of its job."""
        marker = self.done(batch)
        marker.parent.mkdir(parents=True, exist_ok=True)
        with marker.open("w") as stream:
            os.fsync(stream.fileno())
        for earlier in self._markers(batch):
            if earlier.name < batch:
                earlier.unlink()

    def _markers(self, batch: str) -> list[Path]:
        """Those of its job."""
        return list(self.done(batch).parent.glob(f"*-{batch.split('-', 1)[1]}"))


class _EveryEpoch:
    """The context of a writer that finishes its files with every epoch that is committed."""

    checkpointing = True

    def __init__(self, context: WriterContext) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class StagingWriter(SinkWriter):
    """Stages rows as files, which belong to the checkpoint that they are prepared for."""

    def __init__(
        self, staging: Staging, writers: BulkWriterFactory, context: WriterContext
    ) -> None:
        files = (
            FileSink.for_bulk_format(staging.files, writers)
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .build()
        )
        self._files = files.create_writer(_EveryEpoch(context))
        self._staging = staging
        self._job_id = context.job_id

    def open(self) -> None:
        self._files.open()

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._files.write(values, timestamps)

    def flush(self, end_of_input: bool) -> None:
        self._files.flush(end_of_input)

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        directory = os.path.join(self._staging.ready, batch_name(checkpoint, self._job_id))
        return [
            replace(
                pending,
                final_path=os.path.join(
                    directory, f"{os.path.basename(pending.final_path)}.parquet"
                ),
            )
            for pending in self._files.prepare_commit(checkpoint, end_of_input)
        ]

    def snapshot(self) -> list[Any]:
        return self._files.snapshot()

    def close(self) -> None:
        self._files.close()


def batch_name(checkpoint: int, job_id: str) -> str:
    """The name of a batch; names of one job are in the order of its checkpoints.

    Numbers that begin at the time of day, with more digits, come after those that begin at one.
    """
    return f"{checkpoint:010d}-{job_id[:8]}"


class StagingCommitter(Committer):
    """Makes files part of their batch, unless that was handed on already."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def commit(self, committables: list[PendingFile]) -> None:
        for file in committables:
            directory = os.path.dirname(file.final_path)
            if self._staging.is_done(os.path.basename(directory)):
                continue
            os.makedirs(directory, exist_ok=True)
            file.finish()


class StagedBatches(GlobalCommitter):
    """Takes batches in the order of their checkpoints, each until a marker says it is done."""

    def __init__(self, staging: Staging, job_id: str) -> None:
        self._staging = staging
        self._job_id = job_id

    @abstractmethod
    def hand_on(self, batch: str, directory: Path) -> None:
        """Write the rows in the Parquet files of a directory, unless that was done before."""

    def commit(self, checkpoint: int, restored: str | None = None) -> None:
        ready = Path(self._staging.ready)
        if not ready.is_dir():
            return
        # Those of another job count only if this one goes on from its checkpoint: it may still run,
        # and have made ready only a part of them.
        jobs = {self._job_id[:8], (restored or self._job_id)[:8]}
        for batch in sorted(os.listdir(ready)):
            number, job = batch.split("-", 1)
            if job in jobs and int(number) <= checkpoint:
                self._commit(batch, ready / batch)

    def _commit(self, batch: str, directory: Path) -> None:
        if not self._staging.is_done(batch):
            _log.info("handing over batch %s", batch)
            self.hand_on(batch, directory)
            self._staging.mark_done(batch)
        shutil.rmtree(directory)
