"""Options that all connectors of changes have, and the tables that they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.cdc.source import ChangeSource, ChangeSourceBuilder
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableSource
from headrace.sql.connectors.cdc.rows import change_rows
from headrace.sql.connectors.streams import by_columns

__all__ = ["cdc_table", "common_options"]

_SNAPSHOT = "scan.incremental.snapshot"
# What Flink CDC needs to know, and we do not.
_NO_EFFECT = (
    f"{_SNAPSHOT}.backfill.skip",
    f"{_SNAPSHOT}.unbounded-chunk-first.enabled",
    "scan.snapshot.fetch.size",
    "connect.max-retries",
    "connection.pool.size",
    "chunk-meta.group.size",
)


def common_options(context: TableContext, builder: ChangeSourceBuilder) -> None:
    """Tell a builder what the options of a table say."""
    builder.hostname(context.required("hostname"))
    port = context.integer("port")
    if port is not None:
        builder.port(port)
    builder.username(context.required("username")).password(context.required("password"))
    size = context.integer(f"{_SNAPSHOT}.chunk.size")
    if size is not None:
        builder.split_size(size)
    key = context.option(f"{_SNAPSHOT}.chunk.key-column")
    if key is not None:
        builder.chunk_key_column(key)
    wait = context.duration("connect.timeout")
    if wait is not None:
        builder.wait_for_server(wait.total_seconds())
    for option in _NO_EFFECT:
        context.option(option)
    if not context.boolean(f"{_SNAPSHOT}.enabled", True):
        raise SqlError(f"table {context.name} is read in chunks: '{_SNAPSHOT}.enabled' is true")


def cdc_table(
    context: TableContext, builder: ChangeSourceBuilder, metadata: tuple[str, ...]
) -> TableSource:
    """The table; all its options must have been read, but for what concerns its rows."""
    as_inserts = context.boolean("scan.read-changelog-as-append-only.enabled")
    context.check_all_used()
    rows = change_rows(context, metadata)
    source = builder.columns(*rows.row_type.names).build()
    as_inserts = as_inserts or source.bounded
    of_mysql = builder.product == "mysql"
    source = replace(source, deserialize=replace(rows, as_inserts=as_inserts, of_mysql=of_mysql))
    key = tuple(context.schema.names.index(k) for k in context.primary_key)
    name = f"Source: {context.options['connector']}"
    return _CdcTable(source, name, key or rows.columns, as_inserts)


@dataclass
class _CdcTable(TableSource):
    source: ChangeSource
    name: str
    #: The columns by which changes keep their order.
    order: tuple[int, ...]
    append_only: bool = False

    @property
    def bounded(self) -> bool:
        return self.source.bounded

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        stream = env.from_source(self.source, WatermarkStrategy.no_watermarks(), self.name)
        if env.get_parallelism() == 1 or self.append_only:
            return stream
        # One subtask reads; the changes of a row have to stay in their order behind it.
        return by_columns(stream, self.order)
