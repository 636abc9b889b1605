"""A sink for Kafka: `KafkaSink` and its builder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.datastream.connectors.base import (
    Committer,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.kafka.client import (
    checked_properties,
    checked_text,
    client_settings,
    known_properties,
    reached,
)
from headrace.datastream.connectors.kafka.serialization import KafkaRecordSerializationSchema
from headrace.datastream.connectors.kafka.transactions import (
    KafkaCommitter,
    TransactionalWriter,
    Transactions,
)
from headrace.datastream.connectors.kafka.writer import KafkaWriter

__all__ = ["KafkaSink", "KafkaSinkBuilder"]

_TRANSACTION_TIMEOUT_MS = 900_000
"""The longest that a broker allows unless it is told otherwise."""


@dataclass(frozen=True)
class KafkaSink(Sink):
    """Writes records to topics of Kafka; made by `KafkaSink.builder()`.

    With `DeliveryGuarantee.EXACTLY_ONCE` records are written in transactions, which are committed
    with the checkpoints of the job. Whoever reads with `isolation.level=read_committed` sees every
    record once, whatever fails in between.

    Example:
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_record_serializer(
        ...         KafkaRecordSerializationSchema.builder()
        ...         .set_topic("alarms")
        ...         .set_value_serialization_schema(SimpleStringSchema())
        ...         .build()
        ...     )
        ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        ...     .set_transactional_id_prefix("alarms")
        ...     .build()
        ... )
        >>> stream.sink_to(sink)
    """

    properties: Mapping[str, str]
    schema: KafkaRecordSerializationSchema
    guarantee: DeliveryGuarantee
    transactional_id_prefix: str | None
    _shared: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What a writer shares with the committer of its subtask, in the process of both."""

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Describe a sink step by step."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> None:
        """Nothing comes before the sink."""
        return None

    def probe(self) -> str:
        reached(self.settings)
        self.schema.probe()
        return f"Kafka at {self.properties['bootstrap.servers']}"

    def create_committer(self, context: WriterContext) -> Committer | None:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        assert self.transactional_id_prefix is not None
        settings = {"transaction.timeout.ms": _TRANSACTION_TIMEOUT_MS, **self.settings}
        transactions = Transactions(settings, self.transactional_id_prefix, context)
        self._shared["transactions"] = transactions
        return KafkaCommitter(transactions)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return TransactionalWriter(self._shared.pop("transactions"), self.schema, context)
        complete = self.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return KafkaWriter(self.settings, self.schema, context, complete)

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the producer."""
        return client_settings(self.properties)


class KafkaSinkBuilder:
    """Describes a `KafkaSink`. Wrong arguments are refused where they are given."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordSerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def build(self) -> KafkaSink:
        """The sink.

        Raises:
            GraphError: Something is missing, or Kafka's client refuses a property.
        """
        if "bootstrap.servers" not in self._properties:
            raise GraphError("the Kafka sink is not complete: call set_bootstrap_servers()")
        if self._schema is None:
            raise GraphError("the Kafka sink is not complete: call set_record_serializer()")
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE and self._prefix is None:
            raise GraphError(
                "EXACTLY_ONCE delivery guarantee requires a transactionalIdPrefix to be set to "
                "provide unique transaction names: call set_transactional_id_prefix() with one "
                "that no other job has"
            )
        properties = known_properties("Producer", self._properties)
        return KafkaSink(properties, self._schema, self._guarantee, self._prefix)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Brokers to ask first, as `host:port,host:port`."""
        servers = checked_text(bootstrap_servers, "bootstrap_servers")
        return self.set_property("bootstrap.servers", servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """How often a record arrives when something fails; NONE unless set."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise FunctionTypeError(
                f"the guarantee must be a DeliveryGuarantee, not {delivery_guarantee!r}"
            )
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """What the transactional ids of this sink start with; no other job may use it."""
        self._prefix = checked_text(transactional_id_prefix, "the transactional id prefix")
        return self

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """How records become messages."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise FunctionTypeError(
                "the record serializer must be a KafkaRecordSerializationSchema, not "
                f"{record_serializer!r}"
            )
        self._schema = record_serializer
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """A setting of the producer."""
        return self.set_properties({key: value})

    def set_properties(self, props: dict[str, str]) -> KafkaSinkBuilder:
        """Settings of the producer."""
        self._properties.update(checked_properties(props))
        return self
