"""A sink into a table of a lakehouse: the rows of each checkpoint are one commit."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError, HeadraceError
from headrace.common.serialization import BulkWriterFactory
from headrace.common.typeinfo import RowTypeInfo, TypeInformation
from headrace.common.types import RowKind, row_of
from headrace.datastream.connectors.base import (
    Committer,
    GlobalCommitter,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.file_system.enumeration import local_path, writable
from headrace.datastream.connectors.lakehouse.table import Batch, Changes, LakeTable
from headrace.datastream.connectors.staging import (
    StagedBatches,
    Staging,
    StagingCommitter,
    StagingWriter,
)
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.formats.arrow import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LakehouseSink"]

_log = logging.getLogger(__name__)

_KIND, _ORDER = "headrace_kind", "headrace_order"


@dataclass(frozen=True)
class LakehouseSink(Sink):
    """Writes rows into a table of Delta Lake or Iceberg, exactly once.

    The rows of a checkpoint appear in one commit, after it is complete; in a job without
    checkpoints those of each epoch do. A table that is not there is created. Without keys rows are
    added; with keys a row takes the place of the one with the same key, and rows of the kinds
    `DELETE` and `UPDATE_BEFORE` are deleted. Changes of a key must come through one subtask: key
    the stream by it.

    Attributes:
        table: The table.
        keys: Names of the columns of its key.
        partition_by: Names of columns by which a table that is created is partitioned.
        row_type: The type of the rows; that of the stream without it.
        staging_path: A directory for rows that wait, on a file system that all hosts see. Without
            it, `_headrace` in the directory of the table.
        compact_every: After how many commits small files are put together; never without it.

    Example:
        >>> orders.sink_to(LakehouseSink(DeltaLakeTable("/data/orders"), keys=("id",)))
    """

    table: LakeTable
    keys: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    row_type: Any = None
    staging_path: str | None = None
    compact_every: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.table, LakeTable):
            raise GraphError(
                f"a LakehouseSink takes a table such as DeltaLakeTable(path), not {self.table!r}"
            )
        if self.table.at is not None:
            raise GraphError(
                f"table {self.table.name} is written as it is today, not in {self.table.at}"
            )
        object.__setattr__(self, "keys", tuple(self.keys))
        object.__setattr__(self, "partition_by", tuple(self.partition_by))
        if self.compact_every is not None and self.compact_every < 1:
            raise GraphError(f"compact_every must be positive, not {self.compact_every}")
        if self.staging_path is None and self.table.directory is None:
            raise GraphError(
                f"table {self.table.name} is not on this machine: give staging_path, a directory "
                "that all hosts see, in which rows wait for their checkpoint"
            )
        if self.row_type is not None:
            self._check_columns()

    def for_type(self, type_info: TypeInformation | None) -> Sink:
        if self.row_type is not None:
            return self
        if not isinstance(type_info, RowTypeInfo):
            raise GraphError(
                f"a LakehouseSink needs a stream of rows with a declared type, not of {type_info}: "
                "declare it, as in map(f, Types.ROW_NAMED(...)), or give row_type"
            )
        return replace(self, row_type=type_info)

    @property
    def staging(self) -> Staging:
        """Where rows wait, apart from those for another table or with another key."""
        base = self.staging_path or os.path.join(str(self.table.directory), "_headrace")
        own = zlib.crc32(repr((self.table.name, self.keys)).encode())
        return Staging(os.path.join(local_path(base), f"{own:08x}"))

    def schema(self) -> pa.Schema:
        """The columns of the rows that are written."""
        return arrow_schema(self.row_type)

    def _check_columns(self) -> None:
        """Find columns that do not fit while the program is built."""
        import pyarrow as pa

        wanted, there = self.schema(), self.table.columns()
        for kind, names in (("key", self.keys), ("partition", self.partition_by)):
            for name in names:
                if name not in wanted.names:
                    raise GraphError(
                        f"the {kind} column {name!r} is not a column of the rows, which are "
                        f"{wanted.names}"
                    )
        if there is None:
            return
        if sorted(wanted.names) != sorted(there.names):
            raise GraphError(
                f"the rows for table {self.table.name} have the columns {wanted.names}, and the "
                f"table has {there.names}"
            )
        for field in wanted:
            kind = there.field(field.name).type
            # Libraries read text and bytes with longer offsets than they are written with.
            nested = pa.types.is_nested(kind) and pa.types.is_nested(field.type)
            if not nested and str(kind).removeprefix("large_") != str(field.type):
                raise GraphError(
                    f"column {field.name!r} of the rows is {field.type}, and that of table "
                    f"{self.table.name} is {kind}"
                )

    def probe(self) -> str:
        there = self.table.columns()
        writable(self.staging.path)
        return f"table {self.table.name}" + ("" if there else ", which will be created")

    def create_writer(self, context: WriterContext) -> SinkWriter:
        schema = self.schema()
        if not self.keys:
            return StagingWriter(self.staging, ParquetBulkWriters.for_schema(schema), context)
        import pyarrow as pa

        schema = schema.append(pa.field(_KIND, pa.int8())).append(pa.field(_ORDER, pa.int64()))
        return _ChangesWriter(self, ParquetBulkWriters.for_schema(schema), context)

    def create_committer(self, context: WriterContext) -> Committer:
        return StagingCommitter(self.staging)

    def create_global_committer(self, job_id: str) -> GlobalCommitter:
        return _LakehouseBatches(self, job_id)


class _ChangesWriter(StagingWriter):
    """Stages rows with their kind and a number by which the last change of a key is known.

    All rows of a batch are numbered by one attempt: another one begins with the next checkpoint.
    """

    _order = 0

    def __init__(
        self, sink: LakehouseSink, writers: BulkWriterFactory, context: WriterContext
    ) -> None:
        super().__init__(sink.staging, writers, context)
        names = sink.schema().names
        self._keys = [(names.index(key), key) for key in sink.keys]
        self._refused: tuple[Any, ...] = ()

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        for position, key in self._keys:
            for row in values:
                if row[position] is None:
                    self._refused = (row,)
                    raise HeadraceError(
                        f"a row has NULL in {key!r}, a column of the key, and so no row of the "
                        "table would be found by it; filter such rows out, or give them a value"
                    )
        first = self._order
        self._order += len(values)
        numbered = enumerate(values, first)
        super().write([row_of([*r, _kind(r), number]) for number, r in numbered], timestamps)

    def record_of_failure(self) -> tuple[Any, ...]:
        return self._refused


def _kind(row: Any) -> int:
    kind = row.get_row_kind() if hasattr(row, "get_row_kind") else RowKind.INSERT
    return int(kind.value)


class _LakehouseBatches(StagedBatches):
    """Commits batches to the table."""

    def __init__(self, sink: LakehouseSink, job_id: str) -> None:
        super().__init__(sink.staging, job_id)
        self._sink = sink
        # Two sinks of a job may write one table, each from a place of its own.
        self._place = zlib.crc32(sink.staging.path.encode())
        self._commits = 0

    def hand_on(self, batch: str, directory: Path) -> None:
        number, job = batch.split("-", 1)
        try:
            self._write(Batch(f"{job}-{self._place:08x}", int(number)), directory)
        except Exception as error:
            # Each library has its own errors, and those of its object stores and catalogs.
            raise HeadraceError(
                f"batch {batch} could not be committed to table {self._sink.table.name}: {error}; "
                f"its rows are in {directory}, and it will be tried again after a restart"
            ) from error
        self._commits += 1
        if self._sink.compact_every is not None and self._commits % self._sink.compact_every == 0:
            self._compact()

    def _compact(self) -> None:
        """The rows are committed: what fails here, as another writer was faster, comes later."""
        try:
            self._sink.table.compact()
        except Exception as error:  # noqa: BLE001 - each library has its own errors
            _log.warning("table %s was not compacted: %s", self._sink.table.name, error)

    def _write(self, batch: Batch, directory: Path) -> None:
        import pyarrow.dataset as ds

        sink = self._sink
        sink.table.create(sink.schema(), sink.partition_by)
        staged = ds.dataset(str(directory), format="parquet")
        if sink.keys:
            sink.table.change(batch, _last_changes(staged.to_table(), sink.keys))
        else:
            sink.table.append(batch, staged)


def _last_changes(staged: pa.Table, keys: tuple[str, ...]) -> Changes:
    import pyarrow as pa
    import pyarrow.compute as pc

    staged = staged.sort_by(_ORDER)
    numbered = staged.append_column("row", pa.array(range(len(staged)), pa.int64()))
    last = numbered.group_by(list(keys)).aggregate([("row", "max")])["row_max"]
    rows = staged.take(last.combine_chunks())
    gone = pc.equal(pc.bit_wise_and(rows[_KIND], 1), 1)
    return Changes(
        keys,
        rows.filter(pc.invert(gone)).drop_columns([_KIND, _ORDER]),
        rows.filter(gone).select(list(keys)),
    )
