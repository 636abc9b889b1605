"""Topics as a source: exactly once, by positions of messages that are part of checkpoints.

As in Flink each partition is read by one exclusive consumer of a durable subscription, which is
told what has been read when a checkpoint is complete, so that the broker may drop it.
"""

from __future__ import annotations

import warnings
import zlib
from dataclasses import dataclass, replace
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
)
from headrace.datastream.connectors.pulsar.cursors import RangeGenerator, StartCursor, StopCursor
from headrace.datastream.connectors.pulsar.reader import PartitionSplit, PulsarReader, Reading
from headrace.datastream.connectors.pulsar.service import (
    PulsarService,
    ServiceBuilder,
    full_name,
)

__all__ = ["PulsarSource", "PulsarSourceBuilder"]

_DISCOVERY_MS = "pulsar.source.partitionDiscoveryIntervalMs"
_RESET = "pulsar.source.resetSubscriptionCursor"
_ACKNOWLEDGE = "pulsar.source.enableAutoAcknowledgeMessage"
_QUEUE = "pulsar.consumer.receiverQueueSize"


@dataclass(frozen=True)
class PulsarSource(Source):
    """Reads topics, exactly once. Make one with `builder()`.

    Example:
        >>> source = (
        ...     PulsarSource.builder()
        ...     .set_service_url("pulsar://localhost:6650")
        ...     .set_admin_url("http://localhost:8080")
        ...     .set_subscription_name("billing")
        ...     .set_topics("orders")
        ...     .set_deserialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders")
    """

    service: PulsarService
    topics: tuple[str, ...]
    pattern: str | None
    reading: Reading
    is_bounded: bool

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        """Describe a source step by step."""
        return PulsarSourceBuilder()

    @property
    def bounded(self) -> bool:
        return self.is_bounded

    @property
    def produced_type(self) -> TypeInformation:
        return self.reading.schema.get_produced_type()

    @property
    def reads_splits_together(self) -> bool:
        return True

    def for_configuration(self, configuration: Configuration) -> Source:
        if configuration.get(options.CHECKPOINTING_INTERVAL) is not None:
            return self
        return replace(self, reading=replace(self.reading, acknowledges_at_once=True))

    def probe(self) -> str:
        return f"{len(self.partitions())} partitions of Pulsar at {self.service.service_url}"

    def partitions(self) -> list[str]:
        """The full names of all partitions that there are now."""
        named = self.topics
        if self.pattern is not None:
            named = tuple(self.service.topics_like(self.pattern))
        return self.service.partitions(named)

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        return _PartitionEnumerator(self, parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return PulsarReader(self.service, self.reading, context)


class _PartitionEnumerator(SplitEnumerator):
    """Looks for partitions again and again, unless reading ends somewhere."""

    def __init__(self, source: PulsarSource, parallelism: int) -> None:
        self._source = source
        self._parallelism = parallelism
        self._known: set[str] = set()
        interval = source.service.number(_DISCOVERY_MS, 300_000)
        ends = source.reading.stop.by is not None
        self._interval_ms = None if ends or interval <= 0 else interval
        self._next_ms: int | None = 0

    def discover(self, now_ms: int) -> dict[int, list[Any]]:
        if self._next_ms is None or now_ms < self._next_ms:
            return {}
        found: dict[int, list[Any]] = {}
        for topic in self._source.partitions():
            if topic not in self._known:
                self._known.add(topic)
                found.setdefault(self._subtask(topic), []).append(PartitionSplit(topic))
        self._next_ms = None if self._interval_ms is None else now_ms + self._interval_ms
        return found

    def _subtask(self, topic: str) -> int:
        """Partitions of a topic go to one subtask after the other."""
        name, _, number = topic.rpartition("-partition-")
        if not name or not number.isdigit():
            name, number = topic, "0"
        return (zlib.crc32(name.encode()) + int(number)) % self._parallelism

    @property
    def finished(self) -> bool:
        return self._next_ms is None

    def next_discovery(self, now_ms: int) -> int | None:
        return self._next_ms

    def snapshot(self) -> Any:
        return sorted(self._known), self._next_ms is None

    def restore(self, snapshot: Any) -> None:
        known, finished = snapshot
        self._known = set(known)
        self._next_ms = None if finished else 0


class PulsarSourceBuilder(ServiceBuilder):
    """Describes a `PulsarSource` step by step.

    Service URL, admin URL, subscription, topics and deserialization schema have to be set.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pattern: str | None = None
        self._subscription = ""
        self._consumer_name: str | None = None
        self._schema: DeserializationSchema | None = None
        self._start = StartCursor.default_start_cursor()
        self._stop = StopCursor.default_stop_cursor()
        self._bounded = False
        self._keys = RangeGenerator.full()

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder:
        """Set the subscription: where it begins counts only when it is new."""
        self._subscription = subscription_name
        return self

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder:
        """Set a regular expression for names of topics: `persistent://public/default/orders-.*`."""
        self._pattern = full_name(topic_pattern)
        return self

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder:
        """Set what the broker shows as the name of the consumers."""
        self._consumer_name = consumer_name
        return self

    def set_range_generator(self, range_generator: RangeGenerator) -> PulsarSourceBuilder:
        """Set which keys are read."""
        self._keys = _checked(range_generator, RangeGenerator, "set_range_generator")
        return self

    def set_start_cursor(self, start_cursor: StartCursor) -> PulsarSourceBuilder:
        """Set where a subscription begins that is new, or reset as an option says."""
        self._start = _checked(start_cursor, StartCursor, "set_start_cursor")
        return self

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set where the stream ends; the source still counts as unbounded."""
        return self._stopping(stop_cursor, "set_unbounded_stop_cursor", bounded=False)

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set where the stream ends, and make the source bounded."""
        return self._stopping(stop_cursor, "set_bounded_stop_cursor", bounded=True)

    def _stopping(self, cursor: StopCursor, who: str, bounded: bool) -> PulsarSourceBuilder:
        self._stop, self._bounded = _checked(cursor, StopCursor, who), bounded
        return self

    def set_deserialization_schema(
        self, deserialization_schema: DeserializationSchema
    ) -> PulsarSourceBuilder:
        """Set what makes a record of the bytes of a message."""
        who = "set_deserialization_schema"
        self._schema = _checked(deserialization_schema, DeserializationSchema, who)
        return self

    def set_config_with_dict(self, config: dict[str, Any]) -> PulsarSourceBuilder:
        """Set several options; the former name of `set_properties`."""
        warnings.warn(
            "set_config_with_dict is deprecated, use set_properties", DeprecationWarning, 2
        )
        return self.set_properties(config)

    def build(self) -> PulsarSource:
        """The source."""
        service = self._checked("a PulsarSource")
        if bool(self._topics) == (self._pattern is not None):
            raise GraphError("a PulsarSource needs either set_topics() or set_topic_pattern()")
        if not self._subscription:
            raise GraphError("a PulsarSource needs set_subscription_name()")
        if self._schema is None:
            raise GraphError("a PulsarSource needs set_deserialization_schema()")
        reading = Reading(
            self._subscription,
            self._schema,
            self._start,
            self._stop,
            self._keys,
            self._consumer_name,
            resets=service.flag(_RESET),
            acknowledges_at_once=service.flag(_ACKNOWLEDGE),
            queue_size=service.number(_QUEUE, 1_000),
        )
        return PulsarSource(service, self._topics, self._pattern, reading, self._bounded)


def _checked(given: Any, kind: type, who: str) -> Any:
    if not isinstance(given, kind):
        raise FunctionTypeError(f"{who} takes a {kind.__name__}, not {given!r}")
    return given
