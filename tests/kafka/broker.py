"""What tests do with a broker besides running jobs: topics, records in, records out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tools.kafka_broker import KafkaBroker

_numbers = itertools.count(1)
LIMIT_S = 120.0


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what a broker or another thread does in its own time."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


class Kafka:
    """A broker, with what a test needs of it."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.broker = broker
        self.servers = broker.bootstrap_servers
        self._admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def topic(self, partitions: int = 1, name: str | None = None, **config: str) -> str:
        """Create a topic, of a name that no other test has unless one is given."""
        name = name or f"topic-{next(_numbers)}"
        # Records of tests may have timestamps of long ago, and yet must not be dropped.
        settings = {"retention.ms": "-1"} | {k.replace("_", "."): v for k, v in config.items()}
        new = NewTopic(name, partitions, 1, config=settings)
        self._admin.create_topics([new])[name].result(LIMIT_S)
        return name

    def add_partitions(self, topic: str, total: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(LIMIT_S)

    def delete_topic(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(LIMIT_S)

    def delete_records_before(self, topic: str, partition: int, offset: int) -> None:
        """Do what retention does."""
        where = TopicPartition(topic, partition, offset)
        for future in self._admin.delete_records([where]).values():
            future.result(LIMIT_S)

    def write(
        self,
        topic: str,
        values: Iterable[Any],
        partition: int = 0,
        **fields: Any,
    ) -> None:
        """Write values, each as text unless it is bytes or None."""
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5})
        for value in values:
            data = value if isinstance(value, bytes | None) else str(value).encode()
            producer.produce(topic, data, partition=partition, **fields)
        assert producer.flush(LIMIT_S) == 0

    def fill(self, topic: str, start: int, end: int) -> None:
        """Write the numbers of a range, spread over the partitions."""
        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "linger.ms": 20,
                "queue.buffering.max.messages": 2_000_000,
            }
        )
        partitions = len(self._partitions(topic))
        for number in range(start, end):
            producer.produce(topic, str(number).encode(), None, number % partitions)
        assert producer.flush(LIMIT_S) == 0

    def read(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages of a topic that a reader of committed records sees."""
        consumer = self._consumer("headrace-tests", isolation)
        partitions = self._partitions(topic)
        ends = self._ends(consumer, topic)
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        open_ends = {p for p, end in ends.items() if end > 0}
        found = []
        deadline = time.monotonic() + LIMIT_S
        while open_ends:
            assert time.monotonic() < deadline, f"{topic} could not be read to its end"
            for message in consumer.consume(10_000, 0.5):
                if message.error() is None:
                    found.append(message)
                if message.offset() + (message.error() is None) >= ends[message.partition()]:
                    open_ends.discard(message.partition())
        consumer.close()
        return found

    def wait_until_settled(self, topic: str) -> None:
        """Wait until no transaction is open: a commit is answered before all can see it."""
        readers = [self._consumer("headrace-tests", f"read_{kind}committed") for kind in ("", "un")]
        deadline = time.monotonic() + LIMIT_S
        while self._ends(readers[0], topic) != self._ends(readers[1], topic):
            assert time.monotonic() < deadline, f"a transaction is open in {topic}"
            time.sleep(0.05)
        for reader in readers:
            reader.close()

    def _ends(self, consumer: Consumer, topic: str) -> dict[int, int]:
        asked = [TopicPartition(topic, p, -1) for p in self._partitions(topic)]
        found = consumer.offsets_for_times(asked, timeout=LIMIT_S)
        return {p.partition: p.offset for p in found}

    def values(self, topic: str, isolation: str = "read_committed") -> list[str]:
        """The values of a topic, as text."""
        return [message.value().decode() for message in self.read(topic, isolation)]

    def wait_for_values(self, topic: str, expected: list[str]) -> None:
        """Assert what a topic holds, in any order; the last of it may take a moment to be seen."""
        deadline = time.monotonic() + LIMIT_S
        while (found := sorted(self.values(topic))) != sorted(expected):
            assert time.monotonic() < deadline, f"{topic} holds {found}, not {sorted(expected)}"
            time.sleep(0.1)

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """What a group has committed; negative if nothing."""
        consumer = self._consumer(group, "read_committed")
        [answer] = consumer.committed([TopicPartition(topic, partition)], timeout=LIMIT_S)
        consumer.close()
        return int(answer.offset)

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        consumer = self._consumer(group, "read_committed")
        consumer.commit(offsets=[TopicPartition(topic, partition, offset)], asynchronous=False)
        consumer.close()

    def _partitions(self, topic: str) -> list[int]:
        return list(self._admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions)

    def _consumer(self, group: str, isolation: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": group,
                "enable.auto.commit": False,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
