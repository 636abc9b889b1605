"""The blackhole connector: rows are dropped, for measurements."""

from __future__ import annotations

from typing import Any

from headrace.datastream.connectors.print_sink import DiscardingSink
from headrace.datastream.data_stream import DataStream
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink
from headrace.sql.plan.expressions import Schema

__all__ = ["BlackHoleFactory"]


class BlackHoleFactory(TableFactory):
    """`'connector' = 'blackhole'`."""

    name = "blackhole"

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Drops everything."""
        context.check_all_used()
        return _BlackHole()


class _BlackHole(TableSink):
    accepts_updates = True
    takes_columns = True

    def upserts(self, changes: bool) -> bool:
        """As in Flink, it takes what there is, but for rows before an update."""
        return changes

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        return stream.sink_to(DiscardingSink()).name("Sink: blackhole")

    def attach_columns(self, stream: DataStream[Any], schema: Schema) -> Any:
        return self.attach(stream, schema, changelog=False)
