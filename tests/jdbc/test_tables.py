"""Sinks and sources with real servers, in this process."""

from __future__ import annotations

import datetime
import itertools
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    upsert_statement,
)
from headrace.datastream.connectors.jdbc.database import database_of
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing import run_in_process
from headrace.testing.connectors import check_sink, check_source
from tools.database_server import DatabaseServer, PostgreSqlServer

pytestmark = pytest.mark.timeout(180)

_numbers = itertools.count(1)
ROW = Types.ROW([Types.INT(), Types.STRING()])


def options_of(server: DatabaseServer, wait_s: float = 60) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(server.url)
        .with_user_name(server.user)
        .with_password(server.password)
        .with_wait_for_server(wait_s)
        .build()
    )


class Table:
    """A table of a test."""

    def __init__(self, server: Any, columns: str) -> None:
        self.server = server
        self.name = f"t{next(_numbers)}"
        self.options = options_of(server)
        self.execute(f"CREATE TABLE {self.name} ({columns})")

    def execute(self, sql: str) -> list[Any]:
        connection = self.server.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def rows(self) -> list[Any]:
        return sorted(self.execute(f"SELECT * FROM {self.name}"))


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def table(server: Any) -> Table:
    return Table(server, "id INT PRIMARY KEY, name VARCHAR(40)")


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


def write(
    rows: list[Row],
    sink: JdbcSink,
    parallelism: int = 2,
    before: Callable[[Any], Any] | None = None,
) -> None:
    env = environment(parallelism)
    stream = env.from_collection(rows, ROW)
    if before is not None:
        stream = stream.map(before, ROW)
    stream.add_sink(sink)
    run_in_process(env, epoch_records=50)


def rows_of(count: int) -> list[Row]:
    return [Row(i, f"100% of {i}?") for i in range(count)]


def test_batches_are_inserted(table: Table) -> None:
    sink = JdbcSink.sink(
        f"INSERT INTO {table.name} (id, name) VALUES (?, ?)",
        ROW,
        table.options,
        JdbcExecutionOptions.builder().with_batch_size(7).build(),
    )
    write(rows_of(120), sink)
    assert table.rows() == [tuple(r) for r in rows_of(120)]


def test_an_upsert_written_twice_changes_nothing(table: Table) -> None:
    sql = upsert_statement(table.options, table.name, ["id", "name"], ["id"])
    sink = JdbcSink.sink(sql, ROW, table.options)
    write([Row(1, "a"), Row(2, "b")], sink)
    write([Row(1, "a"), Row(2, "c")], sink)
    assert table.rows() == [(1, "a"), (2, "c")]


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("INSERT INTO {} (id, title) VALUES (?, ?)", "title"),
        ("INSERT INTO nowhere (id, name) VALUES (?, ?)", "nowhere"),
        ("INSRT INTO {} (id, name) VALUES (?, ?)", "INSRT"),
    ],
)
def test_a_wrong_statement_fails_before_the_first_record(
    table: Table, sql: str, words: str
) -> None:
    sink = JdbcSink.sink(sql.format(table.name), ROW, table.options)
    with pytest.raises(JobExecutionError) as caught:
        write([Row(1, "a")], sink)
    message = str(caught.value)
    assert words in message
    assert "correct the statement, or create the table and columns" in message
    assert "test_tables.py:" in message
    assert "open of the sink" in message


def test_a_row_that_the_table_refuses_says_why(table: Table) -> None:
    sink = JdbcSink.sink(f"INSERT INTO {table.name} VALUES (?, ?)", ROW, table.options)
    with pytest.raises(JobExecutionError, match="refused a batch of 1 records") as caught:
        write([Row(1, "x" * 41)], sink)
    assert "test_tables.py:" in str(caught.value)


def test_a_wrong_password_is_no_reason_to_wait(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, name TEXT")
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(postgresql.url)
        .with_user_name(postgresql.user)
        .with_password("wrong")
        .build()
    )
    sink = JdbcSink.sink(f"INSERT INTO {table.name} VALUES (?, ?)", ROW, options)
    with pytest.raises(JobExecutionError, match="refuses the connection"):
        write([Row(1, "a")], sink)


@pytest.fixture
def own_server(server: Any) -> Iterator[Any]:
    """A server that may be stopped."""
    other = type(server)()
    try:
        yield other.start()
    finally:
        other.remove()


def test_a_server_that_is_away_at_the_start_is_waited_for(own_server: Any) -> None:
    table = Table(own_server, "id INT, name VARCHAR(40)")
    own_server.stop()
    told: list[str] = []

    def tell(line: str) -> None:
        """Start the server when the sink says that it waits."""
        told.append(line)
        if len(told) == 1:
            own_server.start()

    connection = database_of(table.options).connect(tell)
    connection.close()
    assert f"waiting for {own_server.url}" in told[0]
    assert "cannot be reached" in told[0]
    write(rows_of(3), JdbcSink.sink(f"INSERT INTO {table.name} VALUES (?, ?)", ROW, table.options))
    assert table.rows() == [tuple(r) for r in rows_of(3)]


def test_a_server_that_goes_away_later_is_waited_for(own_server: Any) -> None:
    table = Table(own_server, "id INT PRIMARY KEY, name VARCHAR(40)")
    sql = upsert_statement(table.options, table.name, ["id", "name"], ["id"])
    restarted = []

    def restart(row: Row) -> Row:
        if row[0] == 150 and not restarted:
            restarted.append(row)
            own_server.stop()
            own_server.start()
        return row

    SEEN["restart"] = restart
    sink = JdbcSink.sink(sql, ROW, table.options)
    write(rows_of(300), sink, 1, interfere)
    assert restarted
    assert table.rows() == [tuple(r) for r in rows_of(300)]


SEEN: dict[str, Callable[[Row], Row]] = {}


def interfere(row: Row) -> Row:
    """Of this module, so that it reaches what a test has put there."""
    return SEEN["restart"](row)


def test_a_server_that_vanishes_is_noticed(server: Any) -> None:
    connection = database_of(options_of(server)).connect(print)
    number = connection.fileno() if hasattr(connection, "fileno") else connection._sock.fileno()
    with connection, socket.socket(fileno=os.dup(number)) as opened:
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 3


def test_a_server_that_never_comes_fails_the_job(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, name TEXT")
    url = table.options.get_db_url().replace(str(postgresql.port), "1")
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(url)
        .with_wait_for_server(0.3)
        .build()
    )
    sink = JdbcSink.sink(f"INSERT INTO {table.name} VALUES (?, ?)", ROW, options)
    with pytest.raises(JobExecutionError, match="start the server or correct the URL"):
        write([Row(1, "a")], sink)


# Sources.


def read(source: JdbcSource, **settings: Any) -> list[Any]:
    env = environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
    return sorted(
        run_in_process(env, {"rows": stream}, epoch_records=30, **settings)["rows"],
        key=lambda r: tuple(str(v) for v in r),
    )


def filled(server: Any, count: int) -> Table:
    table = Table(server, "id INT, name VARCHAR(40), day DATE")
    day = datetime.date(2024, 1, 1)
    values = [f"({i}, 'n{i}', '{day + datetime.timedelta(i % 31)}')" for i in range(count)]
    table.execute(f"INSERT INTO {table.name} VALUES {', '.join(values)}, (NULL, 'none', NULL)")
    return table


# Rows of one day have no order that is the same again, so that is read without a failure.
@pytest.mark.parametrize(
    ("column", "partitions", "restore_after"),
    [("id", 1, ()), ("id", 4, (2, 3)), ("day", 3, ())],
)
def test_a_table_is_read_in_ranges(
    server: Any, column: str, partitions: int, restore_after: tuple[int, ...]
) -> None:
    table = filled(server, 200)
    source = (
        JdbcSource.builder()
        .set_connection_options(table.options)
        .set_sql(f"SELECT id, name, day FROM {table.name} WHERE name LIKE '%n%'")
        .set_partition_column(column, partitions)
        .set_result_set_fetch_size(20)
        .build()
    )
    found = read(source, restore_after=restore_after)
    assert len(found) == 201
    assert {name for _, name, _ in found} == {f"n{i}" for i in range(200)} | {"none"}


def test_a_query_with_values_for_its_placeholders_makes_rows(server: Any) -> None:
    table = filled(server, 20)
    source = (
        JdbcSource.builder()
        .set_db_url(server.url)
        .set_username(server.user)
        .set_password(server.password)
        .set_sql(f"SELECT id, name FROM {table.name} WHERE id >= ? AND id < ? ORDER BY id")
        .set_parameter_values([(0, 3), (10, 12)])
        .set_type_information(ROW)
        .build()
    )
    assert source.produced_type == ROW
    found = read(source)
    assert sorted(r[0] for r in found) == [0, 1, 2, 10, 11]
    assert all(isinstance(r, Row) for r in found)


def test_an_empty_table_gives_nothing(server: Any) -> None:
    table = Table(server, "id INT")
    source = (
        JdbcSource.builder()
        .set_connection_options(table.options)
        .set_sql(f"SELECT id FROM {table.name}")
        .set_partition_column("id", 4)
        .build()
    )
    assert read(source) == []


def test_a_query_that_the_server_refuses_says_so(postgresql: PostgreSqlServer) -> None:
    source = (
        JdbcSource.builder()
        .set_connection_options(options_of(postgresql))
        .set_sql("SELECT x FROM nowhere")
        .build()
    )
    with pytest.raises(JobExecutionError, match="nowhere"):
        read(source)


def test_a_database_can_be_tried_before_a_job_runs(table: Table) -> None:
    insert = f"INSERT INTO {table.name} (id, name) VALUES (?, ?)"
    assert JdbcSink.sink(insert, ROW, table.options).probe() == str(table.options.url)
    wrong = JdbcSink.sink(insert.replace("name)", "title)"), ROW, table.options)
    with pytest.raises(HeadraceError, match=r"title.*create the table and columns"):
        wrong.probe()
    assert table.execute(f"SELECT * FROM {table.name}") == []


def test_source_and_sink_keep_the_contract(table: Table) -> None:
    rows = [Row(i, f"n{i}") for i in range(60)]
    sql = upsert_statement(table.options, table.name, ["id", "name"], ["id"])
    check_sink(
        lambda: JdbcSink.sink(sql, ROW, table.options),
        rows,
        ROW,
        read=lambda: [Row(*r) for r in table.execute(f"SELECT * FROM {table.name}")],
        clear=lambda: table.execute(f"DELETE FROM {table.name}"),
        parallelisms=(2,),
    )
    source = (
        JdbcSource.builder()
        .set_connection_options(table.options)
        .set_sql(f"SELECT id, name FROM {table.name}")
        .set_type_information(ROW)
        .set_partition_column("id", 4)
        .build()
    )
    check_source(lambda: source, rows, parallelisms=(2,), epoch_records=5)
