"""Reads partitions in a subtask.

A thread for each partition takes what the client has received; `poll` takes it from there and
never waits. A message counts by its position alone: what the broker sends once more, after a lost
connection or a restore, is passed over.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.common.constants import NO_TIMESTAMP
from headrace.common.errors import HeadraceError
from headrace.common.serialization import DeserializationSchema
from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader
from headrace.datastream.connectors.pulsar.cursors import RangeGenerator, StartCursor, StopCursor
from headrace.datastream.connectors.pulsar.service import (
    EARLIEST,
    LATEST,
    Position,
    PulsarService,
    position_of,
    pulsar,
)

__all__ = ["PartitionSplit", "PulsarReader", "Reading"]

_AHEAD = 5_000
"""How many messages of a partition wait to be polled, beside those that the client holds."""
_TURN_MS = 200
_BUSY_S = 5.0
_STOP_WAIT_S = 2.0


@dataclass(frozen=True)
class Reading:
    """How partitions are read."""

    subscription: str
    schema: DeserializationSchema
    start: StartCursor
    stop: StopCursor
    keys: RangeGenerator
    consumer_name: str | None = None
    resets: bool = False
    acknowledges_at_once: bool = False
    queue_size: int = 1_000


@dataclass(frozen=True)
class PartitionSplit:
    """A partition, and how far it was read.

    Attributes:
        topic: Its full name.
        position: The last message that was read; None before the first one.
        stop: Where reading ends, once that is known.
    """

    topic: str
    position: Position | None = None
    stop: StopCursor | None = None

    @property
    def split_id(self) -> str:
        """The topic."""
        return self.topic


class PulsarReader(SourceReader):
    """Reads its partitions together."""

    def __init__(self, service: PulsarService, reading: Reading, context: ReaderContext) -> None:
        self._service = service
        self._reading = reading
        self._context = context
        self._client: Any = None
        self._splits: dict[str, PartitionSplit] = {}
        self._feeds: dict[str, _Feed] = {}
        self._finished: list[str] = []
        self._unacknowledged: dict[str, Any] = {}
        self._checkpoints: dict[int, dict[str, Any]] = {}

    def open(self) -> None:
        self._reading.schema.open()
        self._client = self._service.client()

    # Splits.

    def add_splits(self, splits: Sequence[PartitionSplit]) -> None:
        for given in splits:
            try:
                consumer, split = self._subscribed(given)
            except pulsar().PulsarException as error:
                raise HeadraceError(
                    f"the subscription {self._reading.subscription!r} to {given.topic} cannot be "
                    f"read: {type(error).__name__}: {error}; another job may be reading it, which "
                    "needs a subscription of its own"
                ) from error
            self._splits[split.topic] = split
            feed = self._feeds[split.topic] = _Feed(consumer, split, self._context.data_available)
            if split.position is not None and split.stop.reached_at(split.position):  # type: ignore[union-attr]
                self._finish(split.topic)
            else:
                feed.start()

    def _subscribed(self, split: PartitionSplit) -> tuple[Any, PartitionSplit]:
        """A consumer that stands where the split does."""
        if split.position is not None:
            self._service.place(split.topic, self._reading.subscription, split.position)
        else:
            split = replace(split, position=self._begun(split.topic))
        consumer = self._consumer(split.topic)
        return consumer, self._with_end(split, consumer)

    def _begun(self, topic: str) -> Position | None:
        """The last position that is not to be read, of a subscription that is there then."""
        service, name, start = self._service, self._reading.subscription, self._reading.start
        edge = LATEST if start.at_end else EARLIEST
        at = service.subscribed_at(topic, name)
        if at is not None and not self._reading.resets:
            return at
        if at is None:
            service.subscribe(topic, name, edge)
        if start.position is not None:
            service.place(topic, name, start.position)
            ledger, entry, batch = start.position
            # Messages of a batch count from 0, and one without a batch is -1.
            return ledger, entry, batch - start.inclusive
        if start.published_ms is not None:
            service.place(topic, name, start.published_ms)
        elif at is not None:
            service.place(topic, name, edge)
        return service.subscribed_at(topic, name)

    def _consumer(self, topic: str) -> Any:
        """The one consumer; that of a slot that was killed may need a moment to go."""
        reading = self._reading
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                return self._client.subscribe(
                    topic,
                    reading.subscription,
                    consumer_name=reading.consumer_name,
                    receiver_queue_size=reading.queue_size,
                )
            except pulsar().ConsumerBusy:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _with_end(self, split: PartitionSplit, consumer: Any) -> PartitionSplit:
        stop = split.stop or self._reading.stop
        if stop.needs_last:
            last = position_of(consumer.get_last_message_id())
            stop = stop.at_last(last)
            if last[1] < 0 and split.position is None:
                # There is no message at all.
                split = replace(split, position=last)
        return replace(split, stop=stop)

    def _finish(self, topic: str) -> None:
        self._feeds[topic].stop()
        del self._splits[topic]
        self._finished.append(topic)

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def drained_splits(self) -> list[str]:
        return [topic for topic in self._splits if not self._feeds[topic].messages]

    @property
    def exhausted(self) -> bool:
        return not self._splits

    # Records.

    def poll(self, max_records: int) -> ReadBatch | None:
        for topic in list(self._splits):
            # The next poll begins with the next partition.
            self._splits[topic] = self._splits.pop(topic)
            messages = self._feeds[topic].take(max_records)
            if messages:
                return self._batch(topic, messages)
        return None

    def _batch(self, topic: str, messages: list[Any]) -> ReadBatch:
        split = self._splits[topic]
        stop, position = split.stop, split.position
        assert stop is not None
        batch = ReadBatch(topic, [], [])
        ended, read = False, None
        for message in messages:
            at = position_of(message.message_id())
            if position is not None and at <= position:
                continue
            ended = stop.is_before(message)
            if ended:
                break
            position, read = at, message.message_id()
            if self._reading.keys.takes(message):
                self._add(batch, message)
            ended = stop.reached_at(at)
            if ended:
                break
        if set(batch.timestamps or ()) <= {NO_TIMESTAMP}:
            batch.timestamps = None
        if read is not None:
            self._splits[topic] = replace(split, position=position)
            self._read_to(topic, read)
        if ended:
            self._finish(topic)
        return batch

    def _add(self, batch: ReadBatch, message: Any) -> None:
        timestamp = message.event_timestamp()
        try:
            record = self._reading.schema.deserialize(message.data())
        except Exception as error:
            if not self._context.set_aside(message.data(), error, timestamp or None):
                raise
            return
        if record is not None:
            batch.values.append(record)
            assert batch.timestamps is not None
            batch.timestamps.append(timestamp or NO_TIMESTAMP)

    def snapshot(self) -> list[PartitionSplit]:
        return list(self._splits.values())

    # Acknowledging.

    def _read_to(self, topic: str, found: Any) -> None:
        if self._reading.acknowledges_at_once:
            self._feeds[topic].acknowledge(found)
        else:
            self._unacknowledged[topic] = found

    def on_checkpoint(self, checkpoint: int) -> None:
        self._checkpoints[checkpoint], self._unacknowledged = self._unacknowledged, {}

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        for number in sorted(n for n in self._checkpoints if n <= checkpoint):
            for topic, found in self._checkpoints.pop(number).items():
                self._feeds[topic].acknowledge(found)

    def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()
        if self._client is not None:
            with contextlib.suppress(pulsar().PulsarException):
                self._client.close()


class _Feed:
    """The messages of one partition, received by a thread."""

    def __init__(self, consumer: Any, split: PartitionSplit, wake: Any) -> None:
        self.messages: deque[Any] = deque()
        self._consumer = consumer
        self._wake = wake
        self._changed = threading.Condition()
        self._stopping = False
        self._error: Exception | None = None
        self._thread = threading.Thread(
            target=self._run, daemon=True, name=f"headrace-pulsar-{split.topic}"
        )

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        library = pulsar()
        try:
            while not self._stopping:
                try:
                    message = self._consumer.receive(timeout_millis=_TURN_MS)
                except library.Timeout:
                    continue
                with self._changed:
                    self._changed.wait_for(lambda: len(self.messages) < _AHEAD or self._stopping)
                    self.messages.append(message)
                    first = len(self.messages) == 1
                if first:
                    self._wake()
        except Exception as error:  # noqa: BLE001 - a thread's top: `take` raises it
            self._error = error
            self._wake()

    def take(self, most: int) -> list[Any]:
        """At most so many messages that are there."""
        with self._changed:
            if not self.messages and self._error is not None and not self._stopping:
                raise HeadraceError(
                    f"reading {self._consumer.topic()} of Pulsar has ended: "
                    f"{type(self._error).__name__}: {self._error}"
                ) from self._error
            taken = [self.messages.popleft() for _ in range(min(most, len(self.messages)))]
            self._changed.notify_all()
        return taken

    def acknowledge(self, found: Any) -> None:
        """Tell the broker that everything up to a message was read.

        Args:
            found: Its id as the client gave it, which knows how many of its batch are left.
        """
        self._consumer.acknowledge_cumulative(found)

    def stop(self) -> None:
        """End the thread; what was read can still be acknowledged."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_STOP_WAIT_S)

    def close(self) -> None:
        """End everything; what was acknowledged goes out before."""
        self.stop()
        with contextlib.suppress(pulsar().PulsarException):
            self._consumer.close()
