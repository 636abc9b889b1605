"""The upsert-kafka connector: a topic whose messages replace each other, by their key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.common.errors import SqlError
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer
from headrace.datastream.data_stream import DataStream
from headrace.datastream.operator_settings import transformation_of
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.kafka.connector import KafkaTable, KafkaTableSink
from headrace.sql.connectors.kafka.options import delivery, set_end, sink_builder, source_builder
from headrace.sql.connectors.kafka.rows import metadata_type, row_serializer, upsert_layout
from headrace.sql.connectors.streams import by_columns, with_operator
from headrace.sql.connectors.watermark_options import WatermarkOptions
from headrace.sql.operators.changes.specs import LastChangesSpec
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType

__all__ = ["UpsertKafkaFactory"]


class UpsertKafkaFactory(TableFactory):
    """`'connector' = 'upsert-kafka'`."""

    name = "upsert-kafka"

    def metadata_type(self, key: str) -> DataType | None:
        return metadata_type(key)

    def create_source(self, context: TableContext) -> TableSource:
        """Reads topics from their beginning: a later start would miss rows that still count."""
        layout = upsert_layout(context, reading=True)
        builder, topics = source_builder(context)
        builder.set_starting_offsets(KafkaOffsetsInitializer.earliest())
        bounded = set_end(context, builder, topics)
        parallelism = context.parallelism("scan.parallelism")
        delivery(context)
        _flush_options(context)
        context.option("sink.parallelism")
        context.check_all_used()
        return KafkaTable(builder, layout, bounded, WatermarkOptions(), parallelism)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes the last change of each key, and tombstones of rows that are gone."""
        layout = upsert_layout(context, reading=False)
        builder, topic = sink_builder(context)
        parallelism = context.parallelism("sink.parallelism")
        _flush_options(context)
        context.with_prefix("scan.")
        context.check_all_used()
        messages = partial(row_serializer, topic, layout, None)
        sink = builder.set_record_serializer(messages(kinds=False)).build()
        keys = tuple(map(context.schema.names.index, context.primary_key))
        return _UpsertSink(sink, messages, True, parallelism, keys)


def _flush_options(context: TableContext) -> None:
    """Flink's buffer; here each epoch is one, so that they say nothing new."""
    rows, interval = "sink.buffer-flush.max-rows", "sink.buffer-flush.interval"
    most, time = context.integer(rows), context.duration(interval)
    if bool(most and most > 0) != bool(time):
        raise SqlError(
            f"'{rows}' and '{interval}' must be set to be greater than zero together to enable "
            "sink buffer flushing."
        )


@dataclass
class _UpsertSink(KafkaTableSink):
    keys: tuple[int, ...] = ()

    upsert = True
    deletes_by_key = True

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        # All changes of a key go through one writer, in their order.
        parallelism = self.parallelism or transformation_of(stream).parallelism
        last = with_operator(
            by_columns(stream, self.keys), "LastChanges", LastChangesSpec(self.keys)
        )
        if parallelism is not None:
            last.set_parallelism(parallelism)
        return super().attach(last, schema, changelog)
