"""Brokers that are away at the start, and go away later: a job waits, says so, and goes on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from headrace.common.serialization import SimpleStringSchema
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import DeliveryGuarantee, RetriableCommitError
from headrace.datastream.connectors.kafka import KafkaSource
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.kafka.broker import Kafka, wait_until
from tests.kafka.running import Running
from tests.kafka.test_transactions import Context, Sinks

pytest.importorskip("confluent_kafka", reason="pip install 'headrace[kafka]'")

# A broker that was killed starts slowly on a slow machine, and here it does so several times.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def absent() -> Iterator[Kafka]:
    """A broker of its own that has not been started."""
    from tools.kafka_broker import KafkaBroker, KafkaUnavailableError

    try:
        broker = KafkaBroker()
    except KafkaUnavailableError as error:
        pytest.skip(str(error))
    yield Kafka(broker)
    broker.remove()


def test_writers_wait_for_brokers(absent: Kafka) -> None:
    """The broker is gone between the records and the checkpoint, and again before the commit."""
    absent.broker.start()
    sinks = Sinks(absent)
    exact, plain = sinks.start(), KafkaWriterOf(sinks)
    exact.writer.write(["exact"], None)
    plain.writer.write(["plain"], None)
    absent.broker.stop()
    with started_when(absent, lambda: said(exact.lines, AWAY)):
        committables = exact.writer.prepare_commit(1, False)
    absent.broker.stop()
    plain.writer.write(["more"], None)
    with started_when(absent, lambda: said(plain.lines, AWAY)):
        plain.writer.prepare_commit(1, False)
    for lines in (exact.lines, plain.lines):
        wait_until(lambda lines=lines: said(lines, "is available again"))
    # A reader of committed records may have to wait behind the open transaction.
    assert {"plain", "more"} <= set(absent.values(sinks.topic, "read_uncommitted"))
    absent.broker.stop()
    with started_when(absent, lambda: True):
        while True:
            with contextlib.suppress(RetriableCommitError):
                exact.committer.commit(committables)
                break
    sinks.assert_visible("exact", "more", "plain")
    plain.writer.close()
    sinks.close()


class KafkaWriterOf:
    """A writer of the same topic without transactions."""

    def __init__(self, sinks: Sinks) -> None:
        context: Any = Context()
        self.lines: list[str] = context.lines
        sink = replace(sinks.sink, guarantee=DeliveryGuarantee.AT_LEAST_ONCE)
        self.writer = sink.create_writer(context)
        self.writer.open()


AWAY = "cannot be reached; waiting for it"


def said(lines: list[str], words: str) -> bool:
    return any(words in line for line in lines)


@contextlib.contextmanager
def started_when(kafka: Kafka, condition: Callable[[], bool]) -> Iterator[None]:
    """Start the broker when the block has noticed that it is away."""

    def start() -> None:
        wait_until(condition)
        kafka.broker.start()

    starting = threading.Thread(target=start)
    starting.start()
    yield
    starting.join()


def test_a_reader_waits_for_brokers_and_for_topics(
    absent: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(absent.servers)
        .set_topic_pattern("late-.*")
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("partition.discovery.interval.ms", "300")
        .set_property("reconnect.backoff.max.ms", "500")
        .build()
    )
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    with Running(env, stream) as job:
        job.run_until(lambda: AWAY in caplog.text)
        starting = threading.Thread(target=absent.broker.start)
        starting.start()
        job.run_until(lambda: not starting.is_alive())
        absent.topic(name="late-1")
        absent.write("late-1", ["first"])
        job.run_until(lambda: job.rows == ["first"])
        assert "is available again" in caplog.text

        absent.add_partitions("late-1", 2)
        absent.write("late-1", ["of a new partition"], 1)
        job.run_until(lambda: len(job.rows) == 2)

        caplog.clear()
        absent.broker.stop()
        job.restore()
        job.run_until(lambda: "reader 0: Kafka at" in caplog.text)
        absent.broker.start()
        absent.write("late-1", ["after the crash"])
        job.run_until(lambda: len(job.rows) == 3)
        assert job.rows == ["first", "of a new partition", "after the crash"]
