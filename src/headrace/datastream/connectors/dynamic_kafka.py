"""Streams of Kafka whose topics a metadata service knows, with PyFlink's names.

PyFlink has one such service, that of a single cluster, in which a stream is a topic. So this source
is a `KafkaSource` that looks for new topics while it runs. A service of several clusters is an
object of Java in Flink, and is not there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import DeserializationSchema
from headrace.datastream.connectors.kafka.client import checked_properties
from headrace.datastream.connectors.kafka.offsets import KafkaOffsetsInitializer
from headrace.datastream.connectors.kafka.records import KafkaRecordDeserializationSchema
from headrace.datastream.connectors.kafka.source import KafkaSource, KafkaSourceBuilder

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

_DISCOVERY = "stream-metadata-discovery-interval-ms"
_KAFKA_DISCOVERY = "partition.discovery.interval.ms"


class KafkaMetadataService:
    """Knows where streams are: `SingleClusterTopicMetadataService`."""


@dataclass(frozen=True)
class SingleClusterTopicMetadataService(KafkaMetadataService):
    """One cluster, in which the id of a stream is the name of a topic.

    Args:
        kafka_cluster_id: A name for the cluster.
        properties: How to connect: `bootstrap.servers` and the like.
    """

    kafka_cluster_id: str
    properties: dict[str, str]

    def __post_init__(self) -> None:
        """Check the arguments where the user wrote them."""
        if "bootstrap.servers" not in checked_properties(self.properties):
            raise GraphError("SingleClusterTopicMetadataService needs 'bootstrap.servers'")


class KafkaStreamSubscriber:
    """Chooses streams: `KafkaStreamSetSubscriber` or `StreamPatternSubscriber`."""

    def choose(self, builder: KafkaSourceBuilder) -> None:
        """Tell a builder which topics to read."""
        raise NotImplementedError(f"{type(self).__name__} does not implement choose()")


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Chooses streams by their ids."""

    def __init__(self, stream_ids: Iterable[str]) -> None:
        if isinstance(stream_ids, str):
            raise FunctionTypeError(f"a set of stream ids is needed, not {stream_ids!r}")
        self._stream_ids = sorted(stream_ids)

    def choose(self, builder: KafkaSourceBuilder) -> None:
        builder.set_topics(*self._stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Chooses streams whose ids match a regular expression, those that come later too."""

    def __init__(self, stream_pattern: str) -> None:
        self._stream_pattern = stream_pattern

    def choose(self, builder: KafkaSourceBuilder) -> None:
        builder.set_topic_pattern(self._stream_pattern)


@dataclass(frozen=True)
class DynamicKafkaSource(KafkaSource):
    """Reads streams, exactly once. Make one with `builder()`.

    Example:
        >>> cluster = {"bootstrap.servers": "localhost:9092"}
        >>> builder = DynamicKafkaSource.builder().set_stream_ids({"orders"})
        >>> builder.set_kafka_metadata_service(SingleClusterTopicMetadataService("one", cluster))
        >>> builder.set_value_only_deserializer(SimpleStringSchema()).build()
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:  # type: ignore[override]
        """A builder."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder:
    """Builds a `DynamicKafkaSource`."""

    def __init__(self) -> None:
        self._builder = KafkaSourceBuilder()
        self._subscriber: KafkaStreamSubscriber | None = None
        self._service: SingleClusterTopicMetadataService | None = None

    def build(self) -> DynamicKafkaSource:
        """The source.

        Raises:
            GraphError: Something is missing that it needs.
        """
        if self._subscriber is None:
            raise GraphError(
                "Kafka stream subscriber is required but not provided: call set_stream_ids(), "
                "set_stream_pattern() or set_kafka_stream_subscriber()"
            )
        if self._service is None:
            raise GraphError(
                "Kafka Metadata Service is required but not provided: call "
                "set_kafka_metadata_service()"
            )
        self._subscriber.choose(self._builder)
        self._builder.set_properties(checked_properties(self._service.properties))
        made = self._builder.build()
        return DynamicKafkaSource(**{f.name: getattr(made, f.name) for f in fields(KafkaSource)})

    def set_stream_ids(self, stream_ids: Iterable[str]) -> DynamicKafkaSourceBuilder:
        """Read streams with these ids."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read streams whose ids match a regular expression."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Set what chooses streams."""
        if not isinstance(kafka_stream_subscriber, KafkaStreamSubscriber):
            raise FunctionTypeError(
                f"a KafkaStreamSubscriber is needed, not {kafka_stream_subscriber!r}"
            )
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Set what knows where streams are."""
        if not isinstance(kafka_metadata_service, SingleClusterTopicMetadataService):
            raise FunctionTypeError(
                "a SingleClusterTopicMetadataService is needed, the only service that there is "
                f"without Java, not {kafka_metadata_service!r}"
            )
        self._service = kafka_metadata_service
        return self

    def set_deserializer(
        self, deserializer: KafkaRecordDeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Set what makes records of messages."""
        self._builder.set_deserializer(deserializer)
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Set what makes records of the values of messages."""
        self._builder.set_value_only_deserializer(deserialization_schema)
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Set where to begin; at the oldest messages without it."""
        self._builder.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Set where to end."""
        self._builder.set_bounded(stopping_offsets_initializer)
        return self

    def set_properties(self, props: dict[str, str]) -> DynamicKafkaSourceBuilder:
        """Set properties of consumers; those of the cluster win."""
        for key, value in checked_properties(props).items():
            self.set_property(key, value)
        return self

    def set_property(self, key: str, value: Any) -> DynamicKafkaSourceBuilder:
        """Set one property; `stream-metadata-discovery-interval-ms` for how often to look."""
        self._builder.set_property(_KAFKA_DISCOVERY if key == _DISCOVERY else key, value)
        return self

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """Set the group of consumers."""
        self._builder.set_group_id(group_id)
        return self

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """Set what the names of clients begin with."""
        self._builder.set_client_id_prefix(prefix)
        return self
