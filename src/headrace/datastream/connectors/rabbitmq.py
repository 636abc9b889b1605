"""Queues of RabbitMQ. It needs pika: `pip install 'headrace[rabbitmq]'`.

A source acknowledges messages when a checkpoint with them is complete, so nothing is lost; with
correlation ids nothing comes twice, either. A sink publishes in transactions of AMQP, one for each
batch, so each message arrives at least once.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlsplit

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Sink,
    SinkWriter,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
    WriterContext,
)
from headrace.datastream.connectors.batched_writer import BatchedWriter, BatchLimits
from headrace.datastream.connectors.client_library import client_library

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]

_BATCH = 1_000
_STOP_WAIT_S = 2.0
_TURN_S = 0.5


@dataclass(frozen=True)
class RMQConnectionConfig:
    """Where a broker is, and how to connect. Make one with `RMQConnectionConfig.Builder`.

    Example:
        >>> builder = RMQConnectionConfig.Builder().set_host("localhost").set_port(5672)
        >>> builder.set_user_name("guest").set_password("guest").set_virtual_host("/").build()
    """

    host: str | None = None
    port: int | None = None
    virtual_host: str | None = None
    user_name: str | None = None
    password: str | None = None
    uri: str | None = None
    network_recovery_interval: int | None = None
    automatic_recovery: bool | None = None
    topology_recovery: bool | None = None
    connection_timeout: int | None = None
    requested_channel_max: int | None = None
    requested_frame_max: int | None = None
    requested_heartbeat: int | None = None
    prefetch_count: int | None = None

    def get_host(self) -> str | None:
        """Name or address of the broker."""
        return self.host

    def get_port(self) -> int | None:
        """Its port."""
        return self.port

    def get_virtual_host(self) -> str | None:
        """The virtual host."""
        return self.virtual_host

    def get_user_name(self) -> str | None:
        """The user."""
        return self.user_name

    def get_password(self) -> str | None:
        """The user's password."""
        return self.password

    def get_uri(self) -> str | None:
        """The address as a URI, if it was given as one."""
        return self.uri

    def get_network_recovery_interval(self) -> int | None:
        """Accepted as in Flink; a job whose connection is lost restarts by its restart strategy."""
        return self.network_recovery_interval

    def is_automatic_recovery(self) -> bool | None:
        """Accepted as in Flink, see `get_network_recovery_interval`."""
        return self.automatic_recovery

    def is_topology_recovery(self) -> bool | None:
        """Accepted as in Flink, see `get_network_recovery_interval`."""
        return self.topology_recovery

    def get_connection_timeout(self) -> int | None:
        """Milliseconds that connecting may take."""
        return self.connection_timeout

    def get_requested_channel_max(self) -> int | None:
        """The most channels of a connection."""
        return self.requested_channel_max

    def get_requested_frame_max(self) -> int | None:
        """The most bytes of a frame."""
        return self.requested_frame_max

    def get_requested_heartbeat(self) -> int | None:
        """Seconds between heartbeats."""
        return self.requested_heartbeat

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if f.name not in ("password", "uri")]
        given = [f"{name}={getattr(self, name)!r}" for name in shown if getattr(self, name)]
        return f"RMQConnectionConfig({', '.join(given)})"

    @property
    def place(self) -> str:
        """The broker, for messages."""
        if self.uri:
            parts = urlsplit(self.uri)
            return f"{parts.hostname}:{parts.port or 5672}"
        return f"{self.host}:{self.port}"

    def connect(self) -> Any:
        """A connection of pika, for one thread."""
        pika = client_library("pika", "pika", "rabbitmq")
        try:
            return pika.BlockingConnection(self._parameters(pika))
        except pika.exceptions.ProbableAuthenticationError as error:
            raise HeadraceError(
                f"RabbitMQ at {self.place} refuses the user {self.user_name!r} ({error}); set "
                "set_user_name and set_password to those of a user with rights on the virtual host"
            ) from error
        except (pika.exceptions.AMQPError, OSError) as error:
            raise HeadraceError(
                f"RabbitMQ at {self.place} cannot be reached ({type(error).__name__}: {error}); "
                "is it running, and are host, port and virtual host right?"
            ) from error

    def _parameters(self, pika: Any) -> Any:
        if self.uri:
            parameters = pika.URLParameters(_plain_uri(self.uri))
        else:
            credentials = pika.PlainCredentials(self.user_name, self.password)
            parameters = pika.ConnectionParameters(
                self.host, self.port, self.virtual_host, credentials
            )
        if self.connection_timeout is not None:
            seconds = self.connection_timeout / 1_000 or None
            parameters.socket_timeout = parameters.blocked_connection_timeout = seconds
        for name in ("channel_max", "frame_max", "heartbeat"):
            value = getattr(self, f"requested_{name}")
            if value is not None:
                setattr(parameters, name, value)
        return parameters

    class Builder:
        """Builds an `RMQConnectionConfig`: from a URI, or from host, port, user and the rest."""

        def __init__(self) -> None:
            self._config = RMQConnectionConfig()

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """Set the port, usually 5672."""
            return self._with(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """Set the name or address of the broker."""
            return self._with(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """Set the virtual host, such as `/`."""
            return self._with(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """Set the user."""
            return self._with(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """Set the user's password."""
            return self._with(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Set all of it at once: `amqp://user:password@host:port/virtual_host`."""
            return self._with(uri=uri)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Set the seconds between heartbeats; 0 for none."""
            return self._with(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Set the most bytes of a frame."""
            return self._with(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(
            self, requested_channel_max: int
        ) -> RMQConnectionConfig.Builder:
            """Set the most channels of a connection."""
            return self._with(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Set the milliseconds that connecting may take; 0 for any time."""
            return self._with(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Accepted as in Flink: a job that lost its connection restarts."""
            return self._with(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """Let the broker send at most so many messages that are not acknowledged yet.

            A job with checkpoints acknowledges messages when a checkpoint is complete, so it reads
            at most this many between two of them. Without it the broker sends all it has.
            """
            return self._with(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """The configuration."""
            config = self._config
            if config.uri is None:
                needed = ("host", "port", "virtual_host", "user_name", "password")
                missing = [name for name in needed if getattr(config, name) is None]
                if missing:
                    raise GraphError(
                        f"a connection to RabbitMQ needs set_{missing[0]}(), or set_uri() for all "
                        f"of it; missing: {', '.join(missing)}"
                    )
            return config

        def _with(self, **changes: Any) -> RMQConnectionConfig.Builder:
            self._config = replace(self._config, **changes)
            return self


def _plain_uri(uri: str) -> str:
    """As Flink's client reads it: without a path the virtual host is `/`."""
    return uri + "/%2f" if urlsplit(uri).path in ("", "/") else uri


def _checked(config: Any, queue_name: Any, schema: Any, kind: type, who: str) -> None:
    if not isinstance(config, RMQConnectionConfig):
        raise FunctionTypeError(f"{who} takes an RMQConnectionConfig, not {config!r}")
    if not isinstance(queue_name, str) or not queue_name:
        raise FunctionTypeError(f"{who} takes the name of a queue, not {queue_name!r}")
    if not isinstance(schema, kind):
        raise FunctionTypeError(f"{who} takes a {kind.__name__}, not {schema!r}")


def _declare(channel: Any, queue: str) -> None:
    """As Flink does: the queue is there, and durable, whoever comes first."""
    channel.queue_declare(queue, durable=True)


class RMQSource(Source):
    """Reads the messages of a queue; give it to `env.add_source`.

    In a job with checkpoints, messages are acknowledged when a checkpoint that has seen them is
    complete, and come again after a failure: at least once. With `use_correlation_id`, and
    producers that give each message a correlation id of its own, those that come again are
    recognised: exactly once, with a parallelism of 1. Without checkpoints the broker forgets a
    message when it has sent it.

    Args:
        connection_config: The broker.
        queue_name: The queue; it is made, durable, if it is not there.
        use_correlation_id: Whether messages have unique correlation ids.
        deserialization_schema: Makes a record of a message.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        _checked(
            connection_config,
            queue_name,
            deserialization_schema,
            DeserializationSchema,
            "RMQSource",
        )
        self.connection_config = connection_config
        self.queue_name = queue_name
        self.use_correlation_id = use_correlation_id
        self.schema = deserialization_schema
        self.acknowledges = True

    @property
    def bounded(self) -> bool:
        return False

    @property
    def max_parallel_readers(self) -> int | None:
        return 1 if self.use_correlation_id else None

    @property
    def produced_type(self) -> TypeInformation:
        return self.schema.get_produced_type()

    def for_configuration(self, configuration: Configuration) -> Source:
        copy = RMQSource(
            self.connection_config, self.queue_name, self.use_correlation_id, self.schema
        )
        copy.acknowledges = configuration.get(options.CHECKPOINTING_INTERVAL) is not None
        return copy

    def create_enumerator(self, parallelism: int) -> SplitEnumerator:
        readers = min(parallelism, self.max_parallel_readers or parallelism)
        return StaticEnumerator([QueueSplit(f"queue-{i}") for i in range(readers)], parallelism)

    def create_reader(self, context: ReaderContext) -> SourceReader:
        return _QueueReader(self, context)


@dataclass(frozen=True)
class QueueSplit:
    """A consumer of the queue.

    Attributes:
        split_id: Its name.
        seen: Correlation ids of messages that the job has, but the broker may send again.
    """

    split_id: str
    seen: frozenset[str] = frozenset()


@dataclass
class _Pending:
    """What was read up to a checkpoint: the last delivery, and the correlation ids since before."""

    delivery: int
    ids: frozenset[str]


class _QueueReader(SourceReader):
    """A thread of its own talks to the broker, as it must answer heartbeats; `poll` never waits."""

    def __init__(self, source: RMQSource, context: ReaderContext) -> None:
        self._source = source
        self._context = context
        self._arrived: deque[tuple[int, str | None, bytes]] = deque()
        self._split_id: str | None = None
        self._delivery = 0
        self._ids: set[str] = set()
        self._seen: frozenset[str] = frozenset()
        self._pending: dict[int, _Pending] = {}
        self._acknowledged: frozenset[str] = frozenset()
        self._connection: Any = None
        self._channel: Any = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self._ended = False

    def add_splits(self, splits: Sequence[QueueSplit]) -> None:
        for split in splits:
            self._split_id = self._split_id or split.split_id
            self._seen |= split.seen
        if self._thread is None and splits:
            self._connect()
            self._thread = threading.Thread(
                target=self._consume, daemon=True, name=f"headrace-{self._split_id}"
            )
            self._thread.start()

    def _connect(self) -> None:
        config, queue = self._source.connection_config, self._source.queue_name
        self._source.schema.open()
        self._connection = config.connect()
        self._channel = self._connection.channel()
        _declare(self._channel, queue)
        acknowledges = self._source.acknowledges
        if config.prefetch_count is not None and acknowledges:
            self._channel.basic_qos(prefetch_count=config.prefetch_count)
        self._channel.basic_consume(queue, self._on_message, auto_ack=not acknowledges)

    def _consume(self) -> None:
        try:
            while not self._stopping.is_set():
                self._connection.process_data_events(time_limit=_TURN_S)
        except Exception as error:  # noqa: BLE001 - a thread's top: reading raises it
            if not self._stopping.is_set():
                self._error = error
                self._context.data_available()
        finally:
            with contextlib.suppress(Exception):
                # What was acknowledged last goes out before the broker is told goodbye.
                self._connection.process_data_events(time_limit=0)
                self._connection.close()

    def _on_message(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        empty = not self._arrived
        self._arrived.append((method.delivery_tag, properties.correlation_id, body))
        if empty:
            self._context.data_available()

    def poll(self, max_records: int) -> ReadBatch | None:
        values: list[Any] = []
        while self._arrived and len(values) < max_records and not self._ended:
            delivery, correlation_id, body = self._arrived.popleft()
            self._delivery = delivery
            if self._is_new(correlation_id, body):
                self._read(body, values)
        if values:
            assert self._split_id is not None
            return ReadBatch(self._split_id, values)
        if self._error is not None:
            raise HeadraceError(
                f"the connection to RabbitMQ at {self._source.connection_config.place} was lost "
                f"({type(self._error).__name__}: {self._error}); the job goes on from its last "
                "checkpoint if it has a restart strategy"
            ) from self._error
        return None

    def _is_new(self, correlation_id: str | None, body: bytes) -> bool:
        if not self._source.use_correlation_id or not self._source.acknowledges:
            return True
        if correlation_id is None:
            raise HeadraceError(
                f"a message of the queue {self._source.queue_name!r} has no correlation id, and "
                "use_correlation_id is True; let its producer set one, or pass False for at least "
                f"once; the message is {body[:100]!r}"
            )
        if correlation_id in self._seen or correlation_id in self._ids:
            return False
        self._ids.add(correlation_id)
        return True

    def _read(self, body: bytes, values: list[Any]) -> None:
        try:
            record = self._source.schema.deserialize(body)
        except Exception as error:
            if not self._context.set_aside(body, error):
                raise
            return
        if record is None:
            return
        if self._source.schema.is_end_of_stream(record):
            self._ended = True
        else:
            values.append(record)

    def on_checkpoint(self, checkpoint: int) -> None:
        self._pending[checkpoint] = _Pending(self._delivery, frozenset(self._ids))
        self._ids = set()

    def snapshot(self) -> list[QueueSplit]:
        if self._split_id is None:
            return []
        seen = self._seen | self._acknowledged
        return [QueueSplit(self._split_id, seen.union(*(p.ids for p in self._pending.values())))]

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        done = [c for c in self._pending if c <= checkpoint]
        if not done:
            return
        completed = [self._pending.pop(c) for c in done]
        # The broker does not confirm that it got this, so these may come once more.
        self._acknowledged = frozenset().union(*(p.ids for p in completed))
        delivery = max(p.delivery for p in completed)
        if delivery and self._source.acknowledges:
            with contextlib.suppress(Exception):  # a lost connection: `poll` says so
                self._connection.add_callback_threadsafe(
                    lambda: self._channel.basic_ack(delivery, multiple=True)
                )

    @property
    def exhausted(self) -> bool:
        return self._ended

    def finished_splits(self) -> list[str]:
        return [self._split_id] if self._ended and self._split_id else []

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_WAIT_S)


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
        _checked(
            connection_config, queue_name, serialization_schema, SerializationSchema, "RMQSink"
        )
        self.connection_config = connection_config
        self.queue_name = queue_name
        self.schema = serialization_schema

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
        _declare(self._channel, self._sink.queue_name)
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
            with contextlib.suppress(Exception):
                self._connection.close()
