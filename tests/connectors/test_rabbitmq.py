"""Queues of a real RabbitMQ, in this process."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import GraphError, HeadraceError, JobExecutionError
from headrace.common.serialization import SimpleStringSchema
from headrace.common.typeinfo import Types
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink, check_source
from tests.connectors.reading import Reading
from tests.faults import killed_slots
from tools.queue_server import RabbitMqServer

pika = pytest.importorskip("pika", reason="pip install 'headrace[rabbitmq]'")
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)
_LIMIT_S = 60.0
END = "the end"


def config_of(server: RabbitMqServer, **changes: Any) -> RMQConnectionConfig:
    builder = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(server.port)
    builder.set_virtual_host("/").set_user_name(server.user)
    builder.set_password(changes.get("password", server.password))
    return builder.build()


class Text(SimpleStringSchema):
    """Text, until its last message."""

    def is_end_of_stream(self, next_element: Any) -> bool:
        return bool(next_element == END)


class Strict(SimpleStringSchema):
    """Text that refuses what is none."""

    def deserialize(self, message: bytes) -> str:
        return message.decode()


class Queue:
    """A queue of one test."""

    def __init__(self, server: RabbitMqServer) -> None:
        self.name = f"queue-{next(_numbers)}"
        self.config = config_of(server)
        self._connection: Any = server.connect()
        self.channel = self._connection.channel()
        self.channel.queue_declare(self.name, durable=True)

    def put(self, *texts: str, ids: bool = False) -> None:
        for text in texts:
            properties = pika.BasicProperties(correlation_id=f"id-{text}" if ids else None)
            self.channel.basic_publish("", self.name, text.encode(), properties)

    def take(self) -> list[str]:
        """All messages that nobody else holds."""
        found = []
        while (answer := self.channel.basic_get(self.name, auto_ack=True))[0] is not None:
            found.append(answer[2].decode())
        return found

    def ready(self) -> int:
        answer = self.channel.queue_declare(self.name, durable=True, passive=True)
        count: int = answer.method.message_count
        return count

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def queue(rabbitmq: RabbitMqServer) -> Iterator[Queue]:
    opened = Queue(rabbitmq)
    yield opened
    opened.close()


def reading(queue: Queue, splits: Any = None, ids: bool = False) -> Reading:
    return Reading(RMQSource(queue.config, queue.name, ids, Text()), splits)


def wait_until_ready(queue: Queue, count: int) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while queue.ready() != count:
        assert time.monotonic() < deadline, f"{queue.ready()} messages instead of {count}"
        time.sleep(0.02)


def test_a_job_from_queue_to_queue(rabbitmq: RabbitMqServer, queue: Queue) -> None:
    queue.put(*(f"{i}" for i in range(2_500)), END)
    target = Queue(rabbitmq)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.add_source(RMQSource(queue.config, queue.name, False, Text()))
    doubled = stream.map(lambda text: str(int(text) * 2))
    sink = RMQSink(target.config, target.name, SimpleStringSchema())
    assert sink.probe() == f"RabbitMQ at 127.0.0.1:{rabbitmq.port}"
    doubled.add_sink(sink)
    run_in_process(env, clock=lambda: time.time_ns() // 1_000_000, epoch_ms=1)
    assert target.take() == [str(2 * i) for i in range(2_500)]
    target.close()


def test_messages_come_again_unless_a_checkpoint_is_complete(queue: Queue) -> None:
    queue.put("a", "b", "c")
    first = reading(queue)
    assert first.read(3) == ["a", "b", "c"]
    first.checkpoint(1)
    first.close()
    second = reading(queue)
    assert second.read(3) == ["a", "b", "c"]
    second.checkpoint(1)
    queue.put("d")
    assert second.read(1) == ["d"]
    second.reader.on_checkpoint_complete(1)
    second.close()
    wait_until_ready(queue, 1)
    assert queue.take() == ["d"]


def test_checkpoints_go_on_where_no_message_comes(queue: Queue) -> None:
    queue.put("a")
    first = reading(queue)
    assert first.read(1) == ["a"]
    for number in (1, 2):
        first.checkpoint(number)
        first.reader.on_checkpoint_complete(number)
        wait_until_ready(queue, 0)
    queue.put("b", "c")
    assert first.read(2) == ["b", "c"]
    first.close()
    wait_until_ready(queue, 2)


def test_correlation_ids_make_it_exactly_once(queue: Queue) -> None:
    queue.put("a", "b", ids=True)
    first = reading(queue, ids=True)
    assert first.read(2) == ["a", "b"]
    splits = first.checkpoint(1)
    first.close()
    queue.put("c", ids=True)
    second = reading(queue, splits, ids=True)
    assert second.read(1) == ["c"]
    second.checkpoint(2)
    second.reader.on_checkpoint_complete(2)
    second.close()
    wait_until_ready(queue, 0)


def test_ids_are_kept_until_the_broker_has_confirmed(
    rabbitmq: RabbitMqServer, queue: Queue
) -> None:
    queue.put("a", "b", ids=True)
    first = reading(queue, ids=True)
    assert first.read(2) == ["a", "b"]
    with rabbitmq.paused():
        for number in (1, 2):
            first.checkpoint(number)
            first.reader.on_checkpoint_complete(number)
        (split,) = first.checkpoint(3)
        assert split.seen == {"id-a", "id-b"}
    deadline = time.monotonic() + _LIMIT_S
    while first.checkpoint(4)[0].seen and time.monotonic() < deadline:
        time.sleep(0.02)
    assert first.checkpoint(5)[0].seen == frozenset()
    first.close()
    wait_until_ready(queue, 0)


def test_a_message_without_the_id_that_was_promised(queue: Queue) -> None:
    queue.put("a")
    reader = reading(queue, ids=True)
    with pytest.raises(HeadraceError, match="has no correlation id"):
        reader.read(1)
    reader.close()


def test_a_wrong_password(rabbitmq: RabbitMqServer, queue: Queue) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    wrong = config_of(rabbitmq, password="wrong")
    env.from_collection(["x"]).add_sink(RMQSink(wrong, queue.name, SimpleStringSchema()))
    with pytest.raises(JobExecutionError, match="refuses the user 'guest'"):
        run_in_process(env)


def test_what_a_configuration_needs() -> None:
    with pytest.raises(GraphError, match="set_virtual_host"):
        RMQConnectionConfig.Builder().set_host("h").set_port(1).set_user_name("u").build()
    by_uri = RMQConnectionConfig.Builder().set_uri("amqp://u:secret@host:1234").build()
    assert by_uri.place == "host:1234"
    assert "secret" not in repr(by_uri)


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(queue: Queue, tmp_path: Path) -> None:
    sink = RMQSink(queue.config, queue.name, SimpleStringSchema())
    killed_slots.check_sink(
        lambda s: killed_slots.texts(s).add_sink(sink),
        lambda: list(map(int, queue.take())),
        tmp_path,
        once=False,
    )


@pytest.mark.fault
def test_a_slot_is_killed_that_reads(queue: Queue, tmp_path: Path) -> None:
    source = RMQSource(queue.config, queue.name, True, SimpleStringSchema())
    killed_slots.check_source(
        lambda env: env.add_source(source).set_parallelism(1),
        lambda texts: queue.put(*texts, ids=True),
        tmp_path,
    )


def test_the_sink_keeps_the_contract(queue: Queue) -> None:
    def clear() -> None:
        queue.take()

    check_sink(
        lambda: RMQSink(queue.config, queue.name, SimpleStringSchema()),
        [f"m{i}" for i in range(60)],
        Types.STRING(),
        read=queue.take,
        clear=clear,
        guarantee=DeliveryGuarantee.AT_LEAST_ONCE,
        parallelisms=(2,),
        epoch_records=12,
    )


@pytest.mark.parametrize("ids", [True, False])
def test_the_source_keeps_the_contract(queue: Queue, ids: bool) -> None:
    texts = [f"m{i}" for i in range(20)]

    def refilled() -> RMQSource:
        queue.channel.queue_purge(queue.name)
        queue.put(*texts[:10], ids=ids)
        properties = pika.BasicProperties(correlation_id="bad")
        queue.channel.basic_publish("", queue.name, b"\xff", properties)
        queue.put(*texts[10:], ids=ids)
        return RMQSource(queue.config, queue.name, ids, Strict())

    check_source(
        refilled,
        texts,
        bad=[b"\xff"],
        guarantee=DeliveryGuarantee.EXACTLY_ONCE if ids else DeliveryGuarantee.AT_LEAST_ONCE,
        parallelisms=(1,),
        epoch_records=4,
    )
