"""The older classes, `FlinkKafkaConsumer` and `FlinkKafkaProducer`, in a program."""

from __future__ import annotations

import pytest

from headrace.common.errors import GraphError
from headrace.common.serialization import SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from tests.kafka.broker import Kafka
from tests.kafka.running import Running


@pytest.mark.parametrize("semantic", [Semantic.EXACTLY_ONCE, Semantic.AT_LEAST_ONCE])
def test_from_topic_to_topic(kafka: Kafka, semantic: Semantic) -> None:
    origin, target = kafka.topic(2), kafka.topic()
    kafka.write(origin, range(10), 1)
    kafka.commit("legacy", origin, 4, partition=1)
    properties = {"bootstrap.servers": kafka.servers, "group.id": "legacy"}
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    consumer = FlinkKafkaConsumer(
        origin, SimpleStringSchema(), {**properties, "auto.offset.reset": "earliest"}
    )
    assert consumer.get_produced_type() == Types.STRING()
    producer = FlinkKafkaProducer(
        target, SimpleStringSchema(), {"bootstrap.servers": kafka.servers}, semantic=semantic
    )
    env.add_source(consumer).add_sink(producer)
    with Running(env) as job:
        job.run_until(lambda: len(kafka.values(target)) == 6)
    assert kafka.values(target) == ["4", "5", "6", "7", "8", "9"]


def test_refused_records_are_not_only_logged() -> None:
    producer = FlinkKafkaProducer("a", SimpleStringSchema(), {"bootstrap.servers": "localhost:1"})
    producer.set_log_failures_only(False).set_flush_on_checkpoint(True)
    with pytest.raises(GraphError, match="would lose records"):
        producer.set_log_failures_only(True)
