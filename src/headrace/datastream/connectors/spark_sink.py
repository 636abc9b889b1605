"""Spark's DataFrames as a sink: the rows of each checkpoint are one of them, written once.

Rows are staged in files, and the driver hands each batch of them on as a DataFrame.
"""

from __future__ import annotations

import os
from collections.abc import Callable
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
from headrace.datastream.connectors.file_system.enumeration import local_path, writable
from headrace.datastream.connectors.spark_table import CatalogTable
from headrace.datastream.connectors.staging import Staging, StagingCommitter, StagingWriter
from headrace.datastream.formats.parquet import ParquetBulkWriters

__all__ = ["SparkSink"]


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

    def probe(self) -> str:
        """Rows can wait where they are staged; what becomes of them is up to the driver."""
        return f"rows for Spark, which wait at {writable(self.staging.path)}"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        writers = ParquetBulkWriters.for_row_type(self.row_type)
        return StagingWriter(self.staging, writers, context)

    def create_committer(self, context: WriterContext) -> Committer:
        return StagingCommitter(self.staging)

    def create_global_committer(self, job_id: str) -> GlobalCommitter | None:
        from headrace.spark.batches import BatchCommitter

        assert self.hand_on is not None
        return BatchCommitter(self.staging, self.hand_on, job_id)


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
