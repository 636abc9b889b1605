"""From Kafka's messages to records: of the value alone, or of all that a message has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import PickledBytesTypeInfo, TypeInformation

__all__ = [
    "ConsumerRecord",
    "KafkaRecordDeserializationSchema",
    "ManyRecordsSchema",
    "ManyValuesSchema",
    "ValueOnlySchema",
]


@dataclass(frozen=True, slots=True)
class ConsumerRecord:
    """A message as Kafka has it.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset there.
        timestamp: Milliseconds since 1970; when it was created, or appended if the topic says so.
        key: The key, or None.
        value: The value; None for a tombstone.
        headers: Names and values, in order; a name may come more than once.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class KafkaRecordDeserializationSchema:
    """Turns messages into records. Subclasses implement `deserialize` and are picklable.

    Example:
        >>> class WithKey(KafkaRecordDeserializationSchema):
        ...     def deserialize(self, record):
        ...         yield record.key.decode(), json.loads(record.value)
    """

    @property
    def imports(self) -> tuple[str, ...]:
        """See `Source.imports`."""
        return ()

    def open(self) -> None:
        """Called once in the process of the source, before the first message."""

    def probe(self) -> None:
        """See whether what it needs besides Kafka can be reached, for `headrace doctor`."""

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        """The records in one message: none, one or several."""
        raise NotImplementedError(f"{type(self).__name__} does not implement deserialize()")

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        return PickledBytesTypeInfo()

    @staticmethod
    def value_only(
        deserialization_schema: DeserializationSchema,
    ) -> KafkaRecordDeserializationSchema:
        """Looks at the value alone."""
        return ValueOnlySchema(deserialization_schema)


class ValueOnlySchema(KafkaRecordDeserializationSchema):
    """The value of each message, by a schema; None from the schema is not a record."""

    def __init__(self, schema: DeserializationSchema) -> None:
        if not isinstance(schema, DeserializationSchema):
            raise FunctionTypeError(
                f"the value deserializer must be a DeserializationSchema, not {schema!r}"
            )
        self._schema = schema

    @property
    def imports(self) -> tuple[str, ...]:
        return self._schema.imports

    def open(self) -> None:
        self._schema.open()

    @property
    def of_value(self) -> Callable[[Any], Any]:
        """The function that is called with each value."""
        return self._schema.deserialize

    @property
    def of_many(self) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The function that is called with many values, if the schema reads these together."""
        schema = self._schema
        together = type(schema).deserialize_many is not DeserializationSchema.deserialize_many
        return schema.deserialize_many if together else None

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        value = self._schema.deserialize(record.value)  # type: ignore[arg-type]
        return () if value is None else (value,)

    def get_produced_type(self) -> TypeInformation:
        return self._schema.get_produced_type()


class ManyValuesSchema(KafkaRecordDeserializationSchema):
    """Records of the values of many messages at once, without timestamps."""

    def of_values(self, values: Sequence[bytes | None]) -> Sequence[Any]:
        """The records of some messages."""
        raise NotImplementedError(f"{type(self).__name__} does not implement of_values()")

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        return self.of_values([record.value])


class ManyRecordsSchema(KafkaRecordDeserializationSchema):
    """Records of many whole messages at once, without timestamps."""

    def of_records(self, records: Sequence[ConsumerRecord]) -> list[Any]:
        """The records of some messages."""
        raise NotImplementedError(f"{type(self).__name__} does not implement of_records()")

    def deserialize(self, record: ConsumerRecord) -> Iterable[Any]:
        return self.of_records([record])


def consumer_record(message: Any) -> ConsumerRecord:
    """What a message of the client has."""
    return ConsumerRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )
