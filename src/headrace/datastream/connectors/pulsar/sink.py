"""Topics as a sink.

The Python client has no transactions of Pulsar. Exactly once is had by its deduplication: messages
of a checkpoint are kept in it, and are sent when it is complete, under a producer's name and with
numbers that are part of it. If that is repeated the broker drops what it has.
"""

from __future__ import annotations

import contextlib
import datetime
import random
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import repeat
from typing import Any

from headrace.common.errors import (
    ConfigurationError,
    FunctionTypeError,
    GraphError,
    HeadraceError,
)
from headrace.common.serialization import SerializationSchema
from headrace.common.time import Duration
from headrace.datastream.connectors.base import (
    Committer,
    DeliveryGuarantee,
    RetriableCommitError,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors.pulsar.service import PulsarService, ServiceBuilder, pulsar

__all__ = ["MessageDelayer", "PulsarSink", "PulsarSinkBuilder", "TopicRoutingMode"]

_MOST_PENDING = "pulsar.producer.maxPendingMessages"
_BATCH_MESSAGES = "pulsar.producer.batchingMaxMessages"

Router = Callable[[Any, Sequence[str]], str]


class TopicRoutingMode(Enum):
    """Which of the partitions of all topics a record goes to."""

    ROUND_ROBIN = 0
    """One after the other."""
    MESSAGE_KEY_HASH = 1
    """By the message's key; without one, as of all schemas of Python, a subtask keeps to one."""
    CUSTOM = 2
    """What the function of `set_topic_router` says."""


@dataclass(frozen=True)
class MessageDelayer:
    """How long the broker keeps messages from shared subscriptions."""

    delay: datetime.timedelta | None = None

    @staticmethod
    def never() -> MessageDelayer:
        """Not at all."""
        return MessageDelayer()

    @staticmethod
    def fixed(duration: Duration | datetime.timedelta) -> MessageDelayer:
        """For a time."""
        made = Duration.of(duration) if isinstance(duration, datetime.timedelta) else duration
        return MessageDelayer(datetime.timedelta(milliseconds=made.to_millis()))


@dataclass(frozen=True)
class PulsarSink(Sink):
    """Writes to topics. Make one with `builder()`.

    With `EXACTLY_ONCE` the broker must deduplicate the topics, see `docs/other-connectors.md`;
    otherwise records arrive at least once.

    Example:
        >>> sink = (
        ...     PulsarSink.builder()
        ...     .set_service_url("pulsar://localhost:6650")
        ...     .set_admin_url("http://localhost:8080")
        ...     .set_topics("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> stream.sink_to(sink)
    """

    service: PulsarService
    topics: tuple[str, ...]
    schema: SerializationSchema
    guarantee: DeliveryGuarantee
    mode: TopicRoutingMode
    router: Router | None
    delayer: MessageDelayer
    producer_name: str | None

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """Describe a sink step by step."""
        return PulsarSinkBuilder()

    def probe(self) -> str:
        count = len(self.service.partitions(self.topics))
        return f"{count} partitions of Pulsar at {self.service.service_url}"

    def create_committer(self, context: WriterContext) -> Committer | None:
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        self._check_deduplication()
        return _Committer(self)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            return _PreparingWriter(self, context)
        return _SendingWriter(self, context)

    def _check_deduplication(self) -> None:
        for topic in self.topics:
            if not self.service.deduplicates(topic):
                namespace = "/".join(topic.split("://")[1].split("/")[:2])
                raise ConfigurationError(
                    f"exactly once needs a broker that deduplicates {topic}; call "
                    f"`pulsar-admin namespaces set-deduplication {namespace} --enable`, or choose "
                    "DeliveryGuarantee.AT_LEAST_ONCE"
                )

    def encoding(self, subtask: int) -> Callable[[Any, int | None], _Message]:
        """What makes a message of a record and its time, and chooses where it goes."""
        self.schema.open()
        partitions = self.service.partitions(self.topics)
        choose = self._routing(partitions, subtask)
        serialize = self.schema.serialize

        def encoded(record: Any, timestamp: int | None) -> _Message:
            return _Message(choose(record), serialize(record) or b"", timestamp)

        return encoded

    def _routing(self, partitions: list[str], subtask: int) -> Callable[[Any], str]:
        if self.router is not None:
            router = self.router
            return lambda record: _routed(router(record, partitions), partitions)
        if self.mode is TopicRoutingMode.MESSAGE_KEY_HASH:
            chosen = random.choice(partitions)
            return lambda record: chosen
        # Subtasks begin at different partitions.
        turns = _endless(partitions, subtask)
        return lambda record: next(turns)


def _routed(topic: Any, partitions: Sequence[str]) -> str:
    if topic in partitions:
        return str(topic)
    raise HeadraceError(
        f"the router of a PulsarSink gave {topic!r}, but must give one of the partitions it gets: "
        f"{', '.join(partitions)}"
    )


def _endless(partitions: Sequence[str], first: int) -> Any:
    while True:
        yield partitions[first % len(partitions)]
        first += 1


@dataclass(frozen=True, slots=True)
class _Message:
    topic: str
    content: bytes
    timestamp: int | None


class _Producers:
    """One producer for each partition, of one name."""

    def __init__(self, sink: PulsarSink, client: Any, name: str | None, batching: bool) -> None:
        self._sink = sink
        self._client = client
        self._name = name
        self._batching = batching
        self._made: dict[str, Any] = {}
        self._answered = threading.Condition()
        self._unanswered = 0
        self._failure: Any = None

    def send(self, message: _Message, number: int | None = None) -> None:
        """Send a message; `flush` says whether it has arrived."""
        producer = self._made.get(message.topic)
        if producer is None:
            producer = self._made[message.topic] = self._new(message.topic)
        with self._answered:
            self._unanswered += 1
        producer.send_async(
            message.content,
            self._sent,
            sequence_id=number,
            event_timestamp=message.timestamp,
            deliver_after=self._sink.delayer.delay,
        )

    def _new(self, topic: str) -> Any:
        service = self._sink.service
        return self._client.create_producer(
            topic,
            producer_name=self._name,
            batching_enabled=self._batching,
            batching_max_messages=service.number(_BATCH_MESSAGES, 1_000),
            max_pending_messages=service.number(_MOST_PENDING, 1_000),
            block_if_queue_full=True,
            send_timeout_millis=service.number("pulsar.producer.sendTimeoutMs", 30_000),
        )

    def _sent(self, result: Any, found: Any) -> None:
        # Called by a thread of the client.
        with self._answered:
            self._unanswered -= 1
            if result != pulsar().Result.Ok and self._failure is None:
                self._failure = result
            if not self._unanswered:
                self._answered.notify_all()

    def flush(self) -> None:
        """Wait until everything has arrived.

        The client gives up what it cannot send, so there is an answer for each message. Its own
        `flush` may miss the last one, and wait forever.

        Raises:
            HeadraceError: Something has not arrived.
        """
        with self._answered:
            self._answered.wait_for(lambda: not self._unanswered)
        if self._failure is not None:
            raise HeadraceError(f"Pulsar did not take messages: {self._failure}")

    def close(self) -> None:
        for producer in self._made.values():
            # A broker that is away has let it go already.
            with contextlib.suppress(pulsar().PulsarException):
                producer.close()


class _SendingWriter(SinkWriter):
    """Sends records at once, and waits for them at the end of an epoch."""

    def __init__(self, sink: PulsarSink, context: WriterContext) -> None:
        self._sink = sink
        self._subtask = context.subtask
        self._client: Any = None

    def open(self) -> None:
        self._encoded = self._sink.encoding(self._subtask)
        self._client = self._sink.service.client()
        name = self._sink.producer_name
        # Two producers of a topic cannot have the same name.
        unique = None if name is None else f"{name}-{self._subtask}-{uuid.uuid4().hex[:8]}"
        self._producers = _Producers(self._sink, self._client, unique, batching=True)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        stamps: Iterable[int | None] = repeat(None) if timestamps is None else timestamps
        try:
            for record, timestamp in zip(values, stamps, strict=False):
                self._producers.send(self._encoded(record, timestamp))
        except pulsar().PulsarException as error:
            raise self._sink.service.unreachable(error) from error

    def flush(self, end_of_input: bool) -> None:
        self._producers.flush()

    def close(self) -> None:
        if self._client is not None:
            self._producers.close()
            with contextlib.suppress(pulsar().PulsarException):
                self._client.close()


@dataclass(frozen=True)
class PreparedMessages:
    """What is to be sent once a checkpoint is complete.

    Attributes:
        producer: The name of the producer, of this writer alone.
        first: The number of the first message; those behind it count on.
        messages: The messages.
    """

    producer: str
    first: int
    messages: list[_Message]


class _PreparingWriter(SinkWriter):
    """Keeps messages until they may be sent."""

    def __init__(self, sink: PulsarSink, context: WriterContext) -> None:
        self._sink = sink
        self._subtask = context.subtask
        self._messages: list[_Message] = []
        self._producer = f"{sink.producer_name or 'headrace'}-{uuid.uuid4().hex}"
        # The client takes 0 for a message without a number, and gives it one itself.
        self._number = 1

    def open(self) -> None:
        self._encoded = self._sink.encoding(self._subtask)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        stamps: Iterable[int | None] = repeat(None) if timestamps is None else timestamps
        self._messages += map(self._encoded, values, stamps)

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[PreparedMessages]:
        messages, self._messages = self._messages, []
        if not messages:
            return []
        first, self._number = self._number, self._number + len(messages)
        return [PreparedMessages(self._producer, first, messages)]


@dataclass
class _Committer(Committer):
    """Sends what was prepared, with numbers by which the broker knows what it has."""

    sink: PulsarSink
    client: Any = None
    producers: dict[str, _Producers] = field(default_factory=dict)

    def commit(self, committables: list[PreparedMessages]) -> None:
        try:
            if self.client is None:
                self.client = self.sink.service.client()
            for prepared in committables:
                self._send(prepared)
        except (HeadraceError, pulsar().PulsarException) as error:
            self.close()
            raise RetriableCommitError(f"messages could not be sent to Pulsar: {error}") from error

    def _send(self, prepared: PreparedMessages) -> None:
        producers = self.producers.get(prepared.producer)
        if producers is None:
            # Batches would be cut in another way when they are sent again, and the broker drops
            # a batch as a whole when it knows the first of its numbers.
            producers = _Producers(self.sink, self.client, prepared.producer, batching=False)
            self.producers[prepared.producer] = producers
        for number, message in enumerate(prepared.messages, prepared.first):
            producers.send(message, number)
        producers.flush()

    def close(self) -> None:
        for producers in self.producers.values():
            producers.close()
        self.producers = {}
        if self.client is not None:
            with contextlib.suppress(pulsar().PulsarException):
                self.client.close()
            self.client = None


class PulsarSinkBuilder(ServiceBuilder):
    """Describes a `PulsarSink` step by step.

    Service URL, admin URL, topics and serialization schema have to be set.
    """

    def __init__(self) -> None:
        super().__init__()
        self._schema: SerializationSchema | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._mode = TopicRoutingMode.ROUND_ROBIN
        self._router: Router | None = None
        self._delayer = MessageDelayer.never()
        self._producer_name: str | None = None

    def set_producer_name(self, producer_name: str) -> PulsarSinkBuilder:
        """Set how names of producers begin."""
        self._producer_name = producer_name
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> PulsarSinkBuilder:
        """Set what holds when something fails: `NONE`, as in Flink, means at least once here."""
        if not isinstance(delivery_guarantee, DeliveryGuarantee):
            raise FunctionTypeError(f"a DeliveryGuarantee is needed, not {delivery_guarantee!r}")
        self._guarantee = delivery_guarantee
        return self

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> PulsarSinkBuilder:
        """Set which partition a record goes to."""
        if not isinstance(topic_routing_mode, TopicRoutingMode):
            raise FunctionTypeError(f"a TopicRoutingMode is needed, not {topic_routing_mode!r}")
        self._mode = topic_routing_mode
        return self

    def set_topic_router(self, topic_router_class_name: Router) -> PulsarSinkBuilder:
        """Set a function that says where a record goes.

        Args:
            topic_router_class_name: A function of a record and of the names of all partitions,
                which gives one of these. Flink takes the name of a class of Java.
        """
        if not callable(topic_router_class_name):
            raise FunctionTypeError(
                "set_topic_router takes a function (record, partitions) -> partition, and not a "
                f"class of Java: {topic_router_class_name!r}"
            )
        self._router = topic_router_class_name
        self._mode = TopicRoutingMode.CUSTOM
        return self

    def set_serialization_schema(
        self, serialization_schema: SerializationSchema
    ) -> PulsarSinkBuilder:
        """Set what makes the bytes of a message of a record."""
        if not isinstance(serialization_schema, SerializationSchema):
            raise FunctionTypeError(
                f"a SerializationSchema is needed, not {serialization_schema!r}"
            )
        self._schema = serialization_schema
        return self

    def delay_sending_message(self, message_delayer: MessageDelayer) -> PulsarSinkBuilder:
        """Set how long messages are kept from shared subscriptions."""
        if not isinstance(message_delayer, MessageDelayer):
            raise FunctionTypeError(f"a MessageDelayer is needed, not {message_delayer!r}")
        self._delayer = message_delayer
        return self

    def build(self) -> PulsarSink:
        """The sink."""
        service = self._checked("a PulsarSink")
        if not self._topics:
            raise GraphError("a PulsarSink needs set_topics(), also with set_topic_router()")
        if self._schema is None:
            raise GraphError("a PulsarSink needs set_serialization_schema()")
        if self._mode is TopicRoutingMode.CUSTOM and self._router is None:
            raise GraphError("TopicRoutingMode.CUSTOM needs set_topic_router()")
        return PulsarSink(
            service,
            self._topics,
            self._schema,
            self._guarantee,
            self._mode,
            self._router,
            self._delayer,
            self._producer_name,
        )
