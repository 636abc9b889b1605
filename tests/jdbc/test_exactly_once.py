"""The exactly-once sink with real servers: each step of its protocol, and kills."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.common.errors import JobExecutionError
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream.connectors.base import RetriableCommitError
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.connectors.jdbc import JdbcExactlyOnceOptions, JdbcSink
from headrace.datastream.connectors.jdbc.exactly_once import TransactionCommitter
from headrace.datastream.connectors.jdbc.prepared import (
    PreparedTransaction,
    Transactions,
    transactions_of,
)
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing.connectors import check_sink
from headrace.testing.runner import MiniRunner
from tests.jdbc.test_tables import Table
from tests.unit.datastream.connectors.reading import FakeWriterContext
from tools.database_server import MariaDbServer, PostgreSqlServer

pytestmark = pytest.mark.timeout(300)

ROW = Types.ROW([Types.INT(), Types.STRING()])


@pytest.fixture(params=["postgresql", "mariadb"])
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table(request.getfixturevalue(request.param), "id INT, name TEXT")
    yield made
    assert prepared(made) == []


@contextlib.contextmanager
def connected(table: Table) -> Iterator[tuple[Transactions, Any]]:
    transactions = transactions_of(table.options)
    connection = transactions.database.connect(print, autocommit=True)
    try:
        yield transactions, connection
    finally:
        connection.close()


def prepared(table: Table) -> list[str]:
    """Names of the transactions that wait in the server."""
    with connected(table) as (transactions, connection):
        return transactions.waiting(connection)


def roll_back(table: Table, name: str) -> None:
    with connected(table) as (transactions, connection):
        transactions.roll_back(connection, name)


def sink_of(table: Table, prefix: str | None = None) -> JdbcSink:
    builder = JdbcExactlyOnceOptions.builder()
    if prefix is not None:
        builder.with_transaction_id_prefix(prefix)
    sql = f"INSERT INTO {table.name} (id, name) VALUES (?, ?)"
    return JdbcSink.exactly_once_sink(sql, ROW, table.options, builder.build())


def runner_of(table: Table, count: int = 6, **how: Any) -> MiniRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    rows = [Row(i, f"n{i}") for i in range(count)]
    env.from_collection(rows, ROW).add_sink(sink_of(table, **how)).set_parallelism(2)
    return MiniRunner(env.get_job_graph(), epoch_records=2)


def ids(table: Table) -> list[int]:
    return [row[0] for row in table.rows()]


def test_a_job_to_its_end(table: Table) -> None:
    runner_of(table).run()
    assert ids(table) == list(range(6))


def test_the_sink_keeps_the_contract(table: Table) -> None:
    check_sink(
        lambda: sink_of(table),
        [Row(i, f"n{i}") for i in range(40)],
        ROW,
        read=lambda: [Row(*row) for row in table.rows()],
        clear=lambda: table.execute(f"DELETE FROM {table.name}"),
        parallelisms=(2,),
        epoch_records=4,
    )


def test_nothing_is_seen_before_the_commit_and_a_restore_commits(table: Table) -> None:
    runner = runner_of(table)
    runner.open()
    runner.run_epoch()
    before = ids(table)
    assert len(before) in (2, 4)
    # What no checkpoint knows is rolled back by the recovery.
    snapshot = runner.snapshot()
    subtask = runner.subtask("Sink: Unnamed")
    for operator in subtask.operators.values():
        writer = getattr(operator, "_writer", None)
        if writer is not None:
            writer.write([Row(99, "stale")], None)
            writer.flush(False)
            assert len(writer.prepare_commit(7, False)) == 1
    assert len(prepared(table)) == 1
    assert ids(table) == before
    runner.restore(snapshot)
    assert prepared(table) == []
    while not runner.finished:
        runner.run_epoch()
    runner.close()
    assert ids(table) == list(range(6))


def transaction(table: Table, name: str, value: int) -> PreparedTransaction:
    """A transaction that waits, as a writer leaves it."""
    transactions = transactions_of(table.options)
    connection = transactions.database.connect(print)
    transactions.begin(connection, name)
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table.name} VALUES ({value}, 'x')")
    made = transactions.prepare(connection, name)
    connection.close()
    return made


def test_names_of_transactions_cannot_leave_their_quotes(table: Table) -> None:
    name = "odd'; DROP TABLE x; --\\:x"
    waiting = transaction(table, name, 1)
    TransactionCommitter(table.options, FakeWriterContext()).commit([waiting])
    assert ids(table) == [1]
    transaction(table, name, 2)
    with connected(table) as (transactions, connection):
        assert transactions.roll_back_stale(connection, ["odd"], set()) == [name]
    assert ids(table) == [1]


def test_a_commit_may_be_repeated(table: Table) -> None:
    waiting = transaction(table, "repeat:1", 1)
    committer = TransactionCommitter(table.options, FakeWriterContext())
    assert ids(table) == []
    committer.commit([waiting])
    committer.commit([waiting])
    committer.close()
    assert ids(table) == [1]


def test_a_transaction_that_somebody_rolled_back_is_an_error(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, name TEXT")
    waiting = transaction(table, "lost:1", 1)
    roll_back(table, "lost:1")
    committer = TransactionCommitter(table.options, FakeWriterContext())
    with pytest.raises(Exception, match="something else rolled it back"):
        committer.commit([waiting])
    committer.close()


def test_only_stale_transactions_of_the_prefix_are_rolled_back(table: Table) -> None:
    runner_of(table, 2, prefix="orders").run()
    transaction(table, "orders-of-another:1", 7)
    stale = runner_of(table, 2, prefix="orders")
    operator = stale.job_graph.vertices[-1].operators[-1].operator_id
    transaction(table, f"orders:{operator[:16]}:0-aa", 8)
    stale.run()
    assert prepared(table) == ["orders-of-another:1"]
    roll_back(table, "orders-of-another:1")
    assert ids(table) == [0, 0, 1, 1]


def test_a_commit_waits_for_the_connection_that_has_prepared(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT, name TEXT")
    transactions = transactions_of(table.options)
    holder = transactions.database.connect(print)
    transactions.begin(holder, "held:1")
    with holder.cursor() as cursor:
        cursor.execute(f"INSERT INTO {table.name} VALUES (1, 'x')")
    waiting = transactions.prepare(holder, "held:1")
    committer = TransactionCommitter(table.options, FakeWriterContext())
    with pytest.raises(RetriableCommitError, match="still held"):
        committer.commit([waiting])
    holder.close()
    while prepared(table):
        with contextlib.suppress(RetriableCommitError):
            committer.commit([waiting])
    committer.close()
    assert ids(table) == [1]


def test_a_server_that_allows_no_prepared_transactions_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = PostgreSqlServer()
    command = other._command()
    monkeypatch.setattr(
        other, "_command", lambda: [c.replace("transactions=32", "transactions=0") for c in command]
    )
    try:
        other.start()
        bare = Table(other, "id INT, name TEXT")
        with pytest.raises(JobExecutionError, match="max_prepared_transactions = 0"):
            runner_of(bare).run()
    finally:
        other.remove()


RECORDS = 1_500
STEPS = ("before prepare", "after prepare", "before commit", "after commit")


class Killing(JdbcSink):
    """Kills the slot at each step, the first time that any subtask gets there."""

    markers = ""

    def create_writer(self, context: Any) -> Any:
        writer = super().create_writer(context)
        prepare = writer.prepare_commit

        def prepare_commit(checkpoint: int, end_of_input: bool) -> list[Any]:
            self.at("before prepare")
            done: list[Any] = prepare(checkpoint, end_of_input)
            if done:
                self.at("after prepare")
            return done

        writer.prepare_commit = prepare_commit  # type: ignore[method-assign]
        return writer

    def create_committer(self, context: Any) -> Any:
        committer = super().create_committer(context)
        assert committer is not None
        commit = committer.commit

        def guarded(committables: list[Any]) -> None:
            self.at("before commit")
            commit(committables)
            self.at("after commit")

        committer.commit = guarded  # type: ignore[method-assign]
        return committer

    def at(self, step: str) -> None:
        marker = Path(self.markers, step)
        with contextlib.suppress(FileExistsError):
            marker.touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.spark
@pytest.mark.usefixtures("room_for_live_jobs")
@pytest.mark.parametrize(
    ("table", "carrier"), [("postgresql", "live"), ("mariadb", "epochs")], indirect=["table"]
)
def test_slots_killed_between_all_steps(table: Table, carrier: str, tmp_path: Path) -> None:
    plain = sink_of(table)
    sink = Killing(**vars(plain))
    object.__setattr__(sink, "markers", str(tmp_path))
    settings = {
        "spark.master": "local[2]",
        "execution.carrier": carrier,
        "execution.epoch.target": "150 ms",
        "execution.checkpointing.interval": "200 ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "9",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda i: i, RECORDS, RateLimiterStrategy.per_second(RECORDS))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    stream.map(lambda i: Row(i, f"n{i}"), ROW).add_sink(sink)
    env.execute("killed at each step")
    assert {marker.name for marker in tmp_path.iterdir()} == set(STEPS)
    assert ids(table) == list(range(RECORDS))
