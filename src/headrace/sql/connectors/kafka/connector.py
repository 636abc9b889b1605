"""The kafka connector: a topic's messages as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSourceBuilder,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.kafka.options import (
    delivery,
    partitioner,
    set_end,
    set_start,
    sink_builder,
    source_builder,
    startup_at,
)
from headrace.sql.connectors.kafka.rows import (
    KafkaLayout,
    MessageSchema,
    ValueSchema,
    kafka_layout,
    metadata_type,
    row_serializer,
)
from headrace.sql.connectors.watermark_options import WatermarkOptions, watermark_options
from headrace.sql.plan.expressions import Schema
from headrace.sql.types import DataType

__all__ = ["KafkaFactory", "KafkaTable", "KafkaTableSink"]


class KafkaFactory(TableFactory):
    """`'connector' = 'kafka'`."""

    name = "kafka"

    def metadata_type(self, key: str) -> DataType | None:
        return metadata_type(key)

    def beginning_at(self, context: TableContext, millis: int | None) -> dict[str, str] | None:
        return startup_at(millis)

    def create_source(self, context: TableContext) -> TableSource:
        """Reads topics, from an offset on and, if it is bounded, up to another."""
        builder, topics = source_builder(context)
        set_start(context, builder, topics)
        bounded = set_end(context, builder, topics)
        interval = context.duration("scan.topic-partition-discovery.interval")
        if interval is not None:
            millis = int(interval.total_seconds() * 1000)
            builder.set_property("partition.discovery.interval.ms", str(millis))
        parallelism = context.parallelism("scan.parallelism")
        layout = kafka_layout(context, reading=True)
        watermarks = watermark_options(context)
        delivery(context)
        partitioner(context)
        context.option("sink.parallelism")
        context.check_all_used()
        return KafkaTable(builder, layout, bounded, watermarks, parallelism)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes messages into a topic."""
        layout = kafka_layout(context, reading=False)
        if context.primary_key and not layout.changes:
            raise SqlError(
                f"The Kafka table '{context.name}' with '{layout.value.format}' format doesn't "
                "support defining PRIMARY KEY constraint on the table, because it can't guarantee "
                "the semantic of primary key."
            )
        builder, topic = sink_builder(context)
        messages = partial(row_serializer, topic, layout, partitioner(context))
        parallelism = context.parallelism("sink.parallelism")
        context.with_prefix("scan.")
        context.check_all_used()
        sink = builder.set_record_serializer(messages(kinds=False)).build()
        return KafkaTableSink(sink, messages, layout.changes, parallelism)


@dataclass
class KafkaTable(TableSource):
    """Topics that are read."""

    builder: KafkaSourceBuilder
    layout: KafkaLayout
    is_bounded: bool
    watermark_options: WatermarkOptions
    parallelism: int | None = None
    needed: Sequence[int] | None = None

    takes_watermarks = True

    def __post_init__(self) -> None:
        self.append_only = not self.layout.changes
        self.upsert = self.deletes_by_key = self.layout.upsert

    @property
    def bounded(self) -> bool:
        return self.is_bounded

    def narrowed(self, columns: Sequence[int]) -> TableSource:
        return replace(self, needed=columns)

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        return self.build_with_watermarks(env, WatermarkStrategy.no_watermarks())

    def build_with_watermarks(
        self, env: StreamExecutionEnvironment, strategy: WatermarkStrategy
    ) -> DataStream[Any]:
        alone = self.layout.value_alone
        value = self.layout.value
        schema = ValueSchema(value, self.needed) if alone else MessageSchema(self.layout)
        source = self.builder.set_deserializer(schema).build()
        stream = env.from_source(source, strategy, "Source: kafka")
        return stream if self.parallelism is None else stream.set_parallelism(self.parallelism)


@dataclass
class KafkaTableSink(TableSink):
    """A topic that is written; `messages` makes messages of rows, perhaps with their kinds."""

    sink: KafkaSink
    messages: Callable[..., KafkaRecordSerializationSchema]
    accepts_updates: bool
    parallelism: int | None = None

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        sink = replace(self.sink, schema=self.messages(kinds=changelog))
        return stream.sink_to(sink).name("Sink: kafka")
