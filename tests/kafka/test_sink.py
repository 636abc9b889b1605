"""The Kafka sink against a real broker, without faults: what is in the topics afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, JobExecutionError
from headrace.common.serialization import SerializationSchema, SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    FlinkFixedPartitioner,
    HeaderProvider,
    KafkaPartitioner,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink
from tests.kafka.broker import Kafka
from tests.kafka.running import now_ms

GUARANTEES = list(DeliveryGuarantee)


class Text(SerializationSchema):
    """The text of a record; a negative number is a tombstone."""

    def serialize(self, element: Any) -> bytes | None:
        return None if element < 0 else str(element).encode()


class LastDigit(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element)[-1].encode()


def serializer(topic: str | None = None) -> Any:
    made = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(Text())
    return made.set_topic(topic) if topic else made


def sink(kafka: Kafka, schema: Any, guarantee: DeliveryGuarantee) -> KafkaSink:
    made = KafkaSink.builder().set_bootstrap_servers(kafka.servers).set_record_serializer(schema)
    made.set_delivery_guarantee(guarantee).set_transactional_id_prefix("test-sink")
    return made.build()


def write(to: KafkaSink, values: Any, parallelism: int = 2, **how: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.from_collection(values).rebalance().sink_to(to)
    run_in_process(env, clock=now_ms, **how)


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_every_record_arrives_with_its_key(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.topic(3)
    schema = serializer(topic).set_key_serialization_schema(LastDigit()).build()
    write(sink(kafka, schema, guarantee), range(2000), epoch_records=300)
    kafka.wait_until_settled(topic)
    found = kafka.read(topic)
    assert sorted(int(m.value()) for m in found) == list(range(2000))
    assert all(m.key() == m.value()[-1:] for m in found)
    by_key: dict[bytes, set[int]] = {}
    for message in found:
        by_key.setdefault(message.key(), set()).add(message.partition())
    assert all(len(partitions) == 1 for partitions in by_key.values())


@pytest.mark.parametrize("guarantee", [g for g in GUARANTEES if g is not DeliveryGuarantee.NONE])
def test_records_are_written_once_although_the_job_is_restored_again_and_again(
    kafka: Kafka, guarantee: DeliveryGuarantee
) -> None:
    topic = kafka.topic(2)
    to = sink(kafka, serializer(topic).build(), guarantee)
    write(to, range(1000), epoch_records=70, restore_after=range(1, 15, 2))
    kafka.wait_until_settled(topic)
    assert sorted(map(int, kafka.values(topic))) == list(range(1000))


def test_a_key_is_in_the_partition_where_the_java_client_puts_it(kafka: Kafka) -> None:
    """Partition numbers that the murmur2 hash of Kafka's own clients gives for these keys."""
    topic = kafka.topic(10)
    schema = serializer(topic).set_key_serialization_schema(LastDigit()).build()
    write(sink(kafka, schema, DeliveryGuarantee.AT_LEAST_ONCE), range(10))
    assert {int(m.key()): m.partition() for m in kafka.read(topic)} == {
        int(digit): _murmur2(digit.encode()) % 10 for digit in "0123456789"
    }


def _murmur2(data: bytes) -> int:
    """The hash as Kafka defines it, for the test alone."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


class ByParity(KafkaTopicSelector):
    def __init__(self, topics: list[str]) -> None:
        self.topics = topics

    def apply(self, data: Any) -> str:
        return self.topics[data % 2]


def test_topics_by_selector_and_partitions_by_partitioner(kafka: Kafka) -> None:
    even, odd = kafka.topic(4), kafka.topic(2)

    class Fourth(KafkaPartitioner):
        def partition(
            self, record: Any, key: Any, value: Any, target_topic: str, partitions: Sequence[int]
        ) -> int:
            assert value == str(record).encode()
            return record // 2 % len(partitions)

    schema = serializer().set_topic_selector(ByParity([even, odd])).set_partitioner(Fourth())
    write(sink(kafka, schema.build(), DeliveryGuarantee.AT_LEAST_ONCE), range(40))
    for topic, partitions, numbers in ((even, 4, range(0, 40, 2)), (odd, 2, range(1, 40, 2))):
        found = {int(m.value()): m.partition() for m in kafka.read(topic)}
        assert found == {n: n // 2 % partitions for n in numbers}


def test_a_subtask_can_have_a_partition_of_its_own(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    schema = serializer(topic).set_partitioner(FlinkFixedPartitioner()).build()
    write(sink(kafka, schema, DeliveryGuarantee.AT_LEAST_ONCE), range(20))
    partitions = [m.partition() for m in kafka.read(topic)]
    assert sorted(partitions) == [0] * 10 + [1] * 10


class Headers(HeaderProvider):
    def get_headers(self, element: Any) -> Any:
        return [("number", str(element).encode()), ("empty", None)]


def test_headers_tombstones_and_event_times(kafka: Kafka) -> None:
    # The broker would remove records of 1970 as soon as it looks for old ones.
    topic = kafka.topic(retention_ms="-1")
    schema = serializer(topic).set_header_provider(Headers())
    schema.set_key_serialization_schema(LastDigit())
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: 5_000 + value
    )
    stream = env.from_collection([1, -2]).assign_timestamps_and_watermarks(strategy)
    stream.sink_to(sink(kafka, schema.build(), DeliveryGuarantee.AT_LEAST_ONCE))
    run_in_process(env, clock=now_ms)
    one, two = kafka.read(topic)
    assert (one.key(), one.value(), one.timestamp()[1]) == (b"1", b"1", 5_001)
    assert one.headers() == [("number", b"1"), ("empty", None)]
    assert (two.key(), two.value(), two.timestamp()[1]) == (b"2", None, 4_998)


# Wrong programs.


def test_an_unknown_topic_is_named(kafka: Kafka) -> None:
    to = sink(kafka, serializer("no-such-topic").build(), DeliveryGuarantee.AT_LEAST_ONCE)
    with pytest.raises(JobExecutionError, match=r"topic 'no-such-topic' does not exist.*create it"):
        write(to, [1])


def test_a_record_that_is_too_large_is_refused_with_advice(kafka: Kafka) -> None:
    topic = kafka.topic(max_message_bytes="2000")

    class Wide(SerializationSchema):
        def serialize(self, element: Any) -> bytes:
            return b"x" * element

    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    schema.set_value_serialization_schema(Wide())
    for size in (5_000, 5_000_000):
        with pytest.raises(JobExecutionError, match=r"max.request.size"):
            write(sink(kafka, schema.build(), DeliveryGuarantee.AT_LEAST_ONCE), [10, size])


def test_a_record_that_cannot_be_serialized_is_named(kafka: Kafka) -> None:
    schema = KafkaRecordSerializationSchema.builder().set_topic(kafka.topic())
    schema.set_value_serialization_schema(SimpleStringSchema())
    with pytest.raises(JobExecutionError) as caught:
        write(sink(kafka, schema.build(), DeliveryGuarantee.AT_LEAST_ONCE), ["a", 17, "b"])
    assert caught.value.record == "17"
    assert "SimpleStringSchema writes str" in str(caught.value)


def test_a_partition_that_is_not_there_is_refused(kafka: Kafka) -> None:
    class Ninth(KafkaPartitioner):
        def partition(self, *_: Any) -> int:
            return 9

    topic = kafka.topic()
    schema = serializer(topic).set_partitioner(Ninth()).build()
    with pytest.raises(JobExecutionError, match="chose partition 9"):
        write(sink(kafka, schema, DeliveryGuarantee.AT_LEAST_ONCE), [1])


SCHEMA = serializer("a").build()


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda b: b.build(), GraphError, "set_record_serializer"),
        (lambda b: b.set_record_serializer(Text()), FunctionTypeError, "RecordSerialization"),
        (lambda b: b.set_delivery_guarantee("exactly-once"), FunctionTypeError, "Guarantee"),
        (lambda b: b.set_bootstrap_servers(""), FunctionTypeError, "non-empty"),
        (
            lambda b: (
                b.set_record_serializer(SCHEMA)
                .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .build()
            ),
            GraphError,
            "set_transactional_id_prefix",
        ),
        (
            lambda b: b.set_record_serializer(SCHEMA).set_property("acks", "some").build(),
            GraphError,
            "acks",
        ),
        (lambda b: serializer().build(), GraphError, "set_topic"),
        (lambda b: serializer("a").set_topic_selector(str), GraphError, "only once"),
        (lambda b: serializer().set_topic_selector("a"), FunctionTypeError, "callable"),
        (lambda b: serializer().set_partitioner(max), FunctionTypeError, "KafkaPartitioner"),
        (lambda b: serializer().set_header_provider(max), FunctionTypeError, "HeaderProvider"),
        (
            lambda b: serializer().set_key_serialization_schema(str),
            FunctionTypeError,
            "SerializationSchema",
        ),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_given(
    wrong: Any, error: Any, says: str
) -> None:
    with pytest.raises(error, match=says):
        wrong(KafkaSink.builder().set_bootstrap_servers("localhost:1"))


@pytest.mark.parametrize("guarantee", [g for g in GUARANTEES if g is not DeliveryGuarantee.NONE])
def test_the_sink_keeps_the_contract(kafka: Kafka, guarantee: DeliveryGuarantee) -> None:
    topics: list[str] = []

    def read() -> list[int]:
        kafka.wait_until_settled(topics[-1])
        return [int(m.value()) for m in kafka.read(topics[-1])]

    check_sink(
        lambda: sink(kafka, serializer(topics[-1]).build(), guarantee),
        list(range(60)),
        Types.LONG(),
        read=read,
        clear=lambda: topics.append(kafka.topic(2)),
        guarantee=guarantee,
        parallelisms=(2,),
        epoch_records=12,
    )
