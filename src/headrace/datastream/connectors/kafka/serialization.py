"""From records to Kafka's messages: `KafkaRecordSerializationSchema` and its builder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import SerializationSchema
from headrace.datastream.connectors.kafka.client import KafkaError, checked_text

__all__ = [
    "FlinkFixedPartitioner",
    "HeaderProvider",
    "KafkaPartitioner",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
    "Messages",
]

Headers = Sequence[tuple[str, bytes | None]]


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of one record."""


class KafkaPartitioner(ABC):
    """Chooses the partition of each message."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:  # noqa: B027
        """Called once in each subtask, before the first record."""

    @abstractmethod
    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: Sequence[int],
    ) -> int:
        """The partition of one message.

        Args:
            record: The record that the message is made of.
            key: The key of the message.
            value: Its value.
            target_topic: Its topic.
            partitions: The partitions of the topic.
        """


class FlinkFixedPartitioner(KafkaPartitioner):
    """All messages of a subtask go to one partition."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        self._subtask = parallel_instance_id

    def partition(
        self,
        record: Any,
        key: bytes | None,
        value: bytes | None,
        target_topic: str,
        partitions: Sequence[int],
    ) -> int:
        return partitions[self._subtask % len(partitions)]


class HeaderProvider(ABC):
    """Gives each message its headers."""

    @abstractmethod
    def get_headers(self, element: Any) -> Headers:
        """Names and values, in order."""


@dataclass(slots=True)
class Messages:
    """Messages of one topic, as columns; a column that is None has nothing for any of them."""

    topic: str
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    timestamps: list[int] | None = None
    partitions: list[int] | None = None
    headers: list[Headers] | None = None


@dataclass(frozen=True)
class KafkaRecordSerializationSchema(SerializationSchema):
    """Makes a message of each record; made by `KafkaRecordSerializationSchema.builder()`.

    Example:
        >>> KafkaRecordSerializationSchema.builder().set_topic_selector(
        ...     lambda order: "large" if order.total > 100 else "small"
        ... ).set_value_serialization_schema(OrderSchema()).build()
    """

    topic: str | KafkaTopicSelector
    value_schema: SerializationSchema
    key_schema: SerializationSchema | None = None
    partitioner: KafkaPartitioner | None = None
    header_provider: HeaderProvider | None = None
    with_timestamps: bool = True

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Describe a schema step by step."""
        return KafkaRecordSerializationSchemaBuilder()

    def open(self) -> None:
        self.value_schema.open()
        if self.key_schema is not None:
            self.key_schema.open()

    def probe(self) -> None:
        """See whether what it needs besides Kafka can be reached, for `headrace doctor`."""

    def serialize(self, element: Any) -> bytes | None:
        return self.value_schema.serialize(element)

    def messages(
        self,
        values: Sequence[Any],
        timestamps: Sequence[int | None] | None,
        partitions_of: Callable[[str], Sequence[int]],
    ) -> Iterable[Messages]:
        """The messages of a batch, those of each topic together and in order.

        Args:
            values: The records.
            timestamps: Their event times.
            partitions_of: Gives the partitions of a topic.
        """
        if isinstance(self.topic, str):
            yield self._of_topic(self.topic, values, timestamps, partitions_of)
            return
        by_topic: dict[str, list[int]] = {}
        for position, topic in enumerate(map(self.topic.apply, values)):
            if not isinstance(topic, str) or not topic:
                raise KafkaError(f"the topic selector returned {topic!r}; it must return a topic")
            by_topic.setdefault(topic, []).append(position)
        for topic, positions in by_topic.items():
            stamps = None if timestamps is None else [timestamps[p] for p in positions]
            yield self._of_topic(topic, [values[p] for p in positions], stamps, partitions_of)

    def _of_topic(
        self,
        topic: str,
        records: Sequence[Any],
        timestamps: Sequence[int | None] | None,
        partitions_of: Callable[[str], Sequence[int]],
    ) -> Messages:
        made = Messages(topic, self.value_schema.serialize_many(records))
        if self.key_schema is not None:
            made.keys = self.key_schema.serialize_many(records)
        if timestamps is not None and self.with_timestamps:
            # The client takes 0 for the time of sending.
            made.timestamps = [0 if t is None or t < 0 else t for t in timestamps]
        if self.partitioner is not None:
            there = partitions_of(topic)
            keys = made.keys or [None] * len(records)
            choose = self.partitioner.partition
            made.partitions = [
                choose(r, k, v, topic, there)
                for r, k, v in zip(records, keys, made.values, strict=True)
            ]
            wrong = set(made.partitions) - set(there)
            if wrong:
                raise KafkaError(
                    f"the partitioner chose partition {min(wrong, key=repr)!r} of topic {topic!r}, "
                    f"which has {len(there)}"
                )
        if self.header_provider is not None:
            made.headers = [list(h or ()) for h in map(self.header_provider.get_headers, records)]
        return made


class KafkaRecordSerializationSchemaBuilder:
    """Describes a `KafkaRecordSerializationSchema`."""

    def __init__(self) -> None:
        self._topic: str | KafkaTopicSelector | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None
        self._partitioner: KafkaPartitioner | None = None
        self._headers: HeaderProvider | None = None

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        if self._topic is None:
            raise GraphError(
                "No topic selector is configured. Call set_topic() or set_topic_selector()"
            )
        if self._value is None:
            raise GraphError(
                "No value serializer is configured. Call set_value_serialization_schema()"
            )
        return KafkaRecordSerializationSchema(
            self._topic, self._value, self._key, self._partitioner, self._headers
        )

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write everything to one topic."""
        return self._set_topic(checked_text(topic, "the topic"))

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record."""
        if isinstance(topic_selector, KafkaTopicSelector):
            return self._set_topic(topic_selector)
        if not callable(topic_selector):
            raise FunctionTypeError("topic_selector must be KafkaTopicSelector or a callable")
        return self._set_topic(_CallableSelector(topic_selector))

    def _set_topic(self, topic: str | KafkaTopicSelector) -> KafkaRecordSerializationSchemaBuilder:
        if self._topic is not None:
            raise GraphError(
                "Topic selector already set. Call set_topic() or set_topic_selector() only once"
            )
        self._topic = topic
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make the key of each message from its record; no key unless set."""
        self._key = _checked_schema(key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Make the value of each message from its record; None makes a tombstone."""
        self._value = _checked_schema(value_serialization_schema)
        return self

    def set_partitioner(
        self, partitioner: KafkaPartitioner
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose partitions; by the hash of the key unless set, as the Java client does."""
        if not isinstance(partitioner, KafkaPartitioner):
            raise FunctionTypeError(
                f"the partitioner must be a KafkaPartitioner, not {partitioner!r}"
            )
        self._partitioner = partitioner
        return self

    def set_header_provider(
        self, header_provider: HeaderProvider
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Give messages headers."""
        if not isinstance(header_provider, HeaderProvider):
            raise FunctionTypeError(
                f"the header provider must be a HeaderProvider, not {header_provider!r}"
            )
        self._headers = header_provider
        return self


@dataclass(frozen=True)
class _CallableSelector(KafkaTopicSelector):
    function: Callable[[Any], str]

    def apply(self, data: Any) -> str:
        return self.function(data)


def _checked_schema(schema: Any) -> SerializationSchema:
    if not isinstance(schema, SerializationSchema):
        raise FunctionTypeError(f"a schema must be a SerializationSchema, not {schema!r}")
    return schema
