"""Writes records to Kafka at least once: at a checkpoint everything has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors.base import SinkWriter, WriterContext
from headrace.datastream.connectors.kafka.producing import KafkaClientProducer
from headrace.datastream.connectors.kafka.serialization import (
    KafkaRecordSerializationSchema,
    Messages,
)

__all__ = ["KafkaWriter", "SerializingWriter"]

_CLOSE_S = 5.0


class SerializingWriter(SinkWriter):
    """What all writers share: from records to messages."""

    def __init__(self, schema: KafkaRecordSerializationSchema, context: WriterContext) -> None:
        self._schema = schema
        self._context = context
        self._at: tuple[Any, ...] = ()

    def say(self, line: str) -> None:
        """Tell whoever reads the log of the job."""
        self._context.print_lines([line], to_stderr=True)

    def open_schema(self, producer: KafkaClientProducer) -> None:
        """Open the schema and look for its topic, before the first record."""
        self._schema.open()
        if self._schema.partitioner is not None:
            self._schema.partitioner.open(self._context.subtask, self._context.parallelism)
        if isinstance(self._schema.topic, str):
            producer.require_topic(self._schema.topic)

    def messages(
        self,
        values: list[Any],
        timestamps: Sequence[int | None] | None,
        producer: KafkaClientProducer,
    ) -> list[Messages]:
        """The messages of a batch."""
        try:
            return list(self._schema.messages(values, timestamps, producer.partitions_of))
        except Exception:
            self._find_failure(values, producer)
            raise

    def _find_failure(self, values: list[Any], producer: KafkaClientProducer) -> None:
        """Serialization fails as a batch: record by record it is known which one it was."""
        for value in values:
            self._at = (value,)
            list(self._schema.messages([value], None, producer.partitions_of))
        self._at = ()

    def record_of_failure(self) -> tuple[Any, ...]:
        return self._at


class KafkaWriter(SerializingWriter):
    """Sends records as they come.

    Args:
        settings: Of the client.
        schema: Makes the messages.
        context: Of the sink.
        complete: Whether all of them must have arrived at a checkpoint.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        schema: KafkaRecordSerializationSchema,
        context: WriterContext,
        complete: bool,
    ) -> None:
        super().__init__(schema, context)
        self._complete = complete
        self._producer = KafkaClientProducer(settings, f"writer {context.subtask}", self.say)

    def open(self) -> None:
        self.open_schema(self._producer)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        for messages in self.messages(values, timestamps, self._producer):
            self._producer.produce(messages)

    def flush(self, end_of_input: bool) -> None:
        if end_of_input:
            self._producer.flush()
        else:
            self._producer.client.poll(0)
            self._producer.check()

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        if self._complete:
            self._producer.flush()
        return []

    def close(self) -> None:
        self._producer.close(_CLOSE_S)
