"""A queue as a source.

It acknowledges messages when a checkpoint with them is complete, so nothing is lost; with
correlation ids nothing comes twice, either.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.common import options
from headrace.common.configuration import Configuration
from headrace.common.errors import HeadraceError
from headrace.common.serialization import DeserializationSchema
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.connectors.base import (
    ReadBatch,
    ReaderContext,
    Source,
    SourceReader,
    SplitEnumerator,
    StaticEnumerator,
)
from headrace.datastream.connectors.rabbitmq.connection import (
    RMQConnectionConfig,
    check_arguments,
    declare_queue,
)

__all__ = ["QueueSplit", "RMQSource"]

_STOP_WAIT_S = 2.0
_TURN_S = 0.5


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
        check_arguments(
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

    def probe(self) -> str:
        return self.connection_config.probe()

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
        self._told = 0
        self._ids: set[str] = set()
        self._seen: frozenset[str] = frozenset()
        self._pending: dict[int, _Pending] = {}
        self._unconfirmed: dict[int, frozenset[str]] = {}
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
        declare_queue(self._channel, queue)
        acknowledges = self._source.acknowledges
        if config.prefetch_count is not None and acknowledges:
            self._channel.basic_qos(prefetch_count=config.prefetch_count)
        if acknowledges and self._source.use_correlation_id:
            self._channel.tx_select()
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
        pending = (p.ids for p in self._pending.values())
        seen = self._seen.union(*pending, *list(self._unconfirmed.values()))
        return [QueueSplit(self._split_id, seen)]

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        done = [c for c in self._pending if c <= checkpoint]
        if not done:
            return
        completed = [self._pending.pop(c) for c in done]
        delivery = max(p.delivery for p in completed)
        # A delivery that it knows no more makes the broker close the channel.
        if delivery > self._told and self._source.acknowledges:
            self._told = delivery
            self._unconfirmed[delivery] = frozenset().union(*(p.ids for p in completed))
            with contextlib.suppress(Exception):  # a lost connection: `poll` says so
                self._connection.add_callback_threadsafe(partial(self._acknowledge, delivery))

    def _acknowledge(self, delivery: int) -> None:
        """In the thread: until the broker has confirmed it, messages may come once more."""
        self._channel.basic_ack(delivery, multiple=True)
        if self._source.use_correlation_id:
            self._channel.tx_commit()
        del self._unconfirmed[delivery]

    @property
    def exhausted(self) -> bool:
        return self._ended

    def finished_splits(self) -> list[str]:
        return [self._split_id] if self._ended and self._split_id else []

    def close(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_STOP_WAIT_S)
