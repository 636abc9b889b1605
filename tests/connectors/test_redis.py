"""Commands to a real Redis, in this process."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import FunctionTypeError, HeadraceError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.redis import RedisSink
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink
from tests.faults import killed_slots
from tools.queue_server import RedisServer

redis = pytest.importorskip("redis", reason="pip install 'headrace[redis]'")
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)


def run(sink: RedisSink, values: list[Any]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(values).sink_to(sink)
    run_in_process(env)


def test_values_by_key(redis_server: RedisServer) -> None:
    name = f"test-{next(_numbers)}"
    run(
        RedisSink(redis_server.url, lambda i: ("HSET", name, i % 700, i), batch_size=300),
        list(range(1_000)),
    )
    found = redis.Redis.from_url(redis_server.url).hgetall(name)
    assert {int(k): int(v) for k, v in found.items()} == {i % 700: i for i in range(1_000)}


def test_a_command_that_redis_refuses_ends_the_job(redis_server: RedisServer) -> None:
    name = f"test-{next(_numbers)}"
    with pytest.raises(JobExecutionError, match=r"Redis refused a command.*wrong kind"):
        run(RedisSink(redis_server.url, lambda i: ("SADD" if i else "SET", name, i)), [0, 1])


def test_a_connection_that_was_lost_is_made_again(redis_server: RedisServer) -> None:
    name = f"test-{next(_numbers)}"
    sink = RedisSink(redis_server.url, lambda i: ("SADD", name, i))
    writer = sink.create_writer(None)  # type: ignore[arg-type]
    writer.open()
    writer.write([1], None)
    writer.flush(False)
    other = redis.Redis.from_url(redis_server.url)
    other.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    writer.write([2], None)
    writer.flush(False)
    writer.close()
    assert sorted(map(int, other.smembers(name))) == [1, 2]


def test_a_probe_names_the_server_without_the_password(redis_server: RedisServer) -> None:
    found = RedisSink(redis_server.url, lambda i: ("SET", i, i)).probe()
    place = redis_server.url.rsplit("@", 1)[1]
    assert found == f"Redis at {place}"
    other = f"redis://ada:secret@{place}"
    with pytest.raises(HeadraceError, match="refuses the user") as refusal:
        RedisSink(other, lambda i: ("SET", i, i)).probe()
    assert "ada" not in str(refusal.value)


def test_bad_arguments_fail_where_they_are_written() -> None:
    with pytest.raises(FunctionTypeError, match="redis://host"):
        RedisSink("localhost", lambda i: ("SET", i, i))
    with pytest.raises(FunctionTypeError, match="command"):
        RedisSink("redis://localhost", "SET")  # type: ignore[arg-type]
    with pytest.raises(FunctionTypeError, match="max_retries of at least 0"):
        RedisSink("redis://localhost", lambda i: ("SET", i, i), max_retries=-1)


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(redis_server: RedisServer, tmp_path: Path) -> None:
    name = f"test-{next(_numbers)}"
    sink = RedisSink(redis_server.url, lambda i: ("SADD", name, i))
    client = redis.Redis.from_url(redis_server.url)
    killed_slots.check_sink(
        lambda s: s.sink_to(sink), lambda: list(map(int, client.smembers(name))), tmp_path
    )


def test_the_sink_keeps_the_contract(redis_server: RedisServer) -> None:
    name = f"test-{next(_numbers)}"
    client = redis.Redis.from_url(redis_server.url)
    check_sink(
        lambda: RedisSink(redis_server.url, lambda i: ("SADD", name, i)),
        list(range(60)),
        Types.LONG(),
        read=lambda: list(map(int, client.smembers(name))),
        clear=lambda: client.delete(name),
    )
