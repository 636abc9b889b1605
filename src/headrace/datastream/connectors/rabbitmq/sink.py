"""A queue as a sink: each batch is a transaction of AMQP, and arrives at least once."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from headrace.common.serialization import SerializationSchema
from headrace.datastream.connectors.base import Sink, SinkWriter, WriterContext
from headrace.datastream.connectors.batched_writer import BatchedWriter, BatchLimits
from headrace.datastream.connectors.rabbitmq.connection import (
    RMQConnectionConfig,
    check_arguments,
    declare_queue,
)

__all__ = ["RMQSink"]

_BATCH = 1_000


class RMQSink(Sink):
    """Publishes records to a queue, at least once; give it to `stream.add_sink`.

    Each batch is a transaction of AMQP, and every batch is committed before a checkpoint.

    Args:
        connection_config: The broker.
        queue_name: The queue; it is made, durable, if it is not there.
        serialization_schema: Makes the bytes of a record.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ) -> None:
        check_arguments(
            connection_config, queue_name, serialization_schema, SerializationSchema, "RMQSink"
        )
        self.connection_config = connection_config
        self.queue_name = queue_name
        self.schema = serialization_schema

    def probe(self) -> str:
        return self.connection_config.probe()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _QueueWriter(self)


class _QueueWriter(BatchedWriter):
    def __init__(self, sink: RMQSink) -> None:
        super().__init__(BatchLimits(_BATCH))
        self._sink = sink
        self._connection: Any = None
        self._channel: Any = None

    def open(self) -> None:
        self._sink.schema.open()
        self.reconnect()

    def reconnect(self) -> None:
        self.close()
        self._connection = self._sink.connection_config.connect()
        self._channel = self._connection.channel()
        declare_queue(self._channel, self._sink.queue_name)
        self._channel.tx_select()

    def encode(self, values: list[Any]) -> list[Any]:
        return [b for b in map(self._sink.schema.serialize, values) if b is not None]

    def send(self, batch: Sequence[bytes]) -> Sequence[bytes]:
        publish, queue = self._channel.basic_publish, self._sink.queue_name
        for message in batch:
            publish("", queue, message)
        self._channel.tx_commit()
        return ()

    def close(self) -> None:
        if self._connection is not None:
            # It may be broken, and whatever broke it says more.
            with contextlib.suppress(Exception):
                self._connection.close()
