"""A source of Kafka's records: `KafkaSource` and its builder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.kafka.client import (
    checked_properties,
    checked_text,
    client_settings,
    known_properties,
    reached,
)
from headrace.datastream.connectors.kafka.enumerator import Discovery, KafkaEnumerator
from headrace.datastream.connectors.kafka.offsets import KafkaOffsetsInitializer
from headrace.datastream.connectors.kafka.reader import KafkaReader
from headrace.datastream.connectors.kafka.records import (
    KafkaRecordDeserializationSchema,
    ValueOnlySchema,
)
from headrace.datastream.connectors.kafka.topics import (
    GivenPartitions,
    KafkaTopicPartition,
    MatchingTopics,
    NamedTopics,
    Selection,
)

__all__ = ["KafkaSource", "KafkaSourceBuilder"]

_DISCOVERY_INTERVAL_MS = 300_000


@dataclass(frozen=True)
class KafkaSource(Source):
    """Reads topics of Kafka; made by `KafkaSource.builder()`.

    Each partition is a split with a watermark of its own. Checkpoints have the offsets, so that
    every record is read exactly once by the job's state. Once a checkpoint is complete its offsets
    are committed to the consumer group too, for those who look on.

    Example:
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("orders")
        ...     .set_group_id("billing")
        ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders")
    """

    selection: Selection
    properties: Mapping[str, str]
    schema: KafkaRecordDeserializationSchema
    start: KafkaOffsetsInitializer
    stop: KafkaOffsetsInitializer | None
    is_bounded: bool

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Describe a source step by step."""
        return KafkaSourceBuilder()

    @property
    def bounded(self) -> bool:
        return self.is_bounded

    @property
    def imports(self) -> tuple[str, ...]:
        return self.schema.imports

    @property
    def produced_type(self) -> TypeInformation:
        return self.schema.get_produced_type()

    @property
    def reads_splits_together(self) -> bool:
        return True

    def probe(self) -> str:
        settings = self.consumer_settings("probe")
        partitions = self.selection.of(reached(settings))
        self.schema.probe()
        return f"{len(partitions)} partitions of Kafka at {settings['bootstrap.servers']}"

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        discovery = Discovery(
            self.consumer_settings("enumerator"),
            self.selection,
            self.start,
            self.stop,
            self._discovery_interval_ms,
        )
        return KafkaEnumerator(discovery, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        commits = self.properties.get("commit.offsets.on.checkpoint", "true") == "true"
        return KafkaReader(
            self.consumer_settings(str(context.subtask)),
            self.schema,
            context,
            commits and "group.id" in self.properties,
            self.properties.get("auto.offset.reset", "none"),
        )

    @property
    def _discovery_interval_ms(self) -> int | None:
        """How often to look for new partitions; never where the end is known."""
        if self.is_bounded:
            return None
        interval = int(
            self.properties.get("partition.discovery.interval.ms", _DISCOVERY_INTERVAL_MS)
        )
        return interval if interval > 0 else None

    def consumer_settings(self, who: str) -> dict[str, Any]:
        """Those of a consumer that is called so."""
        prefix = self.properties.get("client.id.prefix", self.properties.get("client.id"))
        ours: dict[str, Any] = {
            "auto.offset.reset": "error",
            "enable.auto.offset.store": self.properties.get("enable.auto.commit", "false"),
            "enable.partition.eof": self.stop is not None,
        }
        if prefix is not None:
            ours["client.id"] = f"{prefix}-{who}"
        return {**_DEFAULTS, **client_settings(self.properties), **ours}


_DEFAULTS = {
    "group.id": "headrace",
    "enable.auto.commit": "false",
    # As the Java client does; the default of librdkafka is read_committed.
    "isolation.level": "read_uncommitted",
}


class KafkaSourceBuilder:
    """Describes a `KafkaSource`. Wrong arguments are refused where they are given."""

    def __init__(self) -> None:
        self._selection: Selection | None = None
        self._properties: dict[str, str] = {}
        self._schema: KafkaRecordDeserializationSchema | None = None
        self._start = KafkaOffsetsInitializer.earliest()
        self._stop: KafkaOffsetsInitializer | None = None
        self._bounded = False

    def build(self) -> KafkaSource:
        """The source.

        Raises:
            GraphError: Something is missing, or Kafka's client refuses a property.
        """
        for missing, what in (
            (
                "bootstrap.servers" not in self._properties,
                "Property bootstrap.servers is required but not provided: call "
                "set_bootstrap_servers()",
            ),
            (
                self._selection is None,
                "No subscribe mode is specified, should be one of topics, topic pattern and "
                "partition set: call set_topics(), set_topic_pattern() or set_partitions()",
            ),
            (
                self._schema is None,
                "Deserialization schema is required but not provided: call "
                "set_value_only_deserializer() or set_deserializer()",
            ),
        ):
            if missing:
                raise GraphError(what)
        if "committed" in (self._start.kind, self._stop and self._stop.kind):
            self._require_group()
        assert self._selection is not None
        assert self._schema is not None
        return KafkaSource(
            self._selection,
            known_properties("Consumer", self._properties),
            self._schema,
            self._start,
            self._stop,
            self._bounded,
        )

    def _require_group(self) -> None:
        if "group.id" not in self._properties:
            raise GraphError(
                "Property group.id is required when using committed offset for offsets "
                "initializer: call set_group_id()"
            )

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Brokers to ask first, as `host:port,host:port`."""
        return self._set("bootstrap.servers", checked_text(bootstrap_servers, "bootstrap_servers"))

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group that offsets are committed to."""
        return self._set("group.id", checked_text(group_id, "the group id"))

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read all partitions of these topics."""
        if not topics:
            raise GraphError("set_topics() needs at least one topic")
        names = tuple(checked_text(topic, "a topic") for topic in topics)
        return self._select(NamedTopics(names))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression, those to come as well."""
        try:
            re.compile(checked_text(topic_pattern, "the topic pattern"))
        except re.error as error:
            raise GraphError(f"the topic pattern {topic_pattern!r} is invalid: {error}") from error
        return self._select(MatchingTopics(topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions."""
        chosen = frozenset(partitions)
        for partition in chosen:
            if not isinstance(partition, KafkaTopicPartition):
                raise FunctionTypeError(f"{partition!r} is not a KafkaTopicPartition")
        if not chosen:
            raise GraphError("set_partitions() needs at least one partition")
        return self._select(GivenPartitions(chosen))

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where to start when there is no checkpoint; at the earliest records unless set."""
        self._start = _checked_offsets(starting_offsets_initializer)
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets, and run as a stream until then."""
        self._stop, self._bounded = _checked_stop(stopping_offsets_initializer), False
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at these offsets; the source is bounded, so it can be used in batch mode."""
        self._stop, self._bounded = _checked_stop(stopping_offsets_initializer), True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make records of the values alone."""
        self._schema = ValueOnlySchema(deserialization_schema)
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make records of keys, values, headers and timestamps."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise FunctionTypeError(
                "the deserializer must be a KafkaRecordDeserializationSchema, not "
                f"{record_deserializer!r}; for a schema of values call "
                "set_value_only_deserializer()"
            )
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """What the names of the clients start with, in logs and metrics of the brokers."""
        return self._set("client.id.prefix", checked_text(prefix, "the client id prefix"))

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A setting of the consumer."""
        return self.set_properties({key: value})

    def set_properties(self, props: dict[str, str]) -> KafkaSourceBuilder:
        """Settings of the consumer."""
        given = checked_properties(props)
        reset = given.get("auto.offset.reset", "none")
        if reset not in ("earliest", "latest", "none"):
            raise GraphError(
                f"auto.offset.reset must be 'earliest', 'latest' or 'none', not {reset!r}"
            )
        self._properties.update(given)
        return self

    def _set(self, key: str, value: str) -> KafkaSourceBuilder:
        self._properties[key] = value
        return self

    def _select(self, selection: Selection) -> KafkaSourceBuilder:
        if self._selection is not None:
            raise GraphError(
                "choose topics only once: with set_topics(), set_topic_pattern() or "
                "set_partitions()"
            )
        self._selection = selection
        return self


def _checked_offsets(offsets: Any) -> KafkaOffsetsInitializer:
    if not isinstance(offsets, KafkaOffsetsInitializer):
        raise FunctionTypeError(f"offsets must be a KafkaOffsetsInitializer, not {offsets!r}")
    return offsets


def _checked_stop(offsets: Any) -> KafkaOffsetsInitializer:
    checked = _checked_offsets(offsets)
    if checked.kind == "earliest":
        raise GraphError("stopping at the earliest offsets would read nothing; try latest()")
    return checked
