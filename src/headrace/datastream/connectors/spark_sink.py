"""Spark's DataFrames as a sink: the rows of each checkpoint are one of them, written once.

Each subtask stages its rows as Parquet files. When their checkpoint is complete the files of all
subtasks are a *batch*, and the driver hands it on as a DataFrame. A batch always has the same rows
and the same name, however often it has to be handed on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.typeinfo import RowTypeInfo, TypeInformation
from headrace.datastream.connectors.base import (
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.file_system.buckets import BucketAssigner
from headrace.datastream.connectors.file_system.enumeration import local_path
from headrace.datastream.connectors.file_system.file_sink import FileSink
from headrace.datastream.connectors.file_system.part_file import PendingFile
from headrace.datastream.connectors.spark_table import CatalogTable

__all__ = ["SparkSink", "Staging", "batch_name"]


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

    def done(self, batch: str) -> str:
        """The marker of a batch that was handed on."""
        return os.path.join(self.path, "done", batch)


@dataclass(frozen=True)
class SparkSink(Sink):
    """Hands the rows of each checkpoint to Spark as a DataFrame. Make one with the methods below.

    In a job without checkpoints each epoch with rows is a batch. The stream must be of rows; their
    type is that of the stream, or `row_type`.

    Example:
        >>> totals.sink_to(SparkSink.for_path("/data/totals"))
        >>> spark.read.parquet("/data/totals").groupBy("epoch").count()
    """

    staging: Staging
    row_type: Any = None
    # What only the driver needs; it does not travel.
    hand_on: Callable[[Any, str], None] | None = field(default=None, compare=False, repr=False)

    @staticmethod
    def for_path(
        path: str, data_format: str = "parquet", row_type: Any = None, **write_options: str
    ) -> SparkSink:
        """Writes a table of files: a directory `epoch=<checkpoint>-<job>` for each batch.

        A directory appears as a whole, once, after its checkpoint. Spark shows its name as the
        column `epoch`.

        Args:
            path: The directory of the table, on a file system that all hosts see.
            data_format: A format that Spark writes: parquet, orc, json, csv, avro.
            row_type: The type of the rows; that of the stream without it.
            **write_options: Options of Spark's writer, such as `compression="zstd"`.
        """
        table = local_path(path)
        staging = Staging(os.path.join(table, "_headrace"))
        return SparkSink(staging, row_type, _TableWriter(table, data_format, write_options))

    @staticmethod
    def for_table(
        table_name: str,
        staging_path: str,
        data_format: str = "parquet",
        row_type: Any = None,
        epoch_column: str = "epoch",
    ) -> SparkSink:
        """Writes into a table of Spark's catalog: a partition of it for each batch.

        A table that is not there is created, with the columns of the rows and one of text, by which
        it is partitioned, for the name of the batch. A batch replaces its own partition, so that it
        is there once although it may be written again after a failure.

        Args:
            table_name: `table`, `database.table` or `catalog.database.table`.
            staging_path: A directory for rows that wait, on a file system that all hosts see.
            data_format: What a table that is not there is created with: parquet, orc, delta, ...
            row_type: The type of the rows; that of the stream without it.
            epoch_column: The column with the name of the batch, `<checkpoint>-<job>`.
        """
        if not isinstance(table_name, str) or not table_name:
            raise FunctionTypeError(f"the name of a table must be a str, not {table_name!r}")
        staging = Staging(local_path(staging_path))
        return SparkSink(staging, row_type, CatalogTable(table_name, data_format, epoch_column))

    @staticmethod
    def foreach_batch(
        function: Callable[[Any, int], None], staging_path: str, row_type: Any = None
    ) -> SparkSink:
        """Calls a function in the driver with the DataFrame and the number of each checkpoint.

        It is called at least once for each batch, again only if the job failed before it returned
        or right after, and then with the same rows and number. A function that first looks whether
        the number is there already makes it exactly once.

        Args:
            function: Takes a DataFrame and a number that only rises.
            staging_path: A directory for rows that wait, on a file system that all hosts see.
            row_type: The type of the rows; that of the stream without it.
        """
        if not callable(function):
            raise FunctionTypeError(f"foreach_batch takes a function, not {function!r}")
        staging = Staging(local_path(staging_path))
        return SparkSink(staging, row_type, _BatchFunction(function))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "hand_on": None}

    def for_type(self, type_info: TypeInformation | None) -> Sink:
        if self.row_type is not None:
            return self
        if not isinstance(type_info, RowTypeInfo):
            raise GraphError(
                f"a SparkSink needs a stream of rows with a declared type, not of {type_info}: "
                "declare it, as in map(f, Types.ROW_NAMED(...)), or give row_type"
            )
        return replace(self, row_type=type_info)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        from headrace.datastream.formats.parquet import ParquetBulkWriters

        files = (
            FileSink.for_bulk_format(
                self.staging.files, ParquetBulkWriters.for_row_type(self.row_type)
            )
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .build()
        )
        return _StagingWriter(files.create_writer(_EveryEpoch(context)), self.staging, context)

    def create_committer(self, context: WriterContext) -> Committer:
        return _StagingCommitter(self.staging)

    def create_global_committer(self, job_id: str) -> GlobalCommitter | None:
        from headrace.spark.batches import BatchCommitter

        assert self.hand_on is not None
        return BatchCommitter(self.staging, self.hand_on, job_id)


class _EveryEpoch:
    """The context of a writer that finishes its files with every epoch that is committed."""

    checkpointing = True

    def __init__(self, context: WriterContext) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class _StagingWriter(SinkWriter):
    """Stages rows as files, which belong to the checkpoint that they are prepared for."""

    def __init__(self, files: SinkWriter, staging: Staging, context: WriterContext) -> None:
        self._files = files
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
    """The name of a batch; names of one job are in the order of its checkpoints."""
    return f"{checkpoint:010d}-{job_id[:8]}"


class _StagingCommitter(Committer):
    """Makes files part of their batch, unless that was handed on already."""

    def __init__(self, staging: Staging) -> None:
        self._staging = staging

    def commit(self, committables: list[PendingFile]) -> None:
        for file in committables:
            directory = os.path.dirname(file.final_path)
            if os.path.exists(self._staging.done(os.path.basename(directory))):
                continue
            os.makedirs(directory, exist_ok=True)
            file.finish()


@dataclass(frozen=True)
class _BatchFunction:
    function: Callable[[Any, int], None]

    def __call__(self, data_frame: Any, batch: str) -> None:
        self.function(data_frame, int(batch.split("-", 1)[0]))


@dataclass(frozen=True)
class _TableWriter:
    path: str
    data_format: str
    options: dict[str, str]

    def __call__(self, data_frame: Any, batch: str) -> None:
        target = os.path.join(self.path, f"epoch={batch}")
        if os.path.exists(target):
            # It was renamed as a whole before the job failed.
            return
        whole = os.path.join(self.path, "_headrace", "whole", batch)
        writer = data_frame.write.format(self.data_format).mode("overwrite")
        writer.options(**self.options).save(f"file:{whole}")
        os.rename(whole, target)
