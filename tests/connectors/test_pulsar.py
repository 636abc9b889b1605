"""Topics of a real Pulsar, in this process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import (
    FunctionTypeError,
    GraphError,
    HeadraceError,
    JobExecutionError,
)
from headrace.common.serialization import SimpleStringSchema
from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.pulsar import (
    MessageDelayer,
    PulsarSink,
    PulsarSinkBuilder,
    PulsarSource,
    PulsarSourceBuilder,
    RangeGenerator,
    StartCursor,
    StopCursor,
    TopicRoutingMode,
)
from headrace.datastream.functions import ProcessFunction
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import collect, run_in_process
from headrace.testing.connectors import check_sink, check_source
from tests.connectors.reading import Reading
from tests.faults import killed_slots
from tools.database_server import DatabaseUnavailableError
from tools.pulsar_broker import PulsarBroker

pulsar = pytest.importorskip("pulsar", reason="pip install 'headrace[pulsar]'")
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)
ONCE = "persistent://public/once"


class Topics:
    """A broker, and topics of tests in it."""

    def __init__(self, broker: PulsarBroker) -> None:
        self.broker = broker
        quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
        self.client = pulsar.Client(broker.service_url, logger=quiet)
        broker.ask("PUT", "namespaces/public/once")
        broker.ask("POST", "namespaces/public/once/deduplication", True)

    def new(self, partitions: int = 0, namespace: str = "persistent://public/default") -> str:
        name = f"{namespace}/t{next(_numbers)}-"
        path = name.replace("://", "/")
        if partitions:
            self.broker.ask("PUT", f"{path}/partitions", partitions)
        else:
            self.broker.ask("PUT", path)
        return name

    def put(self, topic: str, *texts: str, **more: Any) -> list[Any]:
        """Ids of messages that were published, one after the other."""
        producer = self.client.create_producer(topic)
        ids = [producer.send(text.encode(), **more) for text in texts]
        producer.close()
        return ids

    def messages(self, topic: str) -> list[Any]:
        """All that a topic has."""
        found = []
        for partition in self.client.get_topic_partitions(topic):
            reader = self.client.create_reader(partition, pulsar.MessageId.earliest)
            while reader.has_message_available():
                found.append(reader.read_next())
            reader.close()
        return found

    def texts(self, topic: str) -> list[str]:
        return [message.data().decode() for message in self.messages(topic)]

    def source(self, *topics: str) -> PulsarSourceBuilder:
        builder = PulsarSource.builder().set_service_url(self.broker.service_url)
        builder.set_admin_url(self.broker.admin_url)
        if topics:
            builder.set_topics(list(topics))
        builder.set_subscription_name(f"s{next(_numbers)}")
        return builder.set_deserialization_schema(SimpleStringSchema())

    def bounded(self, *topics: str) -> PulsarSourceBuilder:
        return self.source(*topics).set_bounded_stop_cursor(StopCursor.latest())

    def sink(self, topic: str) -> PulsarSinkBuilder:
        builder = PulsarSink.builder().set_service_url(self.broker.service_url)
        builder.set_admin_url(self.broker.admin_url).set_topics(topic)
        return builder.set_serialization_schema(SimpleStringSchema())


@pytest.fixture(scope="module")
def topics() -> Iterator[Topics]:
    try:
        broker = PulsarBroker()
        try:
            broker.start()
            made = Topics(broker)
            yield made
            made.client.close()
        finally:
            broker.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


def read(source: PulsarSource) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "topics")
    return collect(stream)


def write(sink: PulsarSink, values: list[str], parallelism: int = 1) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(values, Types.STRING())
    stream.sink_to(sink).set_parallelism(parallelism)
    run_in_process(env)


# Guarantees.


def test_a_source_gives_each_message_once(topics: Topics) -> None:
    topic = topics.new(3)
    texts = [str(i) for i in range(15)]
    topics.put(topic, *texts)
    check_source(lambda: topics.bounded(topic).build(), texts)


def test_a_source_counts_messages_within_batches(topics: Topics) -> None:
    topic = topics.new()
    producer = topics.client.create_producer(
        topic, batching_enabled=True, batching_max_publish_delay_ms=2_000
    )
    texts = [str(i) for i in range(25)]
    for text in texts:
        producer.send_async(text.encode(), None)
    producer.flush()
    assert {m.message_id().entry_id() for m in topics.messages(topic)} == {0}
    check_source(lambda: topics.bounded(topic).build(), texts, parallelisms=[1])


@pytest.mark.parametrize(
    "guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]
)
def test_a_sink_has_each_record(topics: Topics, guarantee: DeliveryGuarantee) -> None:
    target = [""]

    def new_topic() -> None:
        target[0] = topics.new(2, ONCE)

    check_sink(
        lambda: topics.sink(target[0]).set_delivery_guarantee(guarantee).build(),
        [str(i) for i in range(100)],
        Types.STRING(),
        read=lambda: topics.texts(target[0]),
        clear=new_topic,
        guarantee=guarantee,
    )


@pytest.mark.parametrize(
    "guarantee", [DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE]
)
def test_more_records_than_the_client_takes_at_once(
    topics: Topics, guarantee: DeliveryGuarantee
) -> None:
    topic = topics.new(namespace=ONCE)
    values = [str(i) for i in range(5_000)]
    write(topics.sink(topic).set_delivery_guarantee(guarantee).build(), values)
    assert topics.texts(topic) == values


def test_exactly_once_needs_a_broker_that_deduplicates(topics: Topics) -> None:
    sink = topics.sink(topics.new()).set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    with pytest.raises(JobExecutionError, match="set-deduplication public/default --enable"):
        write(sink.build(), ["a"])


def test_a_reader_survives_the_broker(topics: Topics) -> None:
    topic = topics.new()
    topics.put(topic, "a", "b", "c")
    reading = Reading(topics.source(topic).build())
    assert reading.read(3) == ["a", "b", "c"]
    topics.broker.stop()
    topics.broker.start()
    topics.put(topic, "d")
    # The broker sends again what it was not told of.
    assert reading.read(1) == ["d"]
    reading.close()


# Positions.


def test_a_subscription_goes_on_where_a_job_has_ended(topics: Topics) -> None:
    topic = topics.new()
    source = topics.bounded(topic).build()
    assert read(source) == []
    topics.put(topic, "a", "b")
    assert read(source) == ["a", "b"]
    assert read(source) == []
    topics.put(topic, "c")
    assert read(source) == ["c"]


def test_a_subscription_may_be_reset(topics: Topics) -> None:
    topic = topics.new()
    topics.put(topic, "a", "b")
    builder = topics.bounded(topic)
    builder.set_config("pulsar.source.resetSubscriptionCursor", True)
    assert [read(builder.build()) for _ in range(2)] == [["a", "b"]] * 2


_STARTS: dict[str, tuple[Callable[[list[Any]], StartCursor], str]] = {
    "earliest": (lambda messages: StartCursor.earliest(), "abcd"),
    "latest": (lambda messages: StartCursor.latest(), ""),
    "at": (lambda messages: StartCursor.from_message_id(_id(messages[1])), "bcd"),
    "after": (lambda messages: StartCursor.from_message_id(_id(messages[1]), False), "cd"),
    "published": (
        lambda messages: StartCursor.from_publish_time(messages[2].publish_timestamp()),
        "cd",
    ),
}


def _id(message: Any) -> bytes:
    found: bytes = message.message_id().serialize()
    return found


def _four(topics: Topics) -> tuple[str, list[Any]]:
    """A topic with four messages, published at different times."""
    topic = topics.new()
    for number, text in enumerate("abcd"):
        topics.put(topic, text, event_timestamp=1_000 + number)
        while topics.messages(topic)[-1].publish_timestamp() >= _now_ms():
            pass
    return topic, topics.messages(topic)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.parametrize("start", _STARTS)
def test_starts(topics: Topics, start: str) -> None:
    topic, messages = _four(topics)
    make, expected = _STARTS[start]
    assert read(topics.bounded(topic).set_start_cursor(make(messages)).build()) == list(expected)


_STOPS: dict[str, tuple[Callable[[list[Any]], StopCursor], str]] = {
    "latest": (lambda messages: StopCursor.latest(), "abcd"),
    "at event time": (lambda messages: StopCursor.at_event_time(1_002), "ab"),
    "after event time": (lambda messages: StopCursor.after_event_time(1_002), "abc"),
    "at publish time": (
        lambda messages: StopCursor.at_publish_time(messages[2].publish_timestamp()),
        "ab",
    ),
    "after publish time": (
        lambda messages: StopCursor.after_publish_time(messages[2].publish_timestamp()),
        "abc",
    ),
    "at message": (lambda messages: StopCursor.at_message_id(_id(messages[2])), "ab"),
    "after message": (lambda messages: StopCursor.after_message_id(_id(messages[2])), "abc"),
}


@pytest.mark.parametrize("stop", _STOPS)
def test_stops(topics: Topics, stop: str) -> None:
    topic, messages = _four(topics)
    make, expected = _STOPS[stop]
    source = topics.source(topic).set_unbounded_stop_cursor(make(messages)).build()
    assert not source.bounded
    assert read(source) == list(expected)


# Topics, partitions, keys and times.


def test_topics_by_pattern(topics: Topics) -> None:
    name = topics.new()
    other = f"{name}x"
    topics.broker.ask("PUT", f"{other.replace('://', '/')}/partitions", 2)
    topics.put(name, "a")
    topics.put(other, "b", "c")
    builder = topics.bounded().set_topic_pattern(f"{name}.*")
    assert sorted(read(builder.build())) == ["a", "b", "c"]


def test_only_some_keys_are_read(topics: Topics) -> None:
    topic = topics.new()
    topics.put(topic, "a", partition_key="x")
    topics.put(topic, "b", partition_key="y")
    topics.put(topic, "c")
    topics.put(topic, "d", partition_key="x", ordering_key="o")

    def with_keys(**given: Any) -> list[str]:
        keys = RangeGenerator.fixed_key(**given)
        return read(topics.bounded(topic).set_range_generator(keys).build())

    assert with_keys(keys="x") == ["a"]
    assert with_keys(keys=["x", "y"], support_null_key=True) == ["a", "b", "c"]
    assert with_keys(key_bytes=b"y", ordering_key_bytes=b"o") == ["b", "d"]


def test_times_of_events_go_with_messages(topics: Topics) -> None:
    class Timed(ProcessFunction):
        def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield value, ctx.timestamp()

    first, second = topics.new(), topics.new()
    topics.put(first, "a", event_timestamp=7_000)
    env = StreamExecutionEnvironment.get_execution_environment()
    source = topics.bounded(first).build()
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "topics")
    stream.sink_to(topics.sink(second).build())
    run_in_process(env)
    assert [m.event_timestamp() for m in topics.messages(second)] == [7_000]
    env = StreamExecutionEnvironment.get_execution_environment()
    source = topics.bounded(second).build()
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "topics")
    assert collect(stream.process(Timed())) == [("a", 7_000)]


def test_where_records_go(topics: Topics) -> None:
    def spread(configure: Callable[[PulsarSinkBuilder], PulsarSinkBuilder]) -> list[int]:
        topic = topics.new(3)
        write(configure(topics.sink(topic)).build(), [str(i) for i in range(9)])
        partitions = topics.client.get_topic_partitions(topic)
        return sorted(len(topics.messages(partition)) for partition in partitions)

    assert spread(lambda b: b) == [3, 3, 3]
    assert spread(lambda b: b.set_topic_routing_mode(TopicRoutingMode.MESSAGE_KEY_HASH)) == [
        *(0, 0, 9)
    ]
    assert spread(lambda b: b.set_topic_router(lambda text, found: found[int(text) // 7])) == [
        *(0, 2, 7)
    ]


def test_delayed_messages_and_named_producers(topics: Topics) -> None:
    topic = topics.new()
    delay = MessageDelayer.fixed(Duration.of_days(1))
    sink = topics.sink(topic).delay_sending_message(delay).set_producer_name("billing")
    write(sink.build(), ["a"])
    (message,) = topics.messages(topic)
    assert message.producer_name().startswith("billing-0-")
    stats = topics.broker.ask("GET", f"{topic.replace('://', '/')}/stats")
    assert stats["msgInCounter"] == 1
    shared = topics.client.subscribe(
        topic,
        "shared",
        pulsar.ConsumerType.Shared,
        initial_position=pulsar.InitialPosition.Earliest,
    )
    with pytest.raises(pulsar.Timeout):
        shared.receive(timeout_millis=300)


# What is wrong.


def test_a_subscription_of_somebody_else(topics: Topics) -> None:
    topic = topics.new()
    builder = topics.source(topic).set_subscription_name("taken")
    first = Reading(builder.build())
    with pytest.raises(HeadraceError, match="another job may be reading it"):
        Reading(builder.build())
    first.close()


def test_servers_that_are_not_there() -> None:
    builder = PulsarSource.builder().set_service_url("pulsar://127.0.0.1:1")
    builder.set_admin_url("http://127.0.0.1:1").set_topics("t").set_subscription_name("s")
    builder.set_config("pulsar.client.operationTimeoutMs", 1_000)
    source = builder.set_deserialization_schema(SimpleStringSchema()).build()
    with pytest.raises(HeadraceError, match="see whether it runs there"):
        source.probe()
    with pytest.raises(HeadraceError, match="set_admin_url"):
        source.service.topics_like("t.*")


_WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: PulsarSource.builder().build(), "set_service_url"),
    (lambda: PulsarSource.builder().set_service_url("pulsar://h").build(), "set_admin_url"),
    (lambda: _named().build(), "set_topics"),
    (lambda: _named().set_topics("t").build(), "set_subscription_name"),
    (
        lambda: _named().set_topics("t").set_subscription_name("s").build(),
        "set_deserialization_schema",
    ),
    (lambda: _named().set_config("queue.size", 1), "begin with 'pulsar.'"),
    (
        lambda: _named().set_config("pulsar.a", 1).set_properties({"pulsar.a": 2}),
        "set twice",
    ),
    (lambda: _named().set_topics("a/b/c/d"), "persistent://tenant/namespace/name"),
    (lambda: _named().set_start_cursor("earliest"), "takes a StartCursor"),  # type: ignore[arg-type]
    (lambda: StopCursor.at_event_time("now"), "milliseconds"),  # type: ignore[arg-type]
    (lambda: StartCursor.from_message_id(b"\xff"), "not the bytes of a message id"),
    (lambda: PulsarSink.builder().set_topic_router("com.Router"), "class of Java"),  # type: ignore[arg-type]
]


def _named() -> PulsarSourceBuilder:
    builder = PulsarSource.builder().set_service_url("pulsar://h:6650")
    return builder.set_admin_url("http://h:8080")


@pytest.mark.parametrize(("make", "words"), _WRONG)
def test_what_is_wrong_is_said_where_it_is_written(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((GraphError, FunctionTypeError), match=words):
        make()


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(topics: Topics, tmp_path: Path) -> None:
    topic = topics.new(2, ONCE)
    sink = topics.sink(topic).set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    killed_slots.check_sink(
        lambda s: killed_slots.texts(s).sink_to(sink),
        lambda: list(map(int, topics.texts(topic))),
        tmp_path,
    )


@pytest.mark.fault
def test_a_slot_is_killed_that_reads(topics: Topics, tmp_path: Path) -> None:
    topic = topics.new(2)
    source = topics.source(topic).build()
    killed_slots.check_source(
        lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "topic"),
        lambda texts: topics.put(topic, *texts),
        tmp_path,
    )
