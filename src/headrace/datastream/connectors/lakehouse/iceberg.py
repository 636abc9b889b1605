"""Tables of Apache Iceberg, by the library `pyiceberg`.

The name of the last batch of a sink is a property of the table, which changes in the same
transaction as its rows: whether a batch was committed is known for certain, however many
snapshots were expired since.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from headrace.common.errors import GraphError
from headrace.datastream.connectors.file_system.enumeration import is_remote, local_path
from headrace.datastream.connectors.lakehouse.iceberg_keys import may_have, without
from headrace.datastream.connectors.lakehouse.table import (
    AsOf,
    Batch,
    Changes,
    ColumnBound,
    LakeFile,
    LakeTable,
    NewFiles,
    changed,
    gone,
    missing,
    require,
)

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

__all__ = ["IcebergTable"]

_COMPACTED = "headrace.compacted"
# Rows that are in memory at a time, while a batch is written into a partitioned table.
_ROWS_AT_A_TIME = 500_000
_TRIES = 5
# Holds any two decimals of 38 digits.
_WIDE = Context(prec=100)


@dataclass(frozen=True)
class IcebergTable(LakeTable):
    """A table of Iceberg.

    Attributes:
        identifier: `database.table`.
        catalog: The properties of its catalog, as `pyiceberg` names them: `type` (`rest`, `sql`,
            `hive`, `glue`), `uri`, `warehouse`, `s3.endpoint` and the like.
        at: An earlier snapshot, which can only be read.

    Example:
        >>> IcebergTable("shop.orders", {"type": "rest", "uri": "http://127.0.0.1:8181"})
    """

    identifier: str
    catalog: dict[str, str] = field(repr=False)
    at: AsOf | None = None

    def __post_init__(self) -> None:
        require("pyiceberg.catalog", "iceberg")
        if not isinstance(self.identifier, str) or "." not in self.identifier:
            raise GraphError(
                f"the name of an Iceberg table is 'database.table', not {self.identifier!r}"
            )

    @property
    def name(self) -> str:
        return self.identifier

    @property
    def directory(self) -> str | None:
        warehouse = self.catalog.get("warehouse", "")
        if not warehouse or is_remote(warehouse):
            return None
        return local_path(f"{warehouse.rstrip('/')}/{self.identifier.replace('.', '/')}")

    def _catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog(self.catalog.get("name", "headrace"), **self.catalog)

    def _open(self) -> Any:
        return self._catalog().load_table(self.identifier)

    def columns(self) -> pa.Schema | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return self._schema(self._open()).as_arrow()
        except NoSuchTableError:
            return None

    def _snapshot(self, table: Any) -> Any:
        """The state that is read; None if nothing was written yet."""
        at = self.at
        if at is None:
            return table.current_snapshot()
        if at.version is not None:
            found = table.snapshot_by_id(at.version)
        else:
            found = table.snapshot_as_of_timestamp(at.timestamp_ms)
        if found is None:
            newest = [step.snapshot_id for step in reversed(table.history()[-3:])]
            raise missing(self.name, at, f"its last snapshots are {newest}, the newest first")
        return found

    def _schema(self, table: Any) -> Any:
        """The columns of the state that is read; those of today may have other names."""
        if self.at is None:
            return table.schema()
        snapshot = self._snapshot(table)
        # Writers need not say it.
        return table.schemas().get(snapshot.schema_id, table.schema())

    def create(self, columns: pa.Schema, partition_by: Sequence[str]) -> None:
        catalog = self._catalog()
        if catalog.table_exists(self.identifier):
            return
        catalog.create_namespace_if_not_exists(self.identifier.rsplit(".", 1)[0])
        with (
            catalog.create_table_transaction(self.identifier, columns) as transaction,
            transaction.update_spec() as spec,
        ):
            for name in partition_by:
                spec.add_identity(name)

    def append(self, batch: Batch, rows: ds.Dataset) -> None:
        import pyarrow as pa

        def write(transaction: Any, table: Any) -> None:
            for part in _parts(rows):
                transaction.append(pa.Table.from_batches(part, rows.schema))

        self._commit(batch, write)

    def change(self, batch: Batch, changes: Changes) -> None:
        import pyarrow as pa

        keys = list(changes.keys)
        touched = pa.concat_tables([changes.rows.select(keys), changes.gone])

        def write(transaction: Any, table: Any) -> None:
            old, new = [], []
            for task in table.scan(row_filter=may_have(touched)).plan_files():
                rows = pa.Table.from_batches(self._batches(table, [task], table.schema()))
                kept = without(rows, touched)
                if len(kept) < len(rows):
                    old.append(task.file)
                    new += _written(table, kept)
            if old:
                _replace(transaction, old, new)
            if len(changes.rows):
                transaction.append(changes.rows)
            # Behind a commit of another writer the library would not look for the keys again.
            transaction._snapshot_producers.clear()

        self._commit(batch, write)

    def _commit(self, batch: Batch, write: Any) -> None:
        """Write in one transaction, which begins again if another writer was faster."""
        from pyiceberg.exceptions import CommitFailedException

        committed = f"headrace.committed.{batch.writer}"
        for left in reversed(range(_TRIES)):
            table = self._open()
            if int(table.properties.get(committed, -1)) >= batch.number:
                return
            try:
                with table.transaction() as transaction:
                    write(transaction, table)
                    transaction.set_properties({committed: str(batch.number)})
                return
            except CommitFailedException:
                if not left:
                    raise

    def compact(self) -> None:
        """Small files are written anew, by the partitions that the table has today."""
        import pyarrow as pa
        from pyiceberg.table import TableProperties

        table = self._open()
        target = int(
            table.properties.get(
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
                TableProperties.WRITE_TARGET_FILE_SIZE_BYTES_DEFAULT,
            )
        )
        by_partition: dict[Any, list[Any]] = {}
        for task in table.scan().plan_files():
            file = task.file
            if file.file_size_in_bytes < target // 2 and file.spec_id == table.spec().spec_id:
                by_partition.setdefault(file.partition, []).append(task)
        small = [task for tasks in by_partition.values() if len(tasks) > 1 for task in tasks]
        if not small:
            return
        rows = pa.Table.from_batches(self._batches(table, small, table.schema()))
        new = _written(table, rows)
        with table.transaction() as transaction:
            _replace(transaction, [task.file for task in small], new, {_COMPACTED: "true"})

    def files(self, where: Sequence[ColumnBound] = ()) -> NewFiles:
        table = self._open()
        snapshot = self._snapshot(table)
        if snapshot is None:
            return NewFiles(-1, [])
        scan = table.scan(
            _condition(table, self._schema(table), where), snapshot_id=snapshot.snapshot_id
        )
        return NewFiles(snapshot.snapshot_id, _files(scan.plan_files()))

    def files_since(self, version: int, skip_changes: bool) -> NewFiles:
        from pyiceberg.table.snapshots import Operation, ancestors_of

        table = self._open()
        snapshot = table.current_snapshot()
        if snapshot is None or snapshot.snapshot_id == version:
            return NewFiles(version, [])
        ancestors = ancestors_of(snapshot, table.metadata)
        steps = list(takewhile(lambda step: step.snapshot_id != version, ancestors))
        oldest = steps[-1]
        # The first one of all has no parent, nor has one whose parent was expired by this library.
        is_first = oldest.parent_snapshot_id is None and (oldest.sequence_number or 0) <= 1
        if not (is_first if version == -1 else oldest.parent_snapshot_id == version):
            what = "its first snapshot" if version == -1 else f"what was added after {version}"
            raise gone(self.name, what, "snapshots were expired, or the table was rolled back")
        for step in steps:
            summary = step.summary
            if summary is None or skip_changes or summary.get(_COMPACTED) is not None:
                continue
            if summary.operation not in (Operation.APPEND, Operation.REPLACE):
                raise changed(
                    self.name,
                    f"snapshot {step.snapshot_id} ({summary.operation.value}) changed rows",
                    "'skip-changes' = 'true'",
                )
        scan = table.incremental_append_scan().to_snapshot_id_inclusive(snapshot.snapshot_id)
        if version != -1:
            scan = scan.from_snapshot_id_exclusive(version)
        return NewFiles(snapshot.snapshot_id, _files(scan.plan_files()))

    def read(self, file: LakeFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        table = self._open()
        return self._batches(table, [file.task], self._schema(table).select(*names))

    def _batches(self, table: Any, tasks: list[Any], schema: Any) -> Iterator[pa.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        return iter(
            ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_record_batches(tasks)
        )


def _files(tasks: Any) -> list[LakeFile]:
    ordered = sorted(tasks, key=lambda t: t.file.file_path)
    return [LakeFile(t.file.file_path, t, t.file.file_size_in_bytes) for t in ordered]


def _condition(table: Any, then: Any, where: Sequence[ColumnBound]) -> Any:
    """What the library compares with what manifests say of files and partitions.

    Bounds name columns as the state that is read has them, and the library those of today. A bound
    of a column that is gone, or of a value that the library does not take for it, is left out.
    """
    from pyiceberg.expressions import AlwaysTrue, And

    found: Any = AlwaysTrue()
    for bound in where:
        try:
            column = table.schema().find_column_name(then.find_field(bound.column).field_id)
            if column is None:
                continue
            condition = _compared(table.schema().find_type(column), column, bound)
            condition.bind(table.schema())
        except (TypeError, ValueError, ArithmeticError):
            continue
        found = And(found, condition)
    return found


def _compared(kind: Any, column: str, bound: ColumnBound) -> Any:
    from pyiceberg import expressions as x

    one_of: Any = x.In
    signs: dict[str, Any] = {
        "=": x.EqualTo,
        "<": x.LessThan,
        "<=": x.LessThanOrEqual,
        ">": x.GreaterThan,
        ">=": x.GreaterThanOrEqual,
        "IS NULL": x.IsNull,
        "IS NOT NULL": x.NotNull,
    }
    values = [_as(kind, value) for value in bound.values]
    if bound.sign == "IN":
        return one_of(column, values)
    return signs[bound.sign](column, *values)


def _as(kind: Any, value: Any) -> Any:
    """A value as the library takes it for a type."""
    from pyiceberg.types import DecimalType, IntegerType, LongType, TimestamptzType

    if isinstance(kind, TimestamptzType) and isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC)
    if isinstance(kind, IntegerType | LongType) and not isinstance(value, int):
        # The library would cut off its fraction.
        raise ValueError(f"{value} is not a whole number")
    if isinstance(kind, DecimalType) and isinstance(value, Decimal):
        scaled = value.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
        return scaled if scaled == value else value
    return value


def _parts(rows: ds.Dataset) -> Iterator[list[pa.RecordBatch]]:
    """Batches of so many rows as are written at a time."""
    part: list[pa.RecordBatch] = []
    for batch in rows.to_batches():
        part.append(batch)
        if sum(b.num_rows for b in part) >= _ROWS_AT_A_TIME:
            yield part
            part = []
    if part:
        yield part


def _written(table: Any, rows: pa.Table) -> list[Any]:
    """New data files with rows, by the partitions that the table has today."""
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    return list(_dataframe_to_data_files(table.metadata, rows, table.io)) if len(rows) else []


def _replace(
    transaction: Any, old: list[Any], new: list[Any], properties: dict[str, str] | None = None
) -> None:
    """Put data files in the place of others."""
    with transaction.update_snapshot(snapshot_properties=properties or {}).overwrite() as update:
        for file in old:
            update.delete_data_file(file)
        for file in new:
            update.append_data_file(file)
