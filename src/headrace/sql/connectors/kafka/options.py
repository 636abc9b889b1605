"""Options of topics as tables: which brokers, from where to where, and how they are written."""

from __future__ import annotations

import re

from headrace.common.errors import SqlError
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    FlinkFixedPartitioner,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaPartitioner,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.sql.binder.context import suggestion
from headrace.sql.connectors.base import TableContext

__all__ = [
    "delivery",
    "partitioner",
    "set_end",
    "set_start",
    "sink_builder",
    "source_builder",
    "startup_at",
]

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


def _properties(context: TableContext) -> dict[str, str]:
    properties = context.with_prefix("properties.")
    if "bootstrap.servers" not in properties:
        context.required("properties.bootstrap.servers")
    return properties


# Reading.


def source_builder(context: TableContext) -> tuple[KafkaSourceBuilder, list[str]]:
    """A source of a table's topics, and these if they are named."""
    builder = KafkaSource.builder().set_properties(_properties(context))
    topic, pattern = context.option("topic"), context.option("topic-pattern")
    if (topic is None) == (pattern is None):
        raise SqlError(f"table {context.name} needs one of the options 'topic' and 'topic-pattern'")
    topics = [] if topic is None else [t.strip() for t in topic.split(";")]
    if pattern is not None:
        builder.set_topic_pattern(pattern)
    else:
        builder.set_topics(*topics)
    return builder, topics


def set_start(context: TableContext, builder: KafkaSourceBuilder, topics: list[str]) -> None:
    """Where to begin: `scan.startup.*`."""
    mode = one_of(context, "scan.startup.mode", "group-offsets", _STARTUP)
    offsets = context.option("scan.startup.specific-offsets")
    timestamp = context.integer("scan.startup.timestamp-millis")
    start = KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        start = KafkaOffsetsInitializer.latest()
    elif mode == "group-offsets":
        reset = context.options.get("properties.auto.offset.reset", "none").upper()
        if reset not in KafkaOffsetResetStrategy.__members__:
            raise SqlError(f"'properties.auto.offset.reset' is not a strategy: {reset.lower()!r}")
        strategy = KafkaOffsetResetStrategy[reset]
        start = KafkaOffsetsInitializer.committed_offsets(strategy)
    elif mode == "timestamp":
        start = KafkaOffsetsInitializer.timestamp(_given(context, "startup", timestamp))
    elif mode == "specific-offsets":
        start = _offsets(context, "startup", offsets, topics)
    builder.set_starting_offsets(start)


def startup_at(millis: int | None) -> dict[str, str]:
    """Options `scan.startup.*` that begin at a moment, or now."""
    if millis is None:
        return {"scan.startup.mode": "latest-offset"}
    return {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(millis)}


def set_end(context: TableContext, builder: KafkaSourceBuilder, topics: list[str]) -> bool:
    """Where to end, if anywhere: `scan.bounded.*`."""
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


# Writing.


def delivery(context: TableContext) -> tuple[DeliveryGuarantee, str | None]:
    """How often messages arrive, and the prefix of transactions."""
    guarantee = one_of(context, "sink.delivery-guarantee", "at-least-once", tuple(_GUARANTEES))
    return _GUARANTEES[guarantee], context.option("sink.transactional-id-prefix")


def partitioner(context: TableContext) -> KafkaPartitioner | None:
    """Chooses the partitions of messages; the client does by itself, by their keys."""
    kind = one_of(context, "sink.partitioner", "default", ("default", "fixed", "round-robin"))
    if kind == "round-robin" and context.options.get("key.fields"):
        raise SqlError(
            "Currently 'round-robin' partitioner only works when option 'key.fields' is not "
            "specified."
        )
    # The client spreads messages without a key over the partitions.
    return FlinkFixedPartitioner() if kind == "fixed" else None


def sink_builder(context: TableContext) -> tuple[KafkaSinkBuilder, str]:
    """A sink into a table's topic, and the topic."""
    topic = context.required("topic")
    if ";" in topic or context.option("topic-pattern") is not None:
        raise SqlError(f"table {context.name} is a sink and has one 'topic'")
    guarantee, prefix = delivery(context)
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE and prefix is None:
        raise SqlError(
            "sink.transactional-id-prefix must be specified when using "
            "DeliveryGuarantee.EXACTLY_ONCE."
        )
    properties = _properties(context)
    builder = KafkaSink.builder().set_delivery_guarantee(guarantee)
    builder.set_properties(properties)
    builder.set_bootstrap_servers(properties["bootstrap.servers"])
    if prefix is not None:
        builder.set_transactional_id_prefix(prefix)
    return builder, topic
