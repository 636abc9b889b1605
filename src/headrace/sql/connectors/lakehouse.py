"""The connectors delta and iceberg: tables of a lakehouse, by key where they have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headrace.common.configuration import Configuration
from headrace.common.errors import GraphError, SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.lakehouse import (
    AsOf,
    DeltaLakeTable,
    IcebergTable,
    LakehouseSink,
    LakehouseSource,
    LakeTable,
)
from headrace.datastream.connectors.lakehouse.source import LakeRows
from headrace.datastream.connectors.lakehouse.table import ColumnBound
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.files.columnar_rows import row_converter
from headrace.sql.connectors.lake_conditions import bounds_of, keeps_values
from headrace.sql.connectors.lookup_options import LookupCaching
from headrace.sql.connectors.streams import by_columns, external_rows
from headrace.sql.lookups.full_cache import SourceRows, WholeTable
from headrace.sql.lookups.tables import LookupLimits, LookupTable
from headrace.sql.operators.base import zone_of
from headrace.sql.plan.expressions import Expression, Schema, expression_text
from headrace.sql.types import DataType, RowField, RowType

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DeltaFactory", "IcebergFactory"]

_OF_SINKS = ("staging-path", "compaction.commits", "sink.parallelism")
_OF_SOURCES = ("source.monitor-interval", "scan.startup.mode", "skip-changes")


class _LakehouseFactory(TableFactory):
    """What the two have in common: all but where a table is."""

    #: Options for a version and for a moment, named as those of Spark's readers.
    as_of: tuple[str, str]

    def table(self, context: TableContext, at: AsOf | None) -> LakeTable:
        """The table that the options name."""
        raise NotImplementedError

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        follows = "source.monitor-interval" in context.options
        return {"scan.startup.mode": "latest"} if follows and millis is None else None

    def create_source(self, context: TableContext) -> TableSource:
        """Reads the rows that are there, and with `source.monitor-interval` those that follow."""
        table = self._table(context)
        for key in _OF_SINKS:
            context.option(key)
        ends = context.batch or table.at is not None
        interval = None if ends else context.duration("source.monitor-interval")
        context.option("source.monitor-interval")
        latest = _latest(context) and interval is not None
        skip = context.boolean("skip-changes")
        caching = LookupCaching.of(context)
        context.check_all_used()
        schema = context.schema
        names = tuple(schema.names)
        rows = _InternalRows(table, names, tuple(schema.types), names)
        missing = set(rows.names) - set(_existing(table, context).names)
        if missing:
            raise SqlError(
                f"table {context.name} declares {', '.join(sorted(missing))}, which "
                f"{table.name} does not have; it has {', '.join(_existing(table, context).names)}"
            )
        return _LakehouseTable(table, rows, caching, interval, latest, skip, context)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Adds rows, or with a primary key inserts, updates and deletes them."""
        table = self._table(context)
        for key in _OF_SOURCES:
            context.option(key)
        context.with_prefix("lookup.")
        parallelism = context.parallelism("sink.parallelism")
        fields = [RowField(f.name, f.type) for f in context.schema]
        try:
            sink = LakehouseSink(
                table,
                context.primary_key,
                context.partition_keys,
                RowType(fields, False),
                context.option("staging-path"),
                context.integer("compaction.commits"),
            )
        except GraphError as error:
            raise SqlError(f"table {context.name}: {error}") from error
        context.check_all_used()
        return _LakehouseTableSink(sink, context.zone, parallelism)

    def _table(self, context: TableContext) -> LakeTable:
        if context.metadata:
            raise SqlError(f"the {self.name} table {context.name} has no metadata columns")
        try:
            return self.table(context, self._at(context))
        except GraphError as error:
            raise SqlError(f"table {context.name}: {error}") from error

    def _at(self, context: TableContext) -> AsOf | None:
        version_key, time_key = self.as_of
        version, moment = context.integer(version_key), context.option(time_key)
        if version is not None and moment is not None:
            raise SqlError(
                f"'{version_key}' and '{time_key}' of table {context.name} exclude each other"
            )
        if moment is not None:
            return AsOf(timestamp_ms=_millis_of(moment, time_key, context))
        return None if version is None else AsOf(version)


def _millis_of(text: str, key: str, context: TableContext) -> int:
    """Milliseconds since 1970, or a timestamp in the session's time zone."""
    if text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise SqlError(
            f"'{key}' of table {context.name} is a timestamp, such as '2024-01-31 12:00:00', or "
            f"milliseconds since 1970, not {text!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone_of(context.zone) or UTC)
    return int(moment.timestamp() * 1000)


class DeltaFactory(_LakehouseFactory):
    """`'connector' = 'delta'`."""

    name = "delta"
    as_of = ("versionAsOf", "timestampAsOf")

    def table(self, context: TableContext, at: AsOf | None) -> LakeTable:
        return DeltaLakeTable(context.required("path"), context.with_prefix("storage."), at)


class IcebergFactory(_LakehouseFactory):
    """`'connector' = 'iceberg'`, with the options that Flink's connector has."""

    name = "iceberg"
    as_of = ("snapshot-id", "as-of-timestamp")

    def table(self, context: TableContext, at: AsOf | None) -> LakeTable:
        catalog = context.with_prefix("catalog.")
        for key, property_ in (("catalog-type", "type"), ("catalog-name", "name")):
            value = context.option(key)
            if value is not None:
                catalog[property_] = value
        for key in ("uri", "warehouse"):
            value = context.option(key)
            if value is not None:
                catalog[key] = value
        database = context.option("catalog-database") or "default"
        name = context.option("catalog-table") or context.path[-1]
        return IcebergTable(f"{database}.{name}", catalog, at)


def _existing(table: LakeTable, context: TableContext) -> pa.Schema:
    try:
        columns = table.columns()
    except GraphError as error:
        raise SqlError(f"table {context.name}: {error}") from error
    if columns is None:
        raise SqlError(
            f"table {context.name} is read, but {table.name} is not there; insert into it first"
        )
    return columns


def _latest(context: TableContext) -> bool:
    mode = context.option("scan.startup.mode") or "initial"
    if mode not in ("initial", "latest"):
        raise SqlError(
            f"'scan.startup.mode' of table {context.name} must be 'initial' or 'latest', not "
            f"'{mode}'"
        )
    latest = mode == "latest"
    if latest and "source.monitor-interval" not in context.options:
        raise SqlError(
            f"'scan.startup.mode' = 'latest' of table {context.name} needs "
            "'source.monitor-interval', without which a table is read once and has nothing new; "
            "set it, for example to '10 s', or leave 'scan.startup.mode' out"
        )
    return latest


@dataclass(frozen=True)
class _InternalRows(LakeRows):
    """Rows in internal form, of `columns`; those that are not read are NULL."""

    types: tuple[DataType, ...]
    columns: tuple[str, ...]

    def converter(self) -> Callable[[pa.RecordBatch], list[Any]]:
        return row_converter(self.columns, self.types)


@dataclass
class _LakehouseTable(TableSource):
    table: LakeTable
    rows: _InternalRows
    caching: LookupCaching
    interval: timedelta | None
    from_latest: bool
    skip_changes: bool
    context: TableContext
    where: tuple[tuple[str, ColumnBound], ...] = ()
    looks_up = True
    searches = True
    read_in_spark = True
    pushes_down = True

    @property
    def bounded(self) -> bool:
        return self.interval is None

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        where = tuple(bound for _, bound in self.where)
        source = LakehouseSource(
            self.table, self.interval, self.from_latest, self.skip_changes, self.rows, where
        )
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "Source: lakehouse")

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        # Rows that are only counted have one column, too.
        names = tuple(self.rows.columns[i] for i in columns) or self.rows.columns[:1]
        return replace(self, rows=replace(self.rows, names=names))

    def filtered(self, conditions: Sequence[Expression]) -> tuple[TableSource, list[Expression]]:
        """Files without such rows are not read; of the others all rows are."""
        schema, left = self.context.schema, list(conditions)
        there = _existing(self.table, self.context)
        kept = {f.name for f in schema if keeps_values(there.field(f.name).type, f.type)}
        found = [
            (expression_text(e, schema.names), bound)
            for e in conditions
            for bound in bounds_of(e, schema, self.context.zone)
            if bound.column in kept
        ]
        if not found or not self.bounded:
            return self, left
        return replace(self, where=(*self.where, *found)), left

    def describe(self) -> list[str]:
        parts = []
        if self.where:
            shown = dict.fromkeys(text for text, _ in self.where)
            parts.append(f"filter=[{' AND '.join(shown)}]")
        if self.rows.names != self.rows.columns:
            parts.append(f"project=[{', '.join(self.rows.names)}]")
        return parts

    def lookup(
        self, columns: Sequence[int], limits: LookupLimits, configuration: Configuration
    ) -> LookupTable:
        return self.caching.of_all(self.whole_table(configuration), columns, limits)

    def whole_table(self, configuration: Configuration) -> WholeTable:
        return self.caching.whole(SourceRows(LakehouseSource(self.table, rows=self.rows), list))


@dataclass
class _LakehouseTableSink(TableSink):
    sink: LakehouseSink
    zone: str
    parallelism: int | None = None
    compacts = True

    def compact(self) -> None:
        self.sink.table.compact()

    def __post_init__(self) -> None:
        self.accepts_updates = self.upsert = bool(self.sink.keys)
        if not self.sink.keys:
            self.refusal = "rows of a lakehouse table without a primary key can only be added"

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        keys = [schema.names.index(k) for k in self.sink.keys]
        # All changes of a key go through one writer, in their order.
        rows = by_columns(stream, keys) if keys else stream
        external = external_rows(rows, schema, changelog, self.zone)
        return external.sink_to(self.sink).name("Sink: lakehouse")
