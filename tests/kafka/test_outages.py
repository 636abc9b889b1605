"""Brokers that are away at the start, and go away later: a job waits, says so, and goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from headrace.common.serialization import SimpleStringSchema
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.kafka import KafkaSource
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.kafka.broker import Kafka
from tests.kafka.running import Running

pytest.importorskip("confluent_kafka", reason="pip install 'headrace[kafka]'")


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
        job.run(1.0)
        assert "cannot be reached and is waited for" in caplog.text
        starting = threading.Thread(target=absent.broker.start)
        starting.start()
        job.run_until(lambda: not starting.is_alive())
        absent.topic(name="late-1")
        absent.write("late-1", ["first"])
        job.run_until(lambda: job.rows == ["first"])
        assert "is there again" in caplog.text

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
