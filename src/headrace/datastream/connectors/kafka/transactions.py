"""Writes records to Kafka exactly once: a transaction for each checkpoint and subtask.

A transaction is committed when its checkpoint is complete. If the process dies in between nobody
can commit it any more: the client library has no way to take over a transaction, and whoever uses
its id next makes the broker abort it. So the checkpoint has the messages too, and after a recovery
they are written again, in a new transaction, unless the old one was committed after all. To tell,
every transaction also commits an offset for a consumer group named like its id: the offset's
metadata says what the transaction carried. It appears with the messages, or not at all.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from headrace.datastream.connectors.base import Committer, RetriableCommitError, WriterContext
from headrace.datastream.connectors.kafka.client import KafkaError, confluent, is_outage
from headrace.datastream.connectors.kafka.producing import KafkaClientProducer
from headrace.datastream.connectors.kafka.serialization import (
    KafkaRecordSerializationSchema,
    Messages,
)
from headrace.datastream.connectors.kafka.writer import SerializingWriter

__all__ = ["KafkaCommitter", "TransactionalWriter", "Transactions"]

_REQUEST_S = 30.0
_CLOSE_S = 5.0
_SPARE = 2
_AT_ONCE = 8
_MOST_RUNS = 100


@dataclass(frozen=True)
class KafkaCommittable:
    """What one transaction carries.

    Attributes:
        transactional_id: Of the producer that wrote it.
        run: Of the writer: another one after every restart.
        number: Of the transaction, counted by the writer.
        messages: Everything that was written.
    """

    transactional_id: str
    run: str
    number: int
    messages: tuple[Messages, ...]

    @property
    def topic(self) -> str:
        """A topic to commit the offset for: brokers take none for topics that are not there."""
        return self.messages[0].topic


@dataclass(frozen=True)
class WriterState:
    """What a writer leaves to those that come after it.

    Attributes:
        parallelism: Number of writers.
        producers: How many transactional ids each may have used.
        runs: Its own run and those before it, with the last transaction of each.
    """

    parallelism: int
    producers: int
    runs: dict[str, int]


class Transactions:
    """The transactional producers of one subtask; those with a prepared transaction wait."""

    def __init__(self, settings: Mapping[str, Any], prefix: str, context: WriterContext) -> None:
        self._settings = settings
        self._prefix = prefix
        self._context = context
        self._free: list[TransactionalProducer] = []
        self._prepared: dict[int, TransactionalProducer] = {}
        self._number = 0
        self.run = uuid.uuid4().hex[:12]
        self._ids = 0
        self._runs: dict[str, int] = {}
        for state in context.restored_state:
            for run, number in state.runs.items():
                self._runs[run] = max(number, self._runs.get(run, 0))

    def open(self) -> None:
        """Abort what earlier attempts left open, so that readers need not wait for it."""
        states: Sequence[WriterState] = self._context.restored_state
        producers = max([_SPARE, *(s.producers for s in states)])
        mine, step = self._context.subtask, self._context.parallelism
        before = max([step, *(s.parallelism for s in states)])
        ids = [self._id(s, i) for s in range(mine, before, step) for i in range(producers)]
        # Brokers answer each after a moment, or half a second if they have just started.
        with ThreadPoolExecutor(min(len(ids), _AT_ONCE)) as pool:
            made = list(pool.map(self._producer, ids))
        self._ids = producers
        self._free, others = made[:producers], made[producers:]
        for producer in others:
            producer.close()

    def _id(self, subtask: int, index: int) -> str:
        return f"{self._prefix}-{self._context.operator_id[:8]}-{subtask}-{index}"

    def _producer(self, transactional_id: str) -> TransactionalProducer:
        return TransactionalProducer(
            self._settings, transactional_id, f"writer {self._context.subtask}", self._say
        )

    def _say(self, line: str) -> None:
        self._context.print_lines([line], to_stderr=True)

    def begin(self) -> TransactionalProducer:
        """A producer with a new transaction."""
        if not self._free:
            self._free.append(self._producer(self._id(self._context.subtask, self._ids)))
            self._ids += 1
        producer = self._free.pop(0)
        producer.begin()
        return producer

    def prepare(
        self, producer: TransactionalProducer, messages: tuple[Messages, ...]
    ) -> KafkaCommittable:
        """Have everything written, and the mark with it."""
        self._number += 1
        committable = KafkaCommittable(producer.id, self.run, self._number, messages)
        producer.prepare(committable.topic, self._mark())
        self._prepared[self._number] = producer
        return committable

    def _mark(self) -> str:
        runs = [*self._runs.items(), (self.run, self._number)][-_MOST_RUNS:]
        return " ".join(f"{run}:{number}" for run, number in runs)

    def commit(self, committable: KafkaCommittable) -> None:
        """Commit a transaction of this run, or one that an earlier run could not commit."""
        if committable.run != self.run:
            self._recover(committable)
        elif committable.number in self._prepared:
            producer = self._prepared[committable.number]
            producer.commit()
            del self._prepared[committable.number]
            self._free.append(producer)

    def _recover(self, committable: KafkaCommittable) -> None:
        # A producer that takes over an id ends what others do under it. Only then is it sure
        # whether the transaction was committed.
        producer = self._producer(committable.transactional_id)
        try:
            done = _numbers(producer.last_mark(committable.topic))
            if done.get(committable.run, 0) >= committable.number:
                return
            producer.begin()
            for messages in committable.messages:
                producer.produce(messages)
            mark = " ".join([*_texts(done), f"{committable.run}:{committable.number}"])
            producer.prepare(committable.topic, mark)
            producer.commit()
        finally:
            producer.close()

    def state(self) -> WriterState:
        """What those that come after need to know."""
        runs = dict([*self._runs.items(), (self.run, self._number)][-_MOST_RUNS:])
        return WriterState(self._context.parallelism, self._ids, runs)

    def close(self) -> None:
        """Abort what is not committed. What a checkpoint has of it is written again from there."""
        for producer in [*self._prepared.values(), *self._free]:
            producer.close()
        self._prepared, self._free = {}, []


def _numbers(mark: str) -> dict[str, int]:
    runs = (text.rpartition(":") for text in mark.split())
    return {run: int(number) for run, _, number in runs}


def _texts(runs: dict[str, int]) -> list[str]:
    return [f"{run}:{number}" for run, number in list(runs.items())[1 - _MOST_RUNS :]]


class TransactionalProducer:
    """One transactional id. Whoever had it before is fenced off when this is made."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        transactional_id: str,
        what: str,
        say: Callable[[str], None],
    ) -> None:
        self.id = transactional_id
        self._settings = settings
        self._what = what
        self._open = False
        self._producer = KafkaClientProducer(
            {**settings, "transactional.id": transactional_id}, what, say
        )
        self._group: Any = None
        self._waiting(lambda: self._producer.client.init_transactions(_REQUEST_S))

    @property
    def client(self) -> KafkaClientProducer:
        """For looking at topics."""
        return self._producer

    def begin(self) -> None:
        """Begin a transaction."""
        self._waiting(self._producer.client.begin_transaction)
        self._open = True

    def produce(self, messages: Messages) -> None:
        """Write into the transaction."""
        self._producer.produce(messages)

    def prepare(self, topic: str, mark: str) -> None:
        """Wait until everything has arrived, and add the mark."""
        self._producer.flush()
        offset = confluent().TopicPartition(topic, 0, 0, metadata=mark)
        group = self._group_metadata()
        self._waiting(
            lambda: self._producer.client.send_offsets_to_transaction([offset], group, _REQUEST_S)
        )

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            RetriableCommitError: The brokers are away.
            KafkaError: It cannot be committed any more.
        """
        try:
            self._producer.client.commit_transaction(_REQUEST_S)
        except confluent().KafkaException as error:
            problem = error.args[0]
            if not problem.fatal() and (problem.retriable() or is_outage(problem)):
                raise RetriableCommitError(f"{self._what}: {problem.str()}") from error
            raise self._lost(problem) from error
        self._open = False
        self._producer.outage.over()

    def last_mark(self, topic: str) -> str:
        """The mark of the transaction that was last committed under this id."""
        library = confluent()
        consumer = self._consumer()
        try:
            asked = [library.TopicPartition(topic, 0)]
            [answer] = self._waiting(lambda: consumer.committed(asked, timeout=_REQUEST_S))
        finally:
            consumer.close()
        if answer.error is not None:
            raise KafkaError(f"{self._what}: the mark of {self.id}: {answer.error.str()}")
        return answer.metadata or ""

    def close(self) -> None:
        """Abort what is open and let go of the client."""
        if self._open:
            try:
                self._producer.client.abort_transaction(_CLOSE_S)
            except confluent().KafkaException:
                # The broker aborts it when the id is used again, or when its time is over.
                self._producer.client.purge()
        self._producer.close(0.0)

    def _consumer(self) -> Any:
        ours = {"group.id": self.id, "enable.auto.commit": "false", "log_level": 2}
        shared = {k: v for k, v in self._settings.items() if k.startswith(_SHARED)}
        return confluent().Consumer({**shared, **ours, "isolation.level": "read_committed"})

    def _group_metadata(self) -> Any:
        if self._group is None:
            consumer = self._consumer()
            self._group = consumer.consumer_group_metadata()
            consumer.close()
        return self._group

    def _waiting(self, request: Callable[[], Any]) -> Any:
        try:
            return self._producer.waiting(request)
        except confluent().KafkaException as error:
            raise self._lost(error.args[0]) from error

    def _lost(self, problem: Any) -> KafkaError:
        return KafkaError(
            f"{self._what}: the transaction of {self.id} is lost: {problem.str()}. Another process "
            "uses the same transactional id prefix, or the transaction took longer than "
            "transaction.timeout.ms; after a restart it is written again from the checkpoint"
        )


_SHARED = ("bootstrap.", "security.", "sasl.", "ssl.", "client.", "socket.", "metadata.", "api.")


class TransactionalWriter(SerializingWriter):
    """Writes into a transaction until the checkpoint, and keeps what it wrote for it."""

    def __init__(
        self,
        transactions: Transactions,
        schema: KafkaRecordSerializationSchema,
        context: WriterContext,
    ) -> None:
        super().__init__(schema, context)
        self._transactions = transactions
        self._current: TransactionalProducer | None = None
        self._written: list[Messages] = []

    def open(self) -> None:
        self._transactions.open()
        self._current = self._transactions.begin()
        self.open_schema(self._current.client)

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        if self._current is None:
            self._current = self._transactions.begin()
        for messages in self.messages(values, timestamps, self._current.client):
            self._current.produce(messages)
            self._written.append(messages)

    def flush(self, end_of_input: bool) -> None:
        if self._current is not None:
            self._current.client.client.poll(0)
            self._current.client.check()

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[Any]:
        if self._current is None or not self._written:
            return []
        committable = self._transactions.prepare(self._current, tuple(self._written))
        self._current, self._written = None, []
        return [committable]

    def snapshot(self) -> list[Any]:
        return [self._transactions.state()]

    def close(self) -> None:
        if self._current is not None:
            self._current.close()


class KafkaCommitter(Committer):
    """Commits transactions, in the order in which they were written."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def commit(self, committables: list[Any]) -> None:
        for committable in committables:
            self._transactions.commit(committable)

    def close(self) -> None:
        self._transactions.close()
