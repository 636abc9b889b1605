"""Tables of a real Cassandra, in this process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import GraphError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.datastream.connectors.cassandra import (
    CassandraFailureHandler,
    CassandraSink,
    ConsistencyLevel,
    MapperOptions,
)
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.graph.job_graph import build_job_graph
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink
from tests.faults import killed_slots
from tools.cassandra_server import CassandraServer
from tools.database_server import DatabaseUnavailableError

pytest.importorskip("cassandra.cluster", reason="pip install 'headrace[cassandra]'")
pytestmark = pytest.mark.timeout(1_200)

_numbers = itertools.count(1)


class Tables:
    """A server, and tables of tests in it."""

    def __init__(self, server: CassandraServer) -> None:
        self.port = server.port
        self.cluster, self.session = server.connect()

    def new(self) -> str:
        name = f"shop.t{next(_numbers)}"
        self.session.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, text text)")
        return name

    def rows(self, table: str) -> dict[int, str]:
        return {row.id: row.text for row in self.session.execute(f"SELECT id, text FROM {table}")}

    def write(self, table: str, values: list[Any], **settings: Any) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection(values, Types.TUPLE([Types.INT(), Types.STRING()]))
        builder = CassandraSink.add_sink(stream).set_host("127.0.0.1", self.port)
        builder.set_query(f"INSERT INTO {table} (id, text) VALUES (?, ?)")
        for name, argument in settings.items():
            getattr(builder, name)(*argument)
        builder.build().name("rows").set_parallelism(2)
        run_in_process(env)

    def sink(self, table: str, logged: bool) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = env.from_collection([(1, "a")], Types.TUPLE([Types.INT(), Types.STRING()]))
        builder = CassandraSink.add_sink(stream).set_host("127.0.0.1", self.port)
        builder.set_query(f"INSERT INTO {table} (id, text) VALUES (?, ?)")
        if logged:
            builder.enable_write_ahead_log()
        builder.build()
        vertices = build_job_graph(env.get_stream_graph("contract")).vertices
        specs: list[Any] = [o.spec for v in vertices for o in v.operators]
        return next(spec.sink for spec in specs if spec.kind == "Sink")


@pytest.fixture(scope="module")
def tables() -> Iterator[Tables]:
    try:
        server = CassandraServer()
        try:
            server.start()
            made = Tables(server)
            yield made
            made.cluster.shutdown()
        finally:
            server.remove()
    except DatabaseUnavailableError as error:
        pytest.skip(str(error))


def test_rows_replace_each_other_by_their_key(tables: Tables) -> None:
    table = tables.new()
    values = [(i % 700, f"text {i % 700}") for i in range(2_500)]
    level = MapperOptions().consistency_level(ConsistencyLevel.ONE)
    tables.write(table, values, set_mapper_options=(level,), set_max_concurrent_requests=(50,))
    assert tables.rows(table) == dict(values)


@pytest.mark.parametrize("logged", [False, True], ids=["plain", "logged"])
def test_the_sink_keeps_the_contract(tables: Tables, logged: bool) -> None:
    table = tables.new()
    assert "Cassandra at 127.0.0.1:" in tables.sink(table, logged).probe()
    check_sink(
        lambda: tables.sink(table, logged),
        [(i, f"text {i}") for i in range(60)],
        Types.TUPLE([Types.INT(), Types.STRING()]),
        read=lambda: list(tables.rows(table).items()),
        clear=lambda: tables.session.execute(f"TRUNCATE {table}"),
        bad=(None, "no key"),
        parallelisms=(2,),
    )


def test_nulls_delete_a_value_unless_they_are_ignored(tables: Tables) -> None:
    table = tables.new()
    tables.write(table, [(1, "a"), (2, "b")])
    tables.write(table, [(1, None)])
    tables.write(table, [(2, None)], enable_ignore_null_fields=())
    assert tables.rows(table) == {1: None, 2: "b"}


def test_the_log_writes_once_the_checkpoint_is_complete(tables: Tables) -> None:
    table = tables.new()
    tables.write(table, [(i, f"{i}") for i in range(100)], enable_write_ahead_log=())
    assert tables.rows(table) == {i: f"{i}" for i in range(100)}
    named = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'flink_auxiliary'"
    names = [row.table_name for row in tables.session.execute(named)]
    kept = [tables.session.execute(f"SELECT * FROM flink_auxiliary.{n}").all() for n in names]
    assert any(kept)
    # Another program's checkpoints have the same numbers.
    tables.write(table, [(7, "new")], enable_write_ahead_log=())
    assert tables.rows(table)[7] == "new"


def test_what_cannot_be_written_ends_the_job_or_is_heard_of(tables: Tables) -> None:
    table = tables.new()
    values = [(None, "no key"), (1, "a")]
    with pytest.raises(JobExecutionError, match="could not be written"):
        tables.write(table, values)
    ignored = CassandraFailureHandler(lambda error: None)
    tables.write(table, values, set_failure_handler=(ignored,))
    assert tables.rows(table) == {1: "a"}


def test_a_wrong_query_is_found_before_the_first_record(tables: Tables) -> None:
    with pytest.raises(JobExecutionError, match="refuses the query"):
        tables.write("shop.nowhere", [(1, "a")])


def test_builders_say_what_is_missing() -> None:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection([(1,)])
    with pytest.raises(GraphError, match="set_query"):
        CassandraSink.add_sink(stream).set_host("localhost").build()
    with pytest.raises(GraphError, match="set_host"):
        CassandraSink.add_sink(stream).set_query("INSERT").build()


@pytest.mark.fault
def test_a_slot_is_killed_that_writes(tables: Tables, tmp_path: Path) -> None:
    table = tables.new()

    def write(stream: DataStream[int]) -> None:
        rows = stream.map(lambda i: (i,), Types.TUPLE([Types.INT()]))
        builder = CassandraSink.add_sink(rows).set_host("127.0.0.1", tables.port)
        builder.set_query(f"INSERT INTO {table} (id) VALUES (?)").build()

    killed_slots.check_sink(write, lambda: list(tables.rows(table)), tmp_path)
