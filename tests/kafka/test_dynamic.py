"""`DynamicKafkaSource` against a real broker."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.errors import FunctionTypeError, GraphError
from headrace.common.serialization import SimpleStringSchema
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    SingleClusterTopicMetadataService,
)
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_source
from tests.kafka.broker import Kafka
from tests.kafka.running import now_ms


def builder(servers: str) -> DynamicKafkaSourceBuilder:
    service = SingleClusterTopicMetadataService("one", {"bootstrap.servers": servers})
    made = DynamicKafkaSource.builder().set_kafka_metadata_service(service)
    made.set_value_only_deserializer(SimpleStringSchema()).set_group_id("g")
    return made.set_properties({"stream-metadata-discovery-interval-ms": "1000"})


def read(made: DynamicKafkaSourceBuilder) -> list[str]:
    source = made.set_bounded(KafkaOffsetsInitializer.latest()).build()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka")
    return run_in_process(env, {"records": stream}, clock=now_ms)["records"]


def test_streams_by_id_and_by_pattern(kafka: Kafka) -> None:
    for name in ("dynamic-a", "dynamic-b", "else"):
        kafka.write(kafka.topic(name=name), [name])
    assert read(builder(kafka.servers).set_stream_ids({"else", "dynamic-a"})) == [
        "dynamic-a",
        "else",
    ]
    assert sorted(read(builder(kafka.servers).set_stream_pattern("dynamic-.*"))) == [
        "dynamic-a",
        "dynamic-b",
    ]


def test_what_is_built() -> None:
    source = builder("localhost:1").set_stream_ids({"s"}).build()
    assert isinstance(source, DynamicKafkaSource)
    assert source.properties["partition.discovery.interval.ms"] == "1000"
    assert pickle.loads(pickle.dumps(source)).properties == source.properties


def test_what_is_missing_or_wrong() -> None:
    with pytest.raises(GraphError, match="set_stream_ids"):
        builder("localhost:1").build()
    with pytest.raises(GraphError, match="set_kafka_metadata_service"):
        DynamicKafkaSource.builder().set_stream_pattern("x").build()
    with pytest.raises(GraphError, match=r"bootstrap\.servers"):
        SingleClusterTopicMetadataService("one", {})
    with pytest.raises(FunctionTypeError, match="SingleClusterTopicMetadataService"):
        DynamicKafkaSource.builder().set_kafka_metadata_service(KafkaMetadataService())


def test_the_source_keeps_the_contract(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    for partition in range(2):
        kafka.write(topic, [f"{partition}:{i}" for i in range(12)], partition)
    start = KafkaOffsetsInitializer.earliest()
    check_source(
        lambda: builder(kafka.servers).set_stream_ids({topic}).set_starting_offsets(start).build(),
        [f"{partition}:{i}" for partition in range(2) for i in range(12)],
        parallelisms=(2,),
        epoch_records=3,
    )
