"""XA transactions of a real MariaDB: in its log when they are prepared, in tables later."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.datastream.connectors.cdc import StartupOptions
from headrace.datastream.connectors.cdc.mysql_xa import xa_command
from tests.cdc.capturing import Capture, capturing, materialized, ops
from tests.cdc.test_mysql import builder, execute
from tests.jdbc.test_tables import Table
from tools.database_server import MariaDbServer

pytestmark = pytest.mark.timeout(180)
pytest.importorskip("pymysqlreplication", reason="pip install 'headrace[mysql-cdc]'")


class Transaction:
    """One that is prepared, on a connection of its own."""

    def __init__(self, server: MariaDbServer, name: str, *statements: str) -> None:
        self._connection, self._name = server.connect(), name
        for command in (f"XA START {name}", *statements, f"XA END {name}", f"XA PREPARE {name}"):
            execute(self._connection, command)

    def end(self, how: str = "COMMIT") -> None:
        execute(self._connection, f"XA {how} {self._name}")
        self._connection.close()


def insert(table: Table, row: int) -> str:
    return f"INSERT INTO {table.name} VALUES ({row})"


@pytest.fixture
def table(mariadb: MariaDbServer) -> Table:
    return Table(mariadb, "id INT PRIMARY KEY")


def test_the_name_of_a_transaction_is_that_of_its_end() -> None:
    assert xa_command("XA END X'6127',X'71',7") == ("END", "X'6127',X'71',7")
    assert xa_command("xa  commit X'6127',X'',1 ") == ("COMMIT", "X'6127',X'',1")
    assert xa_command("BEGIN") is None


def test_a_transaction_counts_when_it_is_committed(mariadb: MariaDbServer, table: Table) -> None:
    table.execute(insert(table, 1))
    with capturing(builder(mariadb, table.name).build()) as capture:
        seen = Transaction(mariadb, "'a'", insert(table, 2))
        # The chunk is read between the two, and does not see the row.
        capture.until(lambda: len(capture.records) == 1)
        seen.end()
        Transaction(mariadb, "'b'", insert(table, 3)).end("ROLLBACK")
        Transaction(mariadb, "'a','branch',9", f"DELETE FROM {table.name} WHERE id = 1").end()
        with mariadb.connect() as connection:
            for command in ("XA START 'c'", insert(table, 4), "XA END 'c'"):
                execute(connection, command)
            execute(connection, "XA COMMIT 'c' ONE PHASE")
        capture.until(lambda: len(capture.records) == 4)
    expected = [("r", None, (1,)), ("c", None, (2,)), ("d", (1,), None), ("c", None, (4,))]
    assert ops(capture) == expected


def test_what_is_prepared_is_read_again_after_a_restart(
    mariadb: MariaDbServer, table: Table
) -> None:
    capture = Capture(builder(mariadb, table.name).build())
    transactions = []
    try:
        capture.poll()
        for number in range(2):
            rows = ", ".join(f"({n})" for n in range(10 * number, 10 * number + 3))
            statement = f"INSERT INTO {table.name} VALUES {rows}"
            transactions.append(Transaction(mariadb, f"'r{number}'", statement))
            table.execute(insert(table, 100 + number))
        table.execute("FLUSH BINARY LOGS")
        table.execute(insert(table, 102))
        capture.until(lambda: len(capture.records) == 3)
        capture = capture.go_on(capture.checkpoint(1))
        transactions[1].end()
        # In the middle of what the transaction changed.
        capture.until(lambda: len(capture.records) == 5, max_records=1)
        capture = capture.go_on(capture.checkpoint(2))
        transactions[0].end()
        table.execute(insert(table, 103))
        capture.until(lambda: len(capture.records) == 10)
        assert capture.checkpoint(3).position.since is None
    finally:
        capture.close()
    came = [row for (row,) in materialized(capture.records)]
    assert came == [0, 1, 2, 10, 11, 12, 100, 101, 102, 103]
    assert len(capture.records) == 10


def test_no_transaction_commits_while_a_chunk_begins(mariadb: MariaDbServer, table: Table) -> None:
    """XA COMMIT is in the log a moment before its rows can be seen; a lock waits for both."""

    def flushes() -> int:
        [(_, count)] = table.execute("SHOW GLOBAL STATUS LIKE 'Com_flush'")
        return int(count)

    Transaction(mariadb, "'some'", insert(table, 1)).end()
    before = flushes()
    with capturing(builder(mariadb, table.name).build()) as capture:
        capture.until(lambda: len(capture.records) == 1)
    assert flushes() > before


@pytest.mark.parametrize("options", [StartupOptions.initial(), StartupOptions.latest()])
def test_reading_begins_behind_what_is_prepared(
    mariadb: MariaDbServer, table: Table, options: StartupOptions, caplog: Any
) -> None:
    early = Transaction(mariadb, "'early'", insert(table, 1))
    source = builder(mariadb, table.name).startup_options(options).build()
    found: list[Capture] = []
    thread = threading.Thread(target=lambda: found.append(Capture(source)))
    thread.start()
    while "waiting for the end of 1 XA" not in caplog.text:
        assert thread.is_alive()
        thread.join(0.05)
    early.end()
    thread.join()
    [capture] = found
    try:
        table.execute(insert(table, 2))
        capture.until(lambda: (None, (2,)) in [change[1:] for change in ops(capture)])
    finally:
        capture.close()
    rows = [1, 2] if options.mode == "initial" else [2]
    assert [row for (row,) in materialized(capture.records)] == rows
