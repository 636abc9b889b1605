"""`probe`, which `headrace doctor` calls: of servers that are not there, and of every connector.

Those that are there are probed where the connectors are tested with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.common.serialization import SimpleStringSchema
from headrace.datastream.connectors.base import Sink, Source
from headrace.datastream.connectors.cassandra import CassandraSink
from headrace.datastream.connectors.elasticsearch import (
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.kinesis import (
    FlinkKinesisConsumer,
    KinesisFirehoseSink,
    KinesisStreamsSink,
    PartitionKeyGenerator,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from headrace.datastream.connectors.redis import RedisSink
from headrace.datastream.connectors.socket_source import SocketTextSource
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from tests.connector_classes import connector_classes

AWS = {
    "aws.region": "eu-west-1",
    "aws.endpoint": "http://localhost:1",
    "aws.credentials.provider.basic.accesskeyid": "a",
    "aws.credentials.provider.basic.secretkey": "b",
}
BROKER = (
    RMQConnectionConfig.Builder()
    .set_host("localhost")
    .set_port(1)
    .set_virtual_host("/")
    .set_user_name("guest")
    .set_password("guest")
    .build()
)


def cassandra(port: int = 1) -> Sink:
    env = StreamExecutionEnvironment.get_execution_environment()
    builder = CassandraSink.add_sink(env.from_collection([(1,)]))
    builder.set_query("INSERT INTO shop.orders (id) VALUES (?)").set_host("localhost", port).build()
    vertices = build_job_graph(env.get_stream_graph("probe")).vertices
    specs: list[Any] = [o.spec for v in vertices for o in v.operators]
    return next(spec.sink for spec in specs if spec.kind == "Sink")


def elasticsearch() -> Sink:
    emitter = ElasticsearchEmitter.static_index("i")
    builder = Elasticsearch7SinkBuilder().set_hosts("http://localhost:1").set_emitter(emitter)
    return builder.build()


def stream_sink() -> Sink:
    builder = KinesisStreamsSink.builder().set_stream_name("orders")
    builder.set_kinesis_client_properties(AWS).set_serialization_schema(SimpleStringSchema())
    builder.set_partition_key_generator(PartitionKeyGenerator.random())
    return builder.build()


def firehose_sink() -> Sink:
    builder = KinesisFirehoseSink.builder().set_delivery_stream_name("orders")
    builder.set_firehose_client_properties(AWS).set_serialization_schema(SimpleStringSchema())
    return builder.build()


def hybrid_source() -> Source:
    numbers = NumberSequenceSource(1, 2)
    return HybridSource.builder(numbers).add_source(SocketTextSource("localhost", 1)).build()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (elasticsearch, r"http://localhost:1: .*refused; start one, or correct set_hosts"),
        (cassandra, r"Cassandra cannot be reached, .*; see whether it runs at set_host\(\)"),
        (
            lambda: RedisSink("redis://ada:secret@localhost:1/0", lambda r: ("SET", r, r)),
            r"Redis at localhost:1/0 cannot be reached: .*; start redis-server",
        ),
        (
            lambda: RMQSource(BROKER, "orders", False, SimpleStringSchema()),
            r"RabbitMQ at localhost:1 cannot be reached .*; is it running",
        ),
        (
            lambda: RMQSink(BROKER, "orders", SimpleStringSchema()),
            r"RabbitMQ at localhost:1 cannot be reached .*; is it running",
        ),
        (
            lambda: FlinkKinesisConsumer("orders", SimpleStringSchema(), AWS),
            r"`aws kinesis create-stream --stream-name orders --shard-count 1`",
        ),
        (stream_sink, r"`aws kinesis create-stream --stream-name orders --shard-count 1`"),
        (firehose_sink, r"`aws firehose create-delivery-stream --delivery-stream-name orders`"),
        (lambda: SocketTextSource("localhost", 1), r"localhost:1 .*nc -lk 1"),
        (hybrid_source, r"localhost:1 .*nc -lk 1"),
    ],
)
def test_a_server_that_is_away_is_said_with_what_to_do(
    make: Callable[[], Source | Sink], said: str
) -> None:
    with pytest.raises(HeadraceError, match=said):
        make().probe()


IN_THE_PROGRAM = "its records are in the program, or made"
SHOWN = "it writes to the program, its output, or nowhere"
OF_THE_USER = "a function of the user knows what it reaches"
KEPT = "a directory that the job itself has made"

WITHOUT = {
    "CollectionSource": IN_THE_PROGRAM,
    "ColumnsSource": IN_THE_PROGRAM,
    "DataGenSource": IN_THE_PROGRAM,
    "DataGeneratorSource": IN_THE_PROGRAM,
    "NumberSequenceSource": IN_THE_PROGRAM,
    "CollectSink": SHOWN,
    "DiscardingSink": SHOWN,
    "PrintSink": SHOWN,
    "RowPrintSink": SHOWN,
    "FunctionSink": OF_THE_USER,
    "FunctionSource": OF_THE_USER,
    "GenericWriteAheadSink": OF_THE_USER,
    "TwoPhaseCommitSink": OF_THE_USER,
    "RecordFileSink": KEPT,
    "RecordFileSource": KEPT,
    "_CommittedRecords": "it is for tests",
}
"""Connectors that reach nothing, and why."""


@pytest.mark.parametrize("base", [Source, Sink])
def test_every_connector_can_be_probed(base: Any) -> None:
    kinds = connector_classes(base)
    without = {kind.__name__ for kind in kinds if kind.probe is base.probe}  # type: ignore[attr-defined]
    assert without == WITHOUT.keys() & {kind.__name__ for kind in kinds}
