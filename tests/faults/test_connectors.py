"""What other systems have, and what is read from them, when the slot is killed that does it.

Slots are real processes. One is killed in the middle of an epoch, after a checkpoint; the job goes
on from it, and the servers are asked what has arrived.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.serialization import Encoder, SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.coordination.job.master import JobMaster
from headrace.coordination.slots.dependencies import prepare
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.spark.executor import _master_options
from tests.faults.live_process_carrier import LiveProcessCarrier
from tests.faults.process_carrier import ProcessCarrier
from tests.s3_server import S3Server, running_s3_server
from tools.database_server import DatabaseServer, DatabaseUnavailableError

pytestmark = pytest.mark.timeout(1_200)

RECORDS, FATAL, END = 600, 400, -1
LIMIT_S = 120.0
EVERYTHING = Counter(range(RECORDS))
SETTINGS = {
    "execution.epoch.target": "100 ms",
    "execution.checkpointing.interval": "100 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "10 ms",
}


# A job.


def killing(directory: Path) -> Callable[[int], int]:
    """Kills its slot at a number, the first time that it comes."""

    def pass_on(value: int) -> int:
        killed = directory / "killed"
        if value == FATAL and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    return pass_on


@contextlib.contextmanager
def running(
    build: Callable[[StreamExecutionEnvironment], Any],
    directory: Path,
    carrier: ProcessCarrier | None = None,
) -> Iterator[Any]:
    """The master of a job that is killed once."""
    carrier = carrier or ProcessCarrier()
    settings = {**SETTINGS, "execution.checkpointing.dir": str(directory / "checkpoints")}
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    build(env)
    master = JobMaster(
        build_job_graph(env.get_stream_graph("killed", clear=True)),
        carrier,
        _master_options(configuration, prepare(configuration), {}),
    )
    master.start()
    try:
        yield master
        assert (directory / "killed").exists()
        assert master.restarts == 1
    finally:
        master.cancel().result(LIMIT_S)
        carrier.end()


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@contextlib.contextmanager
def started(kind: type[DatabaseServer]) -> Iterator[Any]:
    try:
        server = kind()
        try:
            yield server.start()
        finally:
            server.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


# Sinks.


@dataclass(frozen=True)
class Target:
    """Where numbers go, and those that are there."""

    write: Callable[[DataStream[int]], Any]
    found: Callable[[], list[int]]
    once: bool = True


def texts(stream: DataStream[int]) -> DataStream[str]:
    return stream.map(str, Types.STRING())


@contextlib.contextmanager
def redis_target(directory: Path) -> Iterator[Target]:
    redis = pytest.importorskip("redis")
    from headrace.datastream.connectors.redis import RedisSink
    from tools.queue_server import RedisServer

    with started(RedisServer) as server:
        sink = RedisSink(server.url, lambda i: ("SADD", "numbers", i))
        client = redis.Redis.from_url(server.url)
        yield Target(lambda s: s.sink_to(sink), lambda: list(map(int, client.smembers("numbers"))))


@contextlib.contextmanager
def rabbitmq_target(directory: Path) -> Iterator[Target]:
    pytest.importorskip("pika")
    from headrace.datastream.connectors.rabbitmq import RMQSink
    from tests.connectors.test_rabbitmq import Queue
    from tools.queue_server import RabbitMqServer

    with started(RabbitMqServer) as server:
        queue = Queue(server)
        sink = RMQSink(queue.config, queue.name, SimpleStringSchema())
        yield Target(
            lambda s: texts(s).add_sink(sink), lambda: list(map(int, queue.take())), once=False
        )


@contextlib.contextmanager
def kinesis_target(directory: Path) -> Iterator[Target]:
    pytest.importorskip("boto3")
    from tests.connectors import test_kinesis as kinesis
    from tests.connectors.reading import Reading

    with running_s3_server() as aws:
        stream = kinesis.new_stream(aws, shards=2)

        def found() -> list[int]:
            kinesis.put(aws, stream, str(END))
            reading = Reading(kinesis.consumer(aws, stream))
            numbers: list[int] = []
            while END not in numbers or len(set(numbers)) <= RECORDS:
                more = reading.read(1)
                if not more:
                    break
                numbers += map(int, more)
            reading.close()
            return [number for number in numbers if number != END]

        # With two writers at a time moto loses records, as its code says.
        yield Target(
            lambda s: texts(s).sink_to(kinesis.streams_sink(aws, stream)).set_parallelism(1),
            found,
            once=False,
        )


@contextlib.contextmanager
def elasticsearch_target(directory: Path) -> Iterator[Target]:
    from headrace.datastream.connectors.elasticsearch import (
        Elasticsearch7SinkBuilder,
        ElasticsearchEmitter,
    )
    from tools.elasticsearch_server import ElasticsearchServer

    with started(ElasticsearchServer) as server:
        builder = Elasticsearch7SinkBuilder().set_hosts(server.url)
        sink = builder.set_emitter(ElasticsearchEmitter.static_index("numbers", "id")).build()

        def found() -> list[int]:
            refresh = urllib.request.Request(f"{server.url}/numbers/_refresh", method="POST")
            urllib.request.urlopen(refresh, timeout=60).close()
            with urllib.request.urlopen(f"{server.url}/numbers/_search?size=10000") as answer:
                return [hit["_source"]["id"] for hit in json.load(answer)["hits"]["hits"]]

        yield Target(lambda s: s.map(lambda i: {"id": i}).sink_to(sink), found)


@contextlib.contextmanager
def cassandra_target(directory: Path) -> Iterator[Target]:
    pytest.importorskip("cassandra.cluster")
    from headrace.datastream.connectors.cassandra import CassandraSink
    from tools.cassandra_server import CassandraServer

    with started(CassandraServer) as server:
        cluster, session = server.connect()
        session.execute("CREATE TABLE shop.numbers (id int PRIMARY KEY)")

        def write(stream: DataStream[int]) -> None:
            rows = stream.map(lambda i: (i,), Types.TUPLE([Types.INT()]))
            builder = CassandraSink.add_sink(rows).set_host("127.0.0.1", server.port)
            builder.set_query("INSERT INTO shop.numbers (id) VALUES (?)").build()

        yield Target(write, lambda: [r.id for r in session.execute("SELECT id FROM shop.numbers")])
        cluster.shutdown()


@contextlib.contextmanager
def delta_target(directory: Path) -> Iterator[Target]:
    deltalake = pytest.importorskip("deltalake")
    from headrace.datastream.connectors.lakehouse import DeltaLakeTable, LakehouseSink

    row = Types.ROW_NAMED(["id"], [Types.INT()])
    path = str(directory / "numbers")
    sink = LakehouseSink(DeltaLakeTable(path))
    yield Target(
        lambda s: s.map(Row, row).sink_to(sink),
        lambda: deltalake.DeltaTable(path).to_pyarrow_table()["id"].to_pylist(),
    )


@contextlib.contextmanager
def mongodb_target(directory: Path) -> Iterator[Target]:
    pymongo = pytest.importorskip("pymongo")
    from headrace.datastream.connectors.mongodb import MongoSink
    from tools.mongodb_server import FerretDbServer

    with started(FerretDbServer) as server, pymongo.MongoClient(server.url) as client:
        builder = MongoSink.builder().set_uri(server.url).set_database("shop")
        builder.set_collection("numbers").set_serialization_schema(lambda i: {"_id": i})
        sink = builder.build()
        # Of two writers at a time, FerretDB may answer none.
        yield Target(
            lambda s: s.sink_to(sink).set_parallelism(1),
            lambda: [found["_id"] for found in client.shop.numbers.find()],
        )


@contextlib.contextmanager
def pulsar_target(directory: Path) -> Iterator[Target]:
    pytest.importorskip("pulsar")
    from tests.connectors.test_pulsar import ONCE, Topics
    from tools.pulsar_broker import PulsarBroker

    with started(PulsarBroker) as broker:
        topics = Topics(broker)
        topic = topics.new(2, ONCE)
        sink = topics.sink(topic).set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
        yield Target(lambda s: texts(s).sink_to(sink), lambda: list(map(int, topics.texts(topic))))
        topics.client.close()


TARGETS: list[Callable[[Path], AbstractContextManager[Target]]] = [
    redis_target,
    rabbitmq_target,
    kinesis_target,
    elasticsearch_target,
    cassandra_target,
    delta_target,
    mongodb_target,
    pulsar_target,
]


@pytest.mark.parametrize("make", TARGETS, ids=lambda make: make.__name__.removesuffix("_target"))
def test_a_sink_loses_nothing(
    make: Callable[[Path], AbstractContextManager[Target]], tmp_path: Path
) -> None:
    with make(tmp_path) as target:

        def build(env: StreamExecutionEnvironment) -> None:
            rate = RateLimiterStrategy.per_second(RECORDS)
            source = DataGeneratorSource(lambda i: i, RECORDS, rate)
            stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
            target.write(stream.map(killing(tmp_path), Types.INT()))

        with running(build, tmp_path) as master:
            master.result_future().result(LIMIT_S)
        found = Counter(target.found())
        assert (found if target.once else Counter(set(found))) == EVERYTHING


# Sources.


@dataclass(frozen=True)
class Origin:
    """Where numbers come from: a stream of texts, and what puts some there."""

    read: Callable[[StreamExecutionEnvironment], DataStream[str]]
    put: Callable[[list[str]], Any]


@contextlib.contextmanager
def rabbitmq_origin() -> Iterator[Origin]:
    pytest.importorskip("pika")
    from headrace.datastream.connectors.rabbitmq import RMQSource
    from tests.connectors.test_rabbitmq import Queue
    from tools.queue_server import RabbitMqServer

    with started(RabbitMqServer) as server:
        queue = Queue(server)
        source = RMQSource(queue.config, queue.name, True, SimpleStringSchema())
        yield Origin(
            lambda env: env.add_source(source).set_parallelism(1),
            lambda texts: queue.put(*texts, ids=True),
        )


@contextlib.contextmanager
def kinesis_origin() -> Iterator[Origin]:
    pytest.importorskip("boto3")
    from tests.connectors import test_kinesis as kinesis

    with running_s3_server() as aws:
        stream = kinesis.new_stream(aws, shards=2)

        def put(texts: list[str], aws: S3Server = aws) -> None:
            for start in range(0, len(texts), 500):
                kinesis.put(aws, stream, *texts[start : start + 500])

        yield Origin(lambda env: env.add_source(kinesis.consumer(aws, stream)), put)


@contextlib.contextmanager
def pulsar_origin() -> Iterator[Origin]:
    pytest.importorskip("pulsar")
    from tests.connectors.test_pulsar import Topics
    from tools.pulsar_broker import PulsarBroker

    with started(PulsarBroker) as broker:
        topics = Topics(broker)
        topic = topics.new(2)
        source = topics.source(topic).build()
        yield Origin(
            lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), "topic"),
            lambda texts: topics.put(topic, *texts),
        )
        topics.client.close()


@pytest.mark.parametrize(
    "make",
    [rabbitmq_origin, kinesis_origin, pulsar_origin],
    ids=lambda make: make.__name__.removesuffix("_origin"),
)
def test_a_source_gives_each_record_once(
    make: Callable[[], AbstractContextManager[Origin]], tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def committed() -> Counter[int]:
        visible = [f for f in out.rglob("*") if f.is_file() and not f.name.startswith((".", "_"))]
        return Counter(int(line) for file in visible for line in file.read_text().splitlines())

    with make() as origin:

        def build(env: StreamExecutionEnvironment) -> None:
            numbers = origin.read(env).map(int, Types.INT()).map(killing(tmp_path), Types.INT())
            sink = FileSink.for_row_format(str(out), Encoder.simple_string_encoder())
            sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
            numbers.map(str, Types.STRING()).sink_to(sink.build())

        # As it is by default where a source has no end.
        with running(build, tmp_path, LiveProcessCarrier()):
            for first, last in ((0, FATAL // 2), (FATAL // 2, RECORDS)):
                origin.put([str(i) for i in range(first, last)])
                wait_for(lambda last=last: len(committed()) >= last, "records are missing")
            # What comes twice has come before the end does.
            origin.put([str(END)])
            wait_for(lambda: END in committed(), "the end is missing")
            assert committed() == EVERYTHING + Counter([END])
