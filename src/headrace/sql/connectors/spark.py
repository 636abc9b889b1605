"""The spark connector: the rows of a table that Spark knows, read by Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.connectors.spark_query import SparkTable
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql import types as t
from headrace.sql.catalog.spark_types import sql_type
from headrace.sql.connectors.base import TableContext, TableFactory, TableSource
from headrace.sql.connectors.streams import internal_rows
from headrace.sql.segments.expressions import column_name
from headrace.sql.types import DataType

__all__ = ["SparkFactory"]

_INTERNAL: dict[type[DataType], str] = {
    t.DateType: "unix_date({})",
    t.TimestampType: "unix_micros(CAST({} AS TIMESTAMP))",
    t.LocalZonedTimestampType: "unix_micros({})",
}
"""What makes an internal value of one of Spark's; all others are the same."""


# Options of Spark's reader, for tables whose format keeps old versions.
_AS_OF = ("versionAsOf", "timestampAsOf")


class SparkFactory(TableFactory):
    """`'connector' = 'spark'`."""

    name = "spark"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads the rows that are there, inside the epochs' own Spark jobs."""
        if context.metadata:
            raise SqlError(f"the spark table {context.name} has no metadata columns")
        table = context.required("table-name")
        given = [(key, context.option(key)) for key in _AS_OF]
        context.check_all_used()
        as_of = tuple((key, value) for key, value in given if value is not None)
        return _SparkTable(context, table, as_of)


@dataclass
class _SparkTable(TableSource):
    context: TableContext
    table: str
    as_of: tuple[tuple[str, str], ...] = ()

    def _frame(self, env: StreamExecutionEnvironment) -> Any:
        reader = env.get_spark_session().read.options(**dict(self.as_of))
        try:
            return reader.table(self.table)
        except Exception as error:
            if not self.as_of:
                raise
            wanted = ", ".join(f"'{key}' = '{value}'" for key, value in self.as_of)
            raise SqlError(
                f"Spark cannot read table {self.context.name} with {wanted}: {error}"
            ) from error

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        schema = self.context.schema
        names = ["`" + name.replace("`", "``") + "`" for name in schema.names]
        frame = self._frame(env).select(*names)
        stream = env.from_data_frame(frame, source_name="Source: spark")
        return internal_rows(stream, schema, False, self.context.zone)

    def spark_table(self, columns: Sequence[int]) -> SparkTable | None:
        env = StreamExecutionEnvironment.get_execution_environment()
        there = self._frame(env).schema.jsonValue()["fields"]
        found = {f["name"]: sql_type(f["type"], True, f["name"]) for f in there}
        texts = []
        for index in columns:
            field = self.context.schema[index]
            if field.name not in found or not field.type.same_but_null(found[field.name]):
                return None
            name = "`" + field.name.replace("`", "``") + "`"
            pattern = _INTERNAL.get(type(field.type), "{}")
            texts.append((column_name(index), pattern.format(name)))
        return SparkTable(self.table, tuple(texts), self.as_of)
