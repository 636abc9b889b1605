"""The jdbc connector: rows into a table of a database, by key where it has one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions
from headrace.datastream.data_stream import DataStream
from headrace.sql.expressions import Schema
from headrace.table.connectors.base import TableContext, TableFactory, TableSink
from headrace.table.connectors.jdbc_changes import ChangeSink

__all__ = ["JdbcFactory"]


class JdbcFactory(TableFactory):
    """`'connector' = 'jdbc'`, as a sink."""

    name = "jdbc"

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Inserts rows, or with a primary key inserts, updates and deletes them."""
        if context.metadata:
            raise SqlError(f"the jdbc table {context.name} has no metadata columns")
        builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        builder.with_url(context.required("url"))
        table = context.required("table-name")
        driver, user = context.option("driver"), context.option("username")
        password, wait = (
            context.option("password"),
            context.duration("connection.max-retry-timeout"),
        )
        if driver is not None:
            builder.with_driver_name(driver)
        if user is not None:
            builder.with_user_name(user)
        if password is not None:
            builder.with_password(password)
        if wait is not None:
            builder.with_wait_for_server(wait.total_seconds())
        execution = (
            JdbcExecutionOptions.builder()
            .with_batch_size(context.integer("sink.buffer-flush.max-rows", 100) or 1)
            .with_max_retries(context.integer("sink.max-retries", 3) or 0)
        )
        for key in ("sink.buffer-flush.interval", "sink.parallelism", "connection.max-retries"):
            context.option(key)
        context.check_all_used()
        sink = ChangeSink(
            builder.build(),
            execution.build(),
            table,
            tuple(context.schema.names),
            tuple(context.schema.types),
            context.primary_key,
            context.zone,
        )
        sink.check()
        return _JdbcTableSink(sink, upsert=bool(context.primary_key))


class _JdbcTableSink(TableSink):
    refusal = "please declare primary key for sink table when query contains update/delete record."

    def __init__(self, sink: ChangeSink, upsert: bool) -> None:
        self._sink = sink
        self.accepts_updates = self.upsert = upsert

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        sink = replace(self._sink, changelog=changelog)
        if changelog and sink.keys:
            # All changes of a key have to go through one writer, in their order.
            stream = stream.key_by(_Key(tuple(schema.names.index(k) for k in sink.keys)))
        return stream.sink_to(sink).name("Sink: jdbc")


@dataclass(frozen=True)
class _Key:
    columns: tuple[int, ...]

    def __call__(self, row: Any) -> Any:
        return tuple([row[c] for c in self.columns])
