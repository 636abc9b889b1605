"""The kafka connector: a topic's messages as rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import SqlError
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    FlinkFixedPartitioner,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaPartitioner,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext, TableFactory, TableSink, TableSource
from headrace.sql.connectors.kafka_rows import (
    KafkaLayout,
    MessageSchema,
    ValueSchema,
    kafka_layout,
    row_serializer,
)
from headrace.sql.connectors.watermark_options import WatermarkOptions, watermark_options
from headrace.sql.plan.expressions import Schema

__all__ = ["KafkaFactory"]

_STARTUP = ("group-offsets", "earliest-offset", "latest-offset", "timestamp", "specific-offsets")
_BOUNDED = ("unbounded", "group-offsets", "latest-offset", "timestamp", "specific-offsets")
_GUARANTEES = {
    "none": DeliveryGuarantee.NONE,
    "at-least-once": DeliveryGuarantee.AT_LEAST_ONCE,
    "exactly-once": DeliveryGuarantee.EXACTLY_ONCE,
}


def one_of(context: TableContext, key: str, default: str, values: tuple[str, ...]) -> str:
    """An option that has one of some values."""
    value = (context.option(key) or default).lower()
    if value not in values:
        raise SqlError(
            f"Invalid value for option '{key}' of table {context.name}: "
            f"'{value}'{suggestion(value, values)} Expected one of: {', '.join(values)}"
        )
    return value


class KafkaFactory(TableFactory):
    """`'connector' = 'kafka'`."""

    name = "kafka"

    def create_source(self, context: TableContext) -> TableSource:
        """Reads topics, from an offset on and, if it is bounded, up to another."""
        builder = KafkaSource.builder().set_properties(self._properties(context))
        topic, pattern = context.option("topic"), context.option("topic-pattern")
        if (topic is None) == (pattern is None):
            raise SqlError(
                f"table {context.name} needs one of the options 'topic' and 'topic-pattern'"
            )
        topics = [] if topic is None else [t.strip() for t in topic.split(";")]
        if pattern is not None:
            builder.set_topic_pattern(pattern)
        else:
            builder.set_topics(*topics)
        self._start(context, builder, topics)
        bounded = self._stop(context, builder, topics)
        interval = context.duration("scan.topic-partition-discovery.interval")
        if interval is not None:
            millis = int(interval.total_seconds() * 1000)
            builder.set_property("partition.discovery.interval.ms", str(millis))
        parallelism = context.parallelism("scan.parallelism")
        layout = kafka_layout(context, reading=True)
        watermarks = watermark_options(context)
        self._sink_options(context)
        context.check_all_used()
        return _KafkaTable(builder, layout, bounded, watermarks, parallelism)

    def create_sink(self, context: TableContext, overwrite: bool = False) -> TableSink:
        """Writes messages into a topic."""
        properties = self._properties(context)
        topic = context.required("topic")
        if ";" in topic or context.option("topic-pattern") is not None:
            raise SqlError(f"table {context.name} is a sink and has one 'topic'")
        if context.primary_key:
            raise SqlError(
                f"The Kafka table '{context.name}' with "
                f"'{context.option('format') or context.option('value.format')}' format doesn't "
                "support defining PRIMARY KEY constraint on the table, because it can't guarantee "
                "the semantic of primary key."
            )
        layout = kafka_layout(context, reading=False)
        guarantee, prefix, partitioner = self._sink_options(context)
        for key in list(context.options):
            if key.startswith("scan."):
                context.option(key)
        context.check_all_used()
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE and prefix is None:
            raise SqlError(
                "sink.transactional-id-prefix must be specified when using "
                "DeliveryGuarantee.EXACTLY_ONCE."
            )
        builder = KafkaSink.builder().set_delivery_guarantee(guarantee)
        for key, value in properties.items():
            builder.set_property(key, value)
        builder.set_bootstrap_servers(properties["bootstrap.servers"])
        if prefix is not None:
            builder.set_transactional_id_prefix(prefix)
        builder.set_record_serializer(row_serializer(topic, layout, partitioner))
        return _KafkaTableSink(builder.build(), context.parallelism("sink.parallelism"))

    def _properties(self, context: TableContext) -> dict[str, str]:
        properties = context.with_prefix("properties.")
        if "bootstrap.servers" not in properties:
            context.required("properties.bootstrap.servers")
        return properties

    def _start(self, context: TableContext, builder: KafkaSourceBuilder, topics: list[str]) -> None:
        mode = one_of(context, "scan.startup.mode", "group-offsets", _STARTUP)
        offsets = context.option("scan.startup.specific-offsets")
        timestamp = context.integer("scan.startup.timestamp-millis")
        start = KafkaOffsetsInitializer.earliest()
        if mode == "latest-offset":
            start = KafkaOffsetsInitializer.latest()
        elif mode == "group-offsets":
            reset = context.options.get("properties.auto.offset.reset", "none").upper()
            if reset not in KafkaOffsetResetStrategy.__members__:
                raise SqlError(
                    f"'properties.auto.offset.reset' is not a strategy: {reset.lower()!r}"
                )
            strategy = KafkaOffsetResetStrategy[reset]
            start = KafkaOffsetsInitializer.committed_offsets(strategy)
        elif mode == "timestamp":
            start = KafkaOffsetsInitializer.timestamp(_given(context, "startup", timestamp))
        elif mode == "specific-offsets":
            start = _offsets(context, "startup", offsets, topics)
        builder.set_starting_offsets(start)

    def _stop(self, context: TableContext, builder: KafkaSourceBuilder, topics: list[str]) -> bool:
        mode = one_of(context, "scan.bounded.mode", "unbounded", _BOUNDED)
        offsets = context.option("scan.bounded.specific-offsets")
        timestamp = context.integer("scan.bounded.timestamp-millis")
        if mode == "unbounded":
            return False
        stop = KafkaOffsetsInitializer.latest()
        if mode == "group-offsets":
            stop = KafkaOffsetsInitializer.committed_offsets()
        elif mode == "timestamp":
            stop = KafkaOffsetsInitializer.timestamp(_given(context, "bounded", timestamp))
        elif mode == "specific-offsets":
            stop = _offsets(context, "bounded", offsets, topics)
        builder.set_bounded(stop)
        return True

    def _sink_options(
        self, context: TableContext
    ) -> tuple[DeliveryGuarantee, str | None, KafkaPartitioner | None]:
        names = tuple(_GUARANTEES)
        guarantee = one_of(context, "sink.delivery-guarantee", "at-least-once", names)
        kinds = ("default", "fixed", "round-robin")
        kind = one_of(context, "sink.partitioner", "default", kinds)
        context.option("sink.parallelism")
        if kind == "round-robin" and context.options.get("key.fields"):
            raise SqlError(
                "Currently 'round-robin' partitioner only works when option 'key.fields' is not "
                "specified."
            )
        # The client spreads messages without a key over the partitions by itself.
        partitioner = FlinkFixedPartitioner() if kind == "fixed" else None
        prefix = context.option("sink.transactional-id-prefix")
        return _GUARANTEES[guarantee], prefix, partitioner


def _given(context: TableContext, side: str, value: int | None) -> int:
    if value is None:
        raise SqlError(
            f"'scan.{side}.timestamp-millis' is required in 'timestamp' {side} mode but missing "
            f"in table {context.name}."
        )
    return value


def _offsets(
    context: TableContext, side: str, text: str | None, topics: list[str]
) -> KafkaOffsetsInitializer:
    """The offsets of `partition:0,offset:42;partition:1,offset:300`."""
    key = f"scan.{side}.specific-offsets"
    if text is None:
        raise SqlError(
            f"'{key}' is required in 'specific-offsets' {side} mode but missing in table "
            f"{context.name}."
        )
    if len(topics) != 1:
        raise SqlError(f"'specific-offsets' of table {context.name} need exactly one topic")
    found: dict[KafkaTopicPartition, int] = {}
    for pair in text.strip(";").split(";"):
        match = re.fullmatch(r"\s*partition:(\d+)\s*,\s*offset:(-?\d+)\s*", pair)
        if match is None:
            raise SqlError(
                f"Invalid properties '{key}' should follow the format "
                f"'partition:0,offset:42;partition:1,offset:300', but is '{text}'."
            )
        found[KafkaTopicPartition(topics[0], int(match[1]))] = int(match[2])
    return KafkaOffsetsInitializer.offsets(found)


@dataclass
class _KafkaTable(TableSource):
    builder: KafkaSourceBuilder
    layout: KafkaLayout
    is_bounded: bool
    watermark_options: WatermarkOptions
    parallelism: int | None = None

    takes_watermarks = True

    @property
    def bounded(self) -> bool:
        return self.is_bounded

    def build(self, env: StreamExecutionEnvironment) -> DataStream[Any]:
        return self.build_with_watermarks(env, WatermarkStrategy.no_watermarks())

    def build_with_watermarks(
        self, env: StreamExecutionEnvironment, strategy: WatermarkStrategy
    ) -> DataStream[Any]:
        alone = self.layout.value_alone
        schema = ValueSchema(self.layout.value) if alone else MessageSchema(self.layout)
        source = self.builder.set_deserializer(schema).build()
        stream = env.from_source(source, strategy, "Source: kafka")
        return stream if self.parallelism is None else stream.set_parallelism(self.parallelism)


@dataclass
class _KafkaTableSink(TableSink):
    sink: KafkaSink
    parallelism: int | None = None

    def attach(self, stream: DataStream[Any], schema: Schema, changelog: bool) -> Any:
        return stream.sink_to(self.sink).name("Sink: kafka")
