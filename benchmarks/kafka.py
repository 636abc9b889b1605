"""From Kafka to Kafka with a keyed count, against a bare loop of the same client and a dict."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.cases import Settings
from benchmarks.measure import Result, alternate, middle_ratio, timed
from benchmarks.peers import environments as peers
from benchmarks.programs import PARALLELISM, environment
from headrace.common import SimpleStringSchema, Types, WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor

KEYS = 1_000
PARTITIONS = 4
BATCH = 10_000
LIMIT_S = 120.0
CONNECTOR = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"

_numbers = itertools.count(1)


class Topics:
    """The topics of one broker."""

    def __init__(self, servers: str) -> None:
        from confluent_kafka.admin import AdminClient

        self.servers = servers
        self._admin = AdminClient({"bootstrap.servers": servers})

    def create(self) -> str:
        from confluent_kafka.admin import NewTopic

        name = f"topic-{next(_numbers)}"
        # Records keep their event times on the way; the rate is that of their arrival.
        config = {"message.timestamp.type": "LogAppendTime"}
        new = NewTopic(name, PARTITIONS, 1, config=config)
        self._admin.create_topics([new])[name].result(LIMIT_S)
        return name

    def filled(self, records: int) -> str:
        """A topic with numbers, evenly spread over its partitions."""
        return self.filled_with(b"%d" % number for number in range(records))

    def filled_with(self, messages: Iterable[bytes]) -> str:
        """A topic with messages, evenly spread over its partitions."""
        from confluent_kafka import Producer

        topic = self.create()
        producer = Producer(
            {"bootstrap.servers": self.servers, "queue.buffering.max.messages": 10_000_000}
        )
        for number, message in enumerate(messages):
            producer.produce(topic, message, None, number % PARTITIONS)
        assert producer.flush(LIMIT_S) == 0
        return topic

    def size(self, topic: str) -> int:
        """Offsets used, those of transaction marks included."""
        return sum(end for _, end in self._ends(topic))

    def _ends(self, topic: str) -> list[tuple[Any, int]]:
        from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "benchmark"})
        partitions = [TopicPartition(topic, p) for p in range(PARTITIONS)]
        deadline = time.monotonic() + LIMIT_S
        while True:
            try:
                ends = [consumer.get_watermark_offsets(p, timeout=LIMIT_S)[1] for p in partitions]
                break
            except KafkaException as error:
                # Just after it was made, the broker may not know that it leads the topic.
                unknown = error.args[0].code() != KafkaError.NOT_LEADER_FOR_PARTITION
                if unknown or time.monotonic() > deadline:
                    raise
        consumer.close()
        return list(zip(partitions, ends, strict=True))

    def steady_rate(self, topic: str) -> float:
        """Messages per second by their timestamps, without the first tenth."""
        from confluent_kafka import Consumer, TopicPartition

        ends = self._ends(topic)
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "benchmark"})
        consumer.assign([TopicPartition(topic, p.partition, 0) for p, _ in ends])
        left, times = sum(end for _, end in ends), []
        while left > 0:
            messages = consumer.consume(BATCH, 1.0)
            left -= len(messages)
            times += [m.timestamp()[1] for m in messages]
        consumer.close()
        times.sort()
        warm = times[len(times) // 10 :]
        return len(warm) / max((warm[-1] - warm[0]) / 1000, 0.001)


def bare(servers: str, source: str, target: str, records: int) -> None:
    """Read, count in a dict, write: what a programmer would do without a streaming engine."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "bare", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(source, p, 0) for p in range(PARTITIONS)])
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "queue.buffering.max.messages": 10_000_000,
        }
    )
    counts: dict[int, int] = {}
    left = records
    while left:
        for message in consumer.consume(min(BATCH, left), 1.0):
            key = int(message.value().decode()) % KEYS
            count = counts.get(key, 0) + 1
            counts[key] = count
            producer.produce(target, f"{key},{count}".encode())
            left -= 1
        producer.poll(0)
    assert producer.flush(LIMIT_S) == 0
    consumer.close()


class Count(KeyedProcessFunction):
    """The running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()},{count}"


def program(
    servers: str, source: str, target: str, guarantee: DeliveryGuarantee, interval: str
) -> None:
    """The same as a job of headrace, with checkpoints."""
    env = environment({"execution.checkpointing.interval": interval})
    read = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source)
        .set_group_id("headrace")
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    schema = KafkaRecordSerializationSchema.builder().set_topic(target)
    write = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(target)
        .build()
    )
    stream = env.from_source(read, WatermarkStrategy.no_watermarks(), "numbers")
    stream.key_by(lambda value: int(value) % KEYS, Types.LONG()).process(Count()).sink_to(write)
    env.execute("kafka to kafka")


def kafka(settings: Settings) -> Iterator[Result]:
    """Kafka to Kafka with a keyed count, against a bare loop of the client with a dict."""
    try:
        from tools.kafka_broker import KafkaUnavailableError, running_broker
    except ImportError as error:
        raise peers.PeerUnavailableError(str(error)) from error
    try:
        with running_broker(fast_start=False) as broker:
            topics = Topics(broker.bootstrap_servers)
            yield from _against_bare(settings, topics)
            yield _against_pyflink(settings, topics)
    except KafkaUnavailableError as error:
        raise peers.PeerUnavailableError(str(error)) from error


def _against_bare(settings: Settings, topics: Topics) -> Iterator[Result]:
    records = settings.records(1_000_000)
    source = topics.filled(records)

    def theirs() -> float:
        target = topics.create()
        took = timed(lambda: bare(topics.servers, source, target, records))
        assert topics.size(target) == records
        return records / took

    for guarantee in (DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE):

        def ours(guarantee: DeliveryGuarantee = guarantee) -> float:
            target = topics.create()
            took = timed(lambda: program(topics.servers, source, target, guarantee, "2 s"))
            assert topics.size(target) >= records
            return records / took

        mine, other = alternate(ours, theirs, settings.rounds)
        yield Result(
            name=f"Kafka to Kafka, {guarantee.value}",
            peer="bare loop",
            unit="records/s",
            ours=statistics.median(mine),
            theirs=statistics.median(other),
            ratio=middle_ratio(mine, other),
            goal=0.7,
            samples={"headrace": mine, "bare": other, "records": records},
        )


def _against_pyflink(settings: Settings, topics: Topics) -> Result:
    python = peers.peer_python("pyflink", settings.pyflink_python)
    jar = connector_jar()
    few, records = settings.records(60_000), settings.records(1_000_000)
    source, target = topics.filled(few), topics.create()
    peers.pyflink_kafka(python, jar, topics.servers, source, target)
    assert topics.size(target) == few
    theirs = topics.steady_rate(target)
    source, target = topics.filled(records), topics.create()
    at_least = DeliveryGuarantee.AT_LEAST_ONCE
    mine = records / timed(lambda: program(topics.servers, source, target, at_least, "2 s"))
    return Result(
        name="Kafka to Kafka, at-least-once",
        peer="PyFlink 2.3",
        unit="records/s",
        ours=mine,
        theirs=theirs,
        ratio=mine / theirs,
        samples={"headrace": [mine], "PyFlink": [theirs], "subtasks": PARALLELISM},
    )


def connector_jar() -> Path:
    """Flink's connector for Kafka, fetched by Maven the first time."""
    from tools.kafka_broker import fetch_jar

    return fetch_jar(CONNECTOR)


CASES = {"kafka": kafka}
