"""The names from before `KafkaSource` and `KafkaSink`: each is made of one of these."""

from __future__ import annotations

import enum
from dataclasses import replace

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    Committer,
    DeliveryGuarantee,
    ReaderContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    WriterContext,
)
from headrace.datastream.connectors.kafka.client import checked_properties
from headrace.datastream.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
)
from headrace.datastream.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headrace.datastream.connectors.kafka.sink import KafkaSink
from headrace.datastream.connectors.kafka.source import KafkaSource

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "Semantic",
]


class FlinkKafkaConsumerBase(Source):
    """A `KafkaSource` with the methods of the older class; give it to `env.add_source`."""

    def __init__(self, source: KafkaSource) -> None:
        self._source = source

    def set_commit_offsets_on_checkpoints(
        self, commit_on_checkpoints: bool
    ) -> FlinkKafkaConsumerBase:
        """Whether offsets are committed to the group when a checkpoint is complete."""
        return self._property("commit.offsets.on.checkpoint", str(commit_on_checkpoints).lower())

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Start at the oldest records."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Start at the end of the partitions."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Start at a time, in milliseconds."""
        return self._start(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Start at what the group has committed; by `auto.offset.reset` where it has not."""
        return self._start(_group_offsets(dict(self._source.properties)))

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Restored partitions are never filtered."""
        return self

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return self._source.produced_type

    def probe(self) -> str:
        return self._source.probe()

    def _start(self, offsets: KafkaOffsetsInitializer) -> FlinkKafkaConsumerBase:
        self._source = replace(self._source, start=offsets)
        return self

    def _property(self, key: str, value: str) -> FlinkKafkaConsumerBase:
        self._source = replace(self._source, properties={**self._source.properties, key: value})
        return self

    # The source itself.

    @property
    def bounded(self) -> bool:
        return False

    @property
    def produced_type(self) -> TypeInformation | None:
        return self._source.produced_type

    @property
    def reads_splits_together(self) -> bool:
        return True

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return self._source.create_enumerator(parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return self._source.create_reader(context)


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Reads topics. New programs use `KafkaSource`.

    Args:
        topics: One topic, or several.
        deserialization_schema: Makes records of the values.
        properties: Settings of the consumer, `bootstrap.servers` and `group.id` among them.
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: dict[str, str],
    ) -> None:
        given = checked_properties(properties)
        interval = given.pop("flink.partition-discovery.interval-millis", "-1")
        names = [topics] if isinstance(topics, str) else list(topics)
        super().__init__(
            KafkaSource.builder()
            .set_topics(*names)
            .set_value_only_deserializer(deserialization_schema)
            .set_properties({**given, "partition.discovery.interval.ms": interval})
            .set_starting_offsets(_group_offsets(given))
            .build()
        )


def _group_offsets(properties: dict[str, str]) -> KafkaOffsetsInitializer:
    reset = properties.get("auto.offset.reset", "latest")
    strategy = KafkaOffsetResetStrategy[reset.upper()]
    return KafkaOffsetsInitializer.committed_offsets(strategy)


class Semantic(enum.Enum):
    """How often a record arrives when something fails."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2

    @property
    def guarantee(self) -> DeliveryGuarantee:
        """What `KafkaSink` calls it."""
        return DeliveryGuarantee[self.name]


class FlinkKafkaProducerBase(Sink):
    """A `KafkaSink` with the methods of the older class; give it to `stream.add_sink`."""

    def __init__(self, sink: KafkaSink) -> None:
        self._sink = sink

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Only False is possible: a record that Kafka refuses fails the job."""
        if log_failures_only:
            raise GraphError(
                "set_log_failures_only(True) would lose records that Kafka refuses; instead, the "
                "job fails and continues from its checkpoint"
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Whether a checkpoint waits until all records have arrived."""
        if self._sink.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            at_least, none = DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE
            self._sink = replace(self._sink, guarantee=at_least if flush_on_checkpoint else none)
        return self

    def set_write_timestamp_to_kafka(
        self, write_timestamp_to_kafka: bool
    ) -> FlinkKafkaProducerBase:
        """Whether messages have the event times of their records; they have not unless set."""
        schema = replace(self._sink.schema, with_timestamps=write_timestamp_to_kafka)
        self._sink = replace(self._sink, schema=schema)
        return self

    def probe(self) -> str:
        return self._sink.probe()

    def create_committer(self, context: WriterContext) -> Committer | None:
        return self._sink.create_committer(context)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return self._sink.create_writer(context)


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Writes to one topic. New programs use `KafkaSink`.

    Args:
        topic: The topic.
        serialization_schema: Makes the values of the messages.
        producer_config: Settings of the producer, `bootstrap.servers` among them.
        kafka_producer_pool_size: Not needed: there are as many producers as there are transactions
            to commit.
        semantic: How often a record arrives.
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: dict[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not isinstance(semantic, Semantic):
            raise FunctionTypeError(f"the semantic must be a Semantic, not {semantic!r}")
        schema = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_value_serialization_schema(serialization_schema)
            .build()
        )
        super().__init__(
            KafkaSink.builder()
            .set_properties(producer_config)
            .set_record_serializer(replace(schema, with_timestamps=False))
            .set_delivery_guarantee(semantic.guarantee)
            .set_transactional_id_prefix(f"flink-kafka-producer-{topic}")
            .build()
        )

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Not needed: a transaction that timed out is written again from the checkpoint."""
        return self
