"""The Kafka source against a real broker: what is read, from where to where, and when it fails."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, GraphError, JobExecutionError
from headrace.common.serialization import DeserializationSchema, SimpleStringSchema
from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.kafka import (
    ConsumerRecord,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from headrace.datastream.connectors.kafka.client import KafkaError
from headrace.datastream.functions import ProcessFunction
from headrace.datastream.output_tag import OutputTag
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_source
from tests.kafka.broker import Kafka, wait_until
from tests.kafka.running import Running, now_ms
from tests.unit.datastream.connectors.reading import FakeReaderContext, opened

NO_WATERMARKS = WatermarkStrategy.no_watermarks()
Offsets = KafkaOffsetsInitializer


def builder(kafka: Kafka, *topics: str) -> KafkaSourceBuilder:
    made = (
        KafkaSource.builder()
        .set_bootstrap_servers(kafka.servers)
        .set_value_only_deserializer(SimpleStringSchema())
    )
    return made.set_topics(*topics) if topics else made


def read(
    source: KafkaSource, strategy: Any = NO_WATERMARKS, parallelism: int = 1, **how: Any
) -> list[Any]:
    """All records of a bounded source."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    stream = env.from_source(source, strategy, "kafka")
    return run_in_process(env, {"records": stream}, clock=now_ms, **how)["records"]


def to_the_end(made: KafkaSourceBuilder) -> KafkaSource:
    return made.set_bounded(Offsets.latest()).build()


def test_all_partitions_of_topics_are_read_in_their_order(kafka: Kafka) -> None:
    one, two = kafka.topic(3), kafka.topic()
    for partition in range(3):
        kafka.write(one, (f"{partition}:{i}" for i in range(500)), partition)
    kafka.write(two, ["last"])
    rows = read(to_the_end(builder(kafka, one, two)), parallelism=2, epoch_records=100)
    assert len(rows) == 1501
    for partition in range(3):
        mine = [row for row in rows if row.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{i}" for i in range(500)]


def test_topics_by_pattern_and_single_partitions(kafka: Kafka) -> None:
    first, _, other = (kafka.topic(2, name=f"pattern-{n}") for n in ("a1", "a2", "b1"))
    kafka.write(first, ["a"])
    kafka.write(other, ["b0"], 0)
    kafka.write(other, ["b1"], 1)
    assert read(to_the_end(builder(kafka).set_topic_pattern("pattern-a.*"))) == ["a"]
    only = builder(kafka).set_partitions({KafkaTopicPartition(other, 1)})
    assert read(to_the_end(only)) == ["b1"]


def test_starting_and_stopping_offsets(kafka: Kafka) -> None:
    topic = kafka.topic()
    for i in range(10):
        kafka.write(topic, [i], timestamp=1_000 + i)
    kafka.commit("starting", topic, 4)
    partition = KafkaTopicPartition(topic, 0)

    def between(start: Offsets, stop: Offsets | None = None) -> list[int]:
        made = builder(kafka, topic).set_group_id("starting").set_starting_offsets(start)
        return [int(row) for row in read(made.set_bounded(stop or Offsets.latest()).build())]

    assert between(Offsets.earliest()) == list(range(10))
    assert between(Offsets.latest()) == []
    assert between(Offsets.committed_offsets()) == [4, 5, 6, 7, 8, 9]
    assert between(Offsets.timestamp(1_007)) == [7, 8, 9]
    assert between(Offsets.timestamp(99_000)) == []
    assert between(Offsets.offsets({partition: 8})) == [8, 9]
    assert between(Offsets.earliest(), Offsets.offsets({partition: 3})) == [0, 1, 2]
    assert between(Offsets.earliest(), Offsets.timestamp(1_005)) == [0, 1, 2, 3, 4]
    assert between(Offsets.earliest(), Offsets.committed_offsets()) == [0, 1, 2, 3]
    assert between(Offsets.offsets({partition: 5}), Offsets.offsets({partition: 5})) == []


def test_committed_offsets_that_are_not_there(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, ["a", "b"])

    def start(strategy: KafkaOffsetResetStrategy) -> list[str]:
        offsets = Offsets.committed_offsets(strategy)
        made = builder(kafka, topic).set_group_id("nobody").set_starting_offsets(offsets)
        return read(to_the_end(made))

    assert start(KafkaOffsetResetStrategy.EARLIEST) == ["a", "b"]
    assert start(KafkaOffsetResetStrategy.LATEST) == []
    with pytest.raises(Exception, match=r"has no committed offset.*offset reset strategy"):
        start(KafkaOffsetResetStrategy.NONE)


class Everything(KafkaRecordDeserializationSchema):
    def open(self) -> None:
        self.seen = 0

    def deserialize(self, record: ConsumerRecord) -> Any:
        self.seen += 1
        if record.value is None:
            return
        yield self.seen, record.key, record.value, record.headers, record.timestamp
        if record.value == b"twice":
            yield "again"


def test_keys_headers_timestamps_and_tombstones(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, ["one"], key=b"k", headers=[("h", b"x"), ("h", None)], timestamp=5)
    kafka.write(topic, [None], key=b"k")
    kafka.write(topic, ["twice"], timestamp=7)
    source = to_the_end(builder(kafka, topic).set_deserializer(Everything()))
    assert read(source) == [
        (1, b"k", b"one", (("h", b"x"), ("h", None)), 5),
        (3, None, b"twice", (), 7),
        "again",
    ]


class Timestamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_every_partition_has_its_own_watermark(kafka: Kafka) -> None:
    """Out of order between partitions, in order within each: nothing may come out late."""
    topic = kafka.topic(2)
    for i in range(100):
        kafka.write(topic, [f"ahead {i}"], 0, timestamp=1_000_000 + i)
        kafka.write(topic, [f"behind {i}"], 1, timestamp=1 + i)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.get_config().set_auto_watermark_interval(1)
    stream = env.from_source(
        to_the_end(builder(kafka, topic)), WatermarkStrategy.for_monotonous_timestamps(), "kafka"
    )
    result = run_in_process(
        env, {"rows": stream.process(Timestamps())}, clock=now_ms, epoch_records=10
    )["rows"]
    assert len(result) == 200
    assert [row for row in result if row[1] <= row[2]] == []


def test_a_partition_without_records_holds_the_watermark_back_until_it_is_idle(
    kafka: Kafka,
) -> None:
    topic = kafka.topic(2)
    kafka.write(topic, [0, 1], 0, timestamp=50)
    strategy = WatermarkStrategy.for_monotonous_timestamps()

    def running(strategy: WatermarkStrategy) -> Running:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        env.get_config().set_auto_watermark_interval(1)
        return Running(env, env.from_source(builder(kafka, topic).build(), strategy, "kafka"))

    with running(strategy) as job:
        job.run_until(lambda: len(job.rows) == 2)
        job.run(0.5)
        assert job.watermark < 0
    with running(strategy.with_idleness(Duration.of_millis(200))) as job:
        job.run_until(lambda: job.watermark == 49)


def test_positions_are_exact_wherever_the_job_is_restored(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    for partition in range(2):
        kafka.write(topic, range(partition * 1000, partition * 1000 + 400), partition)
    rows = read(to_the_end(builder(kafka, topic)), epoch_records=37, restore_after=range(1, 40, 2))
    assert sorted(map(int, rows)) == [*range(400), *range(1000, 1400)]


def test_a_restored_job_goes_on_where_transactions_left_marks(kafka: Kafka) -> None:
    """Offsets of a partition with transactions have gaps, and its end is behind the last record."""
    from confluent_kafka import Producer

    topic = kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": f"marks-{topic}"})
    producer.init_transactions()
    for i in range(6):
        producer.begin_transaction()
        producer.produce(topic, str(i).encode())
        producer.flush()
        if i % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    made = builder(kafka, topic).set_property("isolation.level", "read_committed")
    assert read(to_the_end(made), epoch_records=1, restore_after=range(1, 9)) == ["0", "2", "4"]
    assert read(to_the_end(builder(kafka, topic))) == ["0", "1", "2", "3", "4", "5"]


def test_offsets_are_committed_to_the_group_when_a_checkpoint_is_complete(kafka: Kafka) -> None:
    topic = kafka.topic(2)
    kafka.write(topic, range(10))
    kafka.write(topic, ["after the end of the source"])
    stop = Offsets.offsets({KafkaTopicPartition(topic, 0): 10}, KafkaOffsetResetStrategy.LATEST)
    source = builder(kafka, topic).set_group_id("commits").set_bounded(stop).build()
    reader = opened(source)
    taken = 0
    while taken < 5:
        batch = reader.poll(5)
        taken += len(batch.values) if batch else 0
    reader.on_checkpoint(1)
    assert kafka.committed("commits", topic) < 0
    reader.on_checkpoint_complete(1)
    wait_until(lambda: kafka.committed("commits", topic) == taken)
    while not reader.exhausted:
        reader.poll(1000)
    reader.on_checkpoint(2)
    reader.on_checkpoint(3)
    reader.on_checkpoint_complete(3)
    reader.close()
    wait_until(lambda: kafka.committed("commits", topic) == 10)
    assert kafka.committed("commits", topic, 1) < 0


def test_partitions_with_unread_records_are_not_idle(kafka: Kafka) -> None:
    topic = kafka.topic(3)
    kafka.write(topic, range(100), partition=0)
    kafka.write(topic, range(5), partition=1)
    context = FakeReaderContext()
    context.finds_idleness = True
    reader = opened(builder(kafka, topic).build(), context)
    taken = dict.fromkeys(range(3), 0)
    drained: set[str] = set()
    while len(drained) < 3:
        batch = reader.poll(1)
        if batch is not None:
            taken[int(batch.split_id[-1])] += 1
        now = set(reader.drained_splits() or ())
        for split in now - drained:
            assert taken[int(split[-1])] == {0: 100, 1: 5, 2: 0}[int(split[-1])]
        drained = now
    kafka.write(topic, ["more"], partition=1)
    while reader.poll(1) is None:
        pass
    assert f"{topic}-1" not in reader.drained_splits()
    reader.close()


def test_offsets_are_committed_while_the_input_pauses(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, range(7))
    context = FakeReaderContext()
    reader = opened(builder(kafka, topic).set_group_id("pauses").build(), context)
    taken = 0
    while taken < 7 or reader.poll(1000) is not None:
        batch = reader.poll(1000)
        taken += len(batch.values) if batch else 0
    # From here on a thread waits for the next message.
    for checkpoint in (1, 2):
        reader.on_checkpoint(checkpoint)
        told = threading.Thread(target=reader.on_checkpoint_complete, args=(checkpoint,))
        told.daemon = True
        told.start()
        wait_until(lambda told=told: not told.is_alive())
    wait_until(lambda: kafka.committed("pauses", topic) == 7)
    woken = context.wake_ups
    kafka.write(topic, ["one more"])
    wait_until(lambda: context.wake_ups > woken)
    assert reader.poll(1000).values == ["one more"]
    reader.close()


def test_an_unbounded_source_with_stopping_offsets_ends(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, range(3))
    source = (
        builder(kafka, topic)
        .set_unbounded(Offsets.latest())
        .set_property("partition.discovery.interval.ms", "-1")
        .build()
    )
    assert not source.bounded
    assert read(source) == ["0", "1", "2"]


# Wrong programs.


class Numbers(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return None if message == b"skip" else int(message)


def test_messages_that_cannot_be_deserialized_are_set_aside(kafka: Kafka) -> None:
    topic, failed = kafka.topic(), OutputTag("failed")
    kafka.write(topic, [1, "x", 2], timestamp=7)
    source = to_the_end(builder(kafka, topic).set_value_only_deserializer(Numbers()))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_source(source, NO_WATERMARKS, "kafka").on_error(failed)
    streams = {"good": stream, "bad": stream.get_side_output(failed)}
    result = run_in_process(env, streams, clock=now_ms)
    assert result["good"] == [1, 2]
    assert [(b.record, b.error_type, b.timestamp) for b in result["bad"]] == [
        (b"x", "ValueError", 7)
    ]


def test_a_message_that_cannot_be_deserialized_is_named(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, [1, "skip", 2, "three"])
    source = to_the_end(builder(kafka, topic).set_value_only_deserializer(Numbers()))
    with pytest.raises(JobExecutionError) as caught:
        read(source)
    for part in ("offset 3", f"topic '{topic}'", "b'three'", "return None to skip", "ValueError"):
        assert part in str(caught.value)


def test_messages_for_which_a_schema_returns_none_are_skipped(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, [1, "skip", 2])
    assert read(to_the_end(builder(kafka, topic).set_value_only_deserializer(Numbers()))) == [1, 2]


def test_an_unknown_topic_or_partition_is_named_with_those_that_are_there(kafka: Kafka) -> None:
    topic = kafka.topic()
    with pytest.raises(Exception, match=r"no topic 'ordres'; there are: .*topic-"):
        read(to_the_end(builder(kafka, "ordres")))
    wrong = builder(kafka).set_partitions({KafkaTopicPartition(topic, 7)})
    with pytest.raises(Exception, match=r"has no partition 7: it has 1"):
        read(to_the_end(wrong))


def test_offsets_that_retention_has_deleted(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.write(topic, range(10))
    kafka.delete_records_before(topic, 0, 6)
    partition = KafkaTopicPartition(topic, 0)

    def start(strategy: KafkaOffsetResetStrategy) -> list[str]:
        offsets = Offsets.offsets({partition: 2}, strategy)
        return read(to_the_end(builder(kafka, topic).set_starting_offsets(offsets)))

    assert start(KafkaOffsetResetStrategy.EARLIEST) == ["6", "7", "8", "9"]
    with pytest.raises(JobExecutionError) as caught:
        start(KafkaOffsetResetStrategy.NONE)
    for part in ("from offset 2", "has 6 to 10", "auto.offset.reset", "savepoint"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "error", "says"),
    [
        (lambda b: b.set_topics(), GraphError, "at least one"),
        (lambda b: b.set_topics("a", 3), FunctionTypeError, "not 3"),
        (lambda b: b.set_topics("a").set_topic_pattern("b"), GraphError, "only once"),
        (lambda b: b.set_topic_pattern("("), GraphError, "is invalid"),
        (lambda b: b.set_partitions({("a", 1)}), FunctionTypeError, "not a KafkaTopicPartition"),
        (lambda b: b.set_starting_offsets("earliest"), FunctionTypeError, "Initializer"),
        (lambda b: b.set_bounded(Offsets.earliest()), GraphError, "read nothing"),
        (lambda b: b.set_value_only_deserializer(str), FunctionTypeError, "DeserializationSchema"),
        (lambda b: b.set_deserializer(SimpleStringSchema()), FunctionTypeError, "value_only"),
        (lambda b: b.set_properties({"auto.offset.reset": "oldest"}), GraphError, "'earliest'"),
        (lambda b: b.set_properties([("a", "b")]), FunctionTypeError, "dict"),
        (lambda b: Offsets.timestamp(-1), GraphError, "negative"),
        (lambda b: Offsets.timestamp("now"), FunctionTypeError, "milliseconds"),
        (lambda b: Offsets.offsets({"a": 1}), FunctionTypeError, "KafkaTopicPartition"),
        (lambda b: Offsets.committed_offsets("EARLIEST"), FunctionTypeError, "ResetStrategy"),
        (lambda b: KafkaTopicPartition("a", -1), GraphError, "start at 0"),
        (lambda b: b.build(), GraphError, "set_topics"),
        (
            lambda b: b.set_topics("a").set_starting_offsets(Offsets.committed_offsets()).build(),
            GraphError,
            "set_group_id",
        ),
        (
            lambda b: b.set_topics("a").set_property("fetch.min.bytes", "few").build(),
            GraphError,
            "fetch.min.bytes",
        ),
        (
            lambda b: b.set_topics("a").set_property("sasl.mechanisn", "PLAIN").build(),
            GraphError,
            "has no property 'sasl.mechanisn', and access may depend on it",
        ),
        (
            lambda b: b.set_topics("a").set_property("ssl.truststore.location", "x.jks").build(),
            GraphError,
            "PEM",
        ),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_given(
    wrong: Any, error: Any, says: str
) -> None:
    made = (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:1")
        .set_value_only_deserializer(SimpleStringSchema())
    )
    with pytest.raises(error, match=says):
        wrong(made)


def test_settings_of_the_java_client_are_understood() -> None:
    from headrace.datastream.connectors.kafka.client import client_settings

    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" '
    assert client_settings(
        {
            "sasl.jaas.config": jaas + 'password="p;q";',
            "key.deserializer": "org.example.Text",
            "max.poll.records": "500",
            "metrics.recording.level": "INFO",
            "partition.assignment.strategy": "org.example.Range",
            "ssl.truststore.type": "PEM",
            "fetch.max.wait.ms": "5",
            "buffer.memory": "33554432",
            "linger.ms": "1",
        }
    ) == {
        "sasl.username": "u",
        "sasl.password": "p;q",
        "fetch.wait.max.ms": "5",
        "queue.buffering.max.kbytes": 32768,
        "linger.ms": "1",
    }


def test_a_property_that_nobody_knows_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    made = (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:1")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_topics("a")
        .set_properties({"fetch.mim.bytes": "1", "fetch.min.bytes": "2", "our.own": "x"})
        .build()
    )
    settings = made.consumer_settings("0")
    assert settings["fetch.min.bytes"] == "2"
    assert not {"fetch.mim.bytes", "our.own"} & set(settings)
    for name in ("fetch.mim.bytes", "our.own"):
        assert f"Kafka's client has no property {name!r}: it has no effect" in caplog.text


def test_a_broker_can_be_tried_before_a_job_runs(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=3)
    assert builder(kafka, topic).build().probe() == f"3 partitions of Kafka at {kafka.servers}"
    with pytest.raises(KafkaError, match="no_such_topic"):
        builder(kafka, "no_such_topic").build().probe()
    away = builder(kafka, topic).set_bootstrap_servers("127.0.0.1:1").build()
    with pytest.raises(KafkaError, match="cannot be reached"):
        away.probe()


def test_the_source_keeps_the_contract(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=3)
    messages = [f"m{i}" for i in range(60)]
    for partition in range(3):
        kafka.write(topic, messages[partition::3], partition)

    def make() -> KafkaSource:
        bounded = builder(kafka, topic).set_starting_offsets(Offsets.earliest())
        return bounded.set_bounded(Offsets.latest()).build()

    check_source(make, messages, parallelisms=(2,), epoch_records=5)
