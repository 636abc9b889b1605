"""Reads partitions in a subtask.

What the client has fetched is taken by the subtask's own thread, in batches and without waiting.
When there is nothing, a thread waits for the next message and wakes the job master. Only one of
the two uses the client at a time: the order of a partition is kept, and a call of one does not wait
forever inside the client while the other reads.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from headrace.datastream.connectors.base import ReadBatch, ReaderContext, SourceReader
from headrace.datastream.connectors.kafka.client import KafkaError, Outage, confluent
from headrace.datastream.connectors.kafka.records import (
    KafkaRecordDeserializationSchema,
    ManyRecordsSchema,
    ManyValuesSchema,
    ValueOnlySchema,
    consumer_record,
)
from headrace.datastream.connectors.kafka.splits import KafkaSplit

__all__ = ["KafkaReader"]

_log = logging.getLogger(__name__)

_MOST_MESSAGES = 10_000
_WAIT_S = 0.2
_FIRST_S = 0.1
_LINGER_S = 0.005
_QUEUE_BACKOFF = {"fetch.queue.backoff.ms": 5}
"""How long the client fetches nothing of a partition of which it holds 100,000 messages. By its
default, a second, a backlog would be read at that rate, since an epoch takes them all at once."""


class MessageFetcher:
    """The messages of a consumer, for somebody who never waits."""

    def __init__(self, consumer: Any, wake: Callable[[], None]) -> None:
        self._consumer = consumer
        self._wake = wake
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._closed = False
        self._wanted = threading.Event()
        self._interrupted = threading.Event()
        self._waiting = False
        self._held: list[Any] = []
        self._fresh = True
        self._flowing = False
        self._error: BaseException | None = None
        self._calls: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._wait, daemon=True, name="headrace-kafka")
        self._thread.start()

    def take(self, most: int) -> list[Any]:
        """At most so many messages that are there."""
        with self._lock:
            if self._waiting:
                return []
            held, self._held = self._held, []
            error, self._error = self._error, None
        if error is not None:
            raise error
        if self._fresh:
            # The first fetch is on its way; without it an epoch would go by with nothing.
            self._fresh = False
            held += self._consumer.consume(1, _FIRST_S)
        # In the middle of a backlog the next fetch is about to come.
        linger = _LINGER_S if self._flowing else 0.0
        taken = (
            held + self._consumer.consume(most - len(held), linger) if most > len(held) else held
        )
        self._flowing = bool(taken)
        if not taken:
            self._waiting = True
            self._wanted.set()
        return taken

    def _wait(self) -> None:
        while self._wanted.wait() and not self._closed:
            self._wanted.clear()
            messages: list[Any] = []
            error: BaseException | None = None
            try:
                while not messages and not self._interrupted.is_set():
                    messages = self._consumer.consume(1, _WAIT_S)
                    with self._lock:
                        self._make_calls()
            except BaseException as raised:  # noqa: BLE001 - raised where messages are taken
                error = raised
            with self._left:
                self._make_calls()
                self._held, self._error, self._waiting = messages, error, False
                self._left.notify_all()
            if not self._interrupted.is_set():
                self._wake()

    def call(self, action: Callable[[], None]) -> None:
        """Do something that uses the client: now, or soon by the thread that is waiting in it."""
        with self._lock:
            self._calls.append(action)
            if not self._waiting:
                self._make_calls()

    def _make_calls(self) -> None:
        calls, self._calls = self._calls, []
        for action in calls:
            action()

    def interrupt(self) -> None:
        """Make the thread leave the client; the next `take` may send it back."""
        self._interrupted.set()
        with self._left:
            self._left.wait_for(lambda: not self._waiting)
        self._interrupted.clear()

    def close(self) -> None:
        """End the thread."""
        self.interrupt()
        self._closed = True
        self._wanted.set()
        self._thread.join()


class KafkaReader(SourceReader):
    """Reads its partitions together, each from its offset."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        schema: KafkaRecordDeserializationSchema,
        context: ReaderContext,
        commits: bool,
        reset: str,
    ) -> None:
        self._settings = settings
        self._schema = schema
        self._context = context
        self._commits = commits
        self._reset = reset
        self._outage = Outage(
            settings["bootstrap.servers"], f"reader {context.subtask}", print_warning
        )
        self._message = confluent().Message
        self._consumer: Any = None
        self._fetcher: MessageFetcher
        self._splits: dict[str, KafkaSplit] = {}
        self._topics: set[str] = set()
        self._fetched: deque[tuple[str, list[Any]]] = deque()
        self._ended_at: dict[str, int] = {}
        self._drained: set[str] = set()
        self._finished: list[str] = []
        self._read_to_end: list[KafkaSplit] = []
        self._checkpoints: dict[int, list[KafkaSplit]] = {}

    def open(self) -> None:
        self._schema.open()

    def _connect(self) -> None:
        """Done with the first partitions: a client that is older waits a second for leaders."""
        settings = {**_QUEUE_BACKOFF, **self._settings, **self._outage.settings}
        settings["on_commit"] = self._committed
        if self._context.finds_idleness:
            # The client then says of each partition when it was read to its end.
            settings["enable.partition.eof"] = True
        self._consumer = confluent().Consumer(settings)
        self._fetcher = MessageFetcher(self._consumer, self._context.data_available)

    def close(self) -> None:
        if self._consumer is not None:
            if hasattr(self, "_fetcher"):
                self._fetcher.close()
            self._consumer.close()

    # Splits.

    def add_splits(self, splits: Sequence[KafkaSplit]) -> None:
        for split in splits:
            self._splits[split.split_id] = split
            self._topics.add(split.topic)
        at_end = [s.split_id for s in splits if s.stop is not None and s.offset >= s.stop]
        for split_id in at_end:
            del self._splits[split_id]
            self._finished.append(split_id)
        self._assign([s for s in splits if s.split_id in self._splits])

    def _assign(self, splits: Sequence[KafkaSplit]) -> None:
        if splits:
            if self._consumer is None:
                self._connect()
            self._fetcher.interrupt()
            partition = confluent().TopicPartition
            self._consumer.incremental_assign(
                [partition(s.topic, s.partition, s.offset) for s in splits]
            )

    def _finish(self, split: KafkaSplit) -> None:
        del self._splits[split.split_id]
        self._finished.append(split.split_id)
        self._read_to_end.append(split)
        self._fetcher.interrupt()
        self._consumer.incremental_unassign(
            [confluent().TopicPartition(split.topic, split.partition)]
        )

    def finished_splits(self) -> list[str]:
        finished, self._finished = self._finished, []
        return finished

    def drained_splits(self) -> set[str]:
        return self._drained

    @property
    def exhausted(self) -> bool:
        return not self._splits

    def snapshot(self) -> list[KafkaSplit]:
        return [replace(split, reset=self._reset) for split in self._splits.values()]

    # Reading.

    def poll(self, max_records: int) -> ReadBatch | None:
        while True:
            if not self._fetched:
                if not self._fetch(max_records):
                    return None
                continue
            split_id, messages = self._fetched.popleft()
            if len(messages) > max_records:
                self._fetched.appendleft((split_id, messages[max_records:]))
                messages = messages[:max_records]
            split = self._splits.get(split_id)
            batch = None if split is None else self._read(split, messages)
            if batch is not None:
                return batch

    def _fetch(self, most: int) -> bool:
        """Take messages from the client and sort them by partition."""
        if not self._splits:
            return False
        messages = self._fetcher.take(min(most, _MOST_MESSAGES))
        if not messages:
            self._outage.check()
            return False
        self._outage.over()
        errors = []
        if any(map(self._message.error, messages)):
            errors = [m for m in messages if m.error() is not None]
            messages = [m for m in messages if m.error() is None]
        self._fetched.extend(self._by_split(messages))
        for message in errors:
            self._on_error(message)
        return True

    def _by_split(self, messages: list[Any]) -> Iterator[tuple[str, list[Any]]]:
        """The messages of each partition, in order."""
        places: Iterable[Any] = map(self._message.partition, messages)
        single = next(iter(self._topics)) if len(self._topics) == 1 else None
        if single is None:
            places = zip(map(self._message.topic, messages), places, strict=True)
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        start = 0
        # They come in runs, as the client has fetched them.
        for place, run in groupby(places):
            end = start + len(list(run))
            found[place] += messages[start:end]
            start = end
        for place, of_split in found.items():
            topic, partition = place if single is None else (single, place)
            yield f"{topic}-{partition}", of_split

    def _read(self, split: KafkaSplit, messages: list[Any]) -> ReadBatch | None:
        """The records of messages of one partition; the position is then after them."""
        if not messages:
            self._at_end(split)
            return None
        end = messages[-1].offset() + 1
        stop = split.stop
        if stop is not None and end > stop:
            messages, end = [m for m in messages if m.offset() < stop], stop
        values, timestamps = self._deserialized(messages)
        self._drained.discard(split.split_id)
        split = self._splits[split.split_id] = replace(split, offset=end)
        if stop is not None and end >= stop:
            self._finish(split)
        return ReadBatch(split.split_id, values, timestamps) if values else None

    def _at_end(self, split: KafkaSplit) -> None:
        """The end of a partition: behind its last record there may be marks of transactions."""
        self._drained.add(split.split_id)
        offset = max(split.offset, self._ended_at.pop(split.split_id, 0))
        split = self._splits[split.split_id] = replace(split, offset=offset)
        if split.stop is not None and offset >= split.stop:
            self._finish(split)

    def _deserialized(self, messages: list[Any]) -> tuple[Any, list[int] | None]:
        schema = self._schema
        if not isinstance(schema, ManyValuesSchema | ManyRecordsSchema | ValueOnlySchema):
            return self._record_by_record(messages)
        try:
            return self._at_once(schema, messages)
        except Exception:  # noqa: BLE001 - one by one it is known which message
            return self._record_by_record(messages)

    def _at_once(
        self,
        schema: ManyValuesSchema | ManyRecordsSchema | ValueOnlySchema,
        messages: list[Any],
    ) -> tuple[Any, list[int] | None]:
        if isinstance(schema, ManyRecordsSchema):
            return schema.of_records(list(map(consumer_record, messages))), None
        values = list(map(self._message.value, messages))
        if isinstance(schema, ManyValuesSchema):
            return schema.of_values(values), None
        timestamps = list(map(itemgetter(1), map(self._message.timestamp, messages)))
        of_many = schema.of_many
        if of_many is not None and len(records := of_many(values)) == len(messages):
            return records, timestamps
        values = list(map(schema.of_value, values))
        if None in values:
            kept = [(v, t) for v, t in zip(values, timestamps, strict=True) if v is not None]
            return [v for v, _ in kept], [t for _, t in kept]
        return values, timestamps

    def _record_by_record(self, messages: list[Any]) -> tuple[list[Any], list[int]]:
        values: list[Any] = []
        timestamps: list[int] = []
        for message in messages:
            record = consumer_record(message)
            try:
                found = list(self._schema.deserialize(record))
            except Exception as error:
                if self._context.set_aside(record.value, error, record.timestamp):
                    continue
                raise KafkaError(
                    f"the message at offset {record.offset} of partition {record.partition} of "
                    f"topic {record.topic!r} cannot be deserialized: {type(error).__name__}: "
                    f"{error}. Its value is {_shown(record.value)}. Make the deserializer return "
                    "None to skip such messages, set them aside with on_error(), or correct them"
                ) from error
            values += found
            timestamps += [record.timestamp] * len(found)
        return values, timestamps

    # Errors that the client hands over in place of a message.

    def _on_error(self, message: Any) -> None:
        error, codes = message.error(), confluent().KafkaError
        split_id = f"{message.topic()}-{message.partition()}"
        if error.code() == codes._PARTITION_EOF:
            self._ended_at[split_id] = message.offset()
            self._fetched.append((split_id, []))
        elif error.code() == codes._AUTO_OFFSET_RESET:
            self._out_of_range(self._splits[split_id], error)
        elif error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC):
            raise KafkaError(
                f"partition {split_id} no longer exists: its topic was deleted. Create the topic "
                "again, or start the job without the state of this source"
            )
        elif error.fatal() or error.code() == codes.TOPIC_AUTHORIZATION_FAILED:
            raise KafkaError(f"partition {split_id} cannot be read: {error.str()}")
        else:
            self._outage.away(error)

    def _out_of_range(self, split: KafkaSplit, error: Any) -> None:
        there = confluent().TopicPartition(split.topic, split.partition)
        low, high = self._consumer.get_watermark_offsets(there, timeout=10.0)
        if split.reset == "none":
            raise KafkaError(
                f"partition {split.split_id} should be read from offset {split.offset}, but the "
                f"broker has {low} to {high}: the records were deleted by retention before they "
                "were read. Start from a newer savepoint; or set the property auto.offset.reset "
                "to 'earliest' to continue with the oldest remaining record and lose those in "
                "between"
            )
        offset = low if split.reset == "earliest" else high
        print_warning(
            f"partition {split.split_id}: offset {split.offset} does not exist, reading continues "
            f"at {offset} ({split.reset})"
        )
        moved = self._splits[split.split_id] = replace(split, offset=offset, reset=self._reset)
        partition = confluent().TopicPartition(moved.topic, moved.partition, offset)
        self._consumer.incremental_unassign([partition])
        self._assign([moved])

    # Checkpoints.

    def on_checkpoint(self, checkpoint: int) -> None:
        if self._commits:
            self._checkpoints[checkpoint] = [*self._splits.values(), *self._read_to_end]
            self._read_to_end = []

    def on_checkpoint_complete(self, checkpoint: int) -> None:
        # Of checkpoints that were given up too: they may have the end of a partition.
        due = sorted(c for c in self._checkpoints if c <= checkpoint)
        splits = {s.split_id: s for c in due for s in self._checkpoints.pop(c)}
        if splits:
            partition = confluent().TopicPartition
            offsets = [partition(s.topic, s.partition, s.offset) for s in splits.values()]
            at_end = not self._splits
            if at_end:
                self._fetcher.interrupt()
            self._fetcher.call(lambda: self._commit(offsets, wait=at_end))

    def _commit(self, offsets: list[Any], wait: bool) -> None:
        """Commit offsets to the group. At the end one has to wait: the client is closed next."""
        try:
            self._consumer.commit(offsets=offsets, asynchronous=not wait)
        except confluent().KafkaException as error:
            self._committed(error.args[0], offsets)

    def _committed(self, error: Any, partitions: list[Any]) -> None:
        if error is not None:
            # The checkpoint has the positions; those of the group are for people who look on.
            print_warning(f"offsets were not committed to Kafka: {error.str()}")


def print_warning(text: str) -> None:
    """Tell whoever reads the log of the job."""
    _log.warning("%s", text)


def _shown(value: bytes | None) -> str:
    if value is None:
        return "null (a tombstone)"
    return repr(value if len(value) <= 100 else value[:100] + b"...")
