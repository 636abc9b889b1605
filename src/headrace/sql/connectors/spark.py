"""The spark connector: the rows of a table that Spark knows, read by Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.streams import internal_rows

__all__ = ["SparkFactory"]


class SparkFactory(TableFactory):
    """`'connector' = 'spark'`."""

    name = "spark"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads the rows that are there, inside the epochs' own Spark jobs."""
        if context.metadata:
            raise SqlError(f"the spark table {context.name} has no metadata columns")
        table = context.required("table-name")
        context.check_all_used()
        return _SparkTable(context, table)


@dataclass
class _SparkTable(TableSource):
    context: TableContext
    table: str

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        schema = self.context.schema
        names = ["`" + name.replace("`", "``") + "`" for name in schema.names]
        frame = env.get_spark_session().table(self.table).select(*names)
        stream = env.from_data_frame(frame, source_name="Source: spark")
        return internal_rows(stream, schema, False, self.context.zone)
