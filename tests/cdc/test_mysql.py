"""Changes of tables of a real MariaDB: chunks, the log, and what lies between them."""

from __future__ import annotations

import random
import time
from typing import Any

import pymysql
import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc import MySqlSource, MySqlSourceBuilder, StartupOptions
from headrace.testing.connectors import check_source
from tests.cdc.capturing import Capture, capturing, materialized, ops
from tests.jdbc.test_tables import Table
from tests.kafka.running import Running
from tests.sql.sessions import LocalSession
from tools.database_server import MariaDbServer

pytestmark = pytest.mark.timeout(180)
pytest.importorskip("pymysqlreplication", reason="pip install 'headrace[mysql-cdc]'")


def builder(server: MariaDbServer, tables: str) -> MySqlSourceBuilder:
    return (
        MySqlSource.builder()
        .hostname("127.0.0.1")
        .port(server.port)
        .username(server.user)
        .password(server.password)
        .database_list(server.database)
        .table_list(rf"{server.database}\.(?:{tables})")
    )


def test_rows_come_first_and_then_their_changes(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY, item TEXT")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'pen'), (2, NULL)")
    with capturing(builder(mariadb, table.name).build()) as capture:
        capture.until(lambda: len(capture.records) == 2)
        table.execute(f"UPDATE {table.name} SET item = 'pencil' WHERE id = 1")
        table.execute(f"DELETE FROM {table.name} WHERE id = 2")
        table.execute(f"INSERT INTO {table.name} VALUES (3, 'cap')")
        capture.until(lambda: len(capture.records) == 5)
    assert ops(capture) == [
        ("r", None, (1, "pen")),
        ("r", None, (2, None)),
        ("u", (1, "pen"), (1, "pencil")),
        ("d", (2, None), None),
        ("c", None, (3, "cap")),
    ]
    last = capture.records[-1]
    assert (last.database, last.table) == ("shop", table.name)
    assert abs(last.timestamp_ms - time.time() * 1000) < 600_000


KEYS = {
    "INT PRIMARY KEY": str,
    "VARCHAR(20) PRIMARY KEY": lambda n: f"{'aBcÄz'[n % 5]}{n}",
    "TIMESTAMP(6) PRIMARY KEY": lambda n: f"2024-01-01 00:00:{n // 2:02}.{n % 2}",
    "INT": str,
}


@pytest.mark.parametrize("kind", KEYS)
def test_nothing_is_missing_or_twice_whatever_happens_meanwhile(
    mariadb: MariaDbServer, kind: str
) -> None:
    chance, key = random.Random(kind), KEYS[kind]
    table = Table(mariadb, f"k {kind}, v INT, w INT")
    rows = ", ".join(f"('{key(n)}', {n}, 0)" for n in range(0, 100, 2))
    table.execute(f"INSERT INTO {table.name} VALUES {rows}")
    writers = [Writer(mariadb, f"'{table.name}','{n}'") for n in range(3)]
    capture = Capture(builder(mariadb, table.name).split_size(7).build())
    try:
        split, came = capture.checkpoint(0), 0
        for step in range(120):
            write(chance, writers, table.name, key)
            for _ in range(chance.randrange(3)):
                capture.poll(chance.randrange(1, 9))
            if chance.random() < 0.2:
                split, came = capture.checkpoint(step + 1, complete=True), len(capture.records)
            if chance.random() < 0.1:
                del capture.records[came:]
                capture = capture.go_on(split)
        for writer in writers:
            writer.end()
        there = sorted(table.execute(f"SELECT CAST(v AS INT), CAST(w AS INT) FROM {table.name}"))
        capture.until(lambda: sorted((v, w) for _, v, w in materialized(capture.records)) == there)
    finally:
        capture.close()
        for writer in writers:
            writer.connection.close()


def execute(connection: Any, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


class Writer:
    """Changes a table, in transactions that may stay open or prepared for a while."""

    def __init__(self, server: MariaDbServer, name: str) -> None:
        self.connection, self.name = server.connect(), name
        self.begun: str | None = None
        self.execute("SET innodb_lock_wait_timeout = 0")

    def execute(self, sql: str) -> None:
        execute(self.connection, sql)

    def begin(self, how: str) -> None:
        self.end()
        self.execute(how if how == "BEGIN" else f"{how} {self.name}")
        self.begun = how

    def prepare(self) -> None:
        self.execute(f"XA END {self.name}")
        self.execute(f"XA PREPARE {self.name}")
        self.begun = "PREPARED"

    def end(self, how: str = "COMMIT") -> None:
        if self.begun == "XA START":
            self.prepare()
        xa = self.begun == "PREPARED"
        self.execute(f"XA {how} {self.name}" if xa else how)
        self.begun = None


def write(chance: random.Random, writers: list[Writer], table: str, key: Any) -> None:
    """One change, and perhaps the beginning or the end of a transaction."""
    writer = chance.choice(writers)
    if chance.random() < 0.3:
        writer.begin(chance.choice(["BEGIN", "XA START"]))
    one, other = f"'{key(chance.randrange(100))}'", f"'{key(chance.randrange(100))}'"
    count = chance.randrange(1_000_000)
    statements = [
        f"DELETE FROM {table} WHERE k = {one}",
        f"UPDATE {table} SET w = {count} WHERE k = {one}",
        # A row that moves to another chunk, perhaps.
        f"UPDATE IGNORE {table} SET k = {other} WHERE k = {one}",
        f"INSERT IGNORE INTO {table} VALUES ({one}, 1, {count})",
    ]
    if writer.begun != "PREPARED":
        try:
            writer.execute(chance.choice(statements))
        except pymysql.err.OperationalError:
            # The transaction of another writer has the row.
            writer.end("ROLLBACK")
            return
    if writer.begun == "XA START" and chance.random() < 0.3:
        writer.prepare()
    elif chance.random() < 0.4:
        writer.end("COMMIT" if chance.random() < 0.7 else "ROLLBACK")


def test_a_transaction_that_was_read_in_part_goes_on_there(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    capture = Capture(builder(mariadb, table.name).build())
    try:
        table.execute(f"INSERT INTO {table.name} SELECT seq FROM seq_1_to_10")
        capture.until(lambda: len(capture.records) == 4, max_records=1)
        capture = capture.go_on(capture.checkpoint(1))
        table.execute(f"INSERT INTO {table.name} VALUES (11)")
        capture.until(lambda: len(capture.records) == 11, max_records=3)
        assert [r.after for r in capture.records] == [{"id": n} for n in range(1, 12)]
    finally:
        capture.close()


def test_a_source_starts_where_it_is_told_to(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    [(file, position, *_)] = table.execute("SHOW MASTER STATUS")
    table.execute(f"INSERT INTO {table.name} VALUES (1)")
    table.execute("FLUSH BINARY LOGS")
    table.execute(f"INSERT INTO {table.name} VALUES (2)")

    def came(options: StartupOptions, count: int) -> list[Any]:
        with capturing(builder(mariadb, table.name).startup_options(options).build()) as capture:
            capture.until(lambda: len(capture.records) == count)
            return [r.after["id"] for r in capture.records if r.after is not None]

    assert came(StartupOptions.earliest(), 2) == [1, 2]
    assert came(StartupOptions.specific_offset(file, position), 2) == [1, 2]
    assert came(StartupOptions.timestamp(1), 2) == [1, 2]
    assert came(StartupOptions.snapshot(), 2) == [1, 2]
    latest = builder(mariadb, table.name).startup_options(StartupOptions.latest())
    with capturing(latest.build()) as capture:
        table.execute(f"INSERT INTO {table.name} VALUES (3)")
        capture.until(lambda: len(capture.records) == 1)
        assert ops(capture) == [("c", None, (3,))]
    lost = StartupOptions.specific_offset("log.000000", 4)
    with pytest.raises(HeadraceError, match="so changes are lost"):
        came(lost, 1)


CHANGED = {
    "ALTER TABLE {} RENAME COLUMN v TO x": "column 'v' was dropped or renamed",
    "/* tidy */ ALTER ONLINE TABLE {} DROP COLUMN v": "column 'v' was dropped or renamed",
    "ALTER IGNORE TABLE {} MODIFY COLUMN v BIGINT": "column 'v' is now bigint",
    "RENAME TABLE {0} TO {0}_old": "it was dropped or renamed",
    "CREATE OR REPLACE TABLE {} (id INT PRIMARY KEY, v INT)": "was dropped or made anew",
    "DROP TABLE {}": "was dropped or made anew",
}


@pytest.mark.parametrize("change", CHANGED)
def test_a_table_that_changes_is_an_error(mariadb: MariaDbServer, change: str) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY, v INT")
    with capturing(builder(mariadb, table.name).build()) as capture:
        table.execute(f"INSERT INTO {table.name} VALUES (1, 1)")
        capture.until(lambda: len(capture.records) == 1)
        table.execute(change.format(table.name))
        with pytest.raises(HeadraceError, match=CHANGED[change]):
            capture.until(lambda: len(capture.records) == 2)


def test_a_table_that_is_truncated_keeps_its_rows(mariadb: MariaDbServer, caplog: Any) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    table.execute(f"INSERT INTO {table.name} VALUES (1)")
    with capturing(builder(mariadb, table.name).build()) as capture:
        capture.until(lambda: len(capture.records) == 1)
        table.execute(f"TRUNCATE {table.name}")
        table.execute(f"INSERT INTO {table.name} VALUES (2)")
        capture.until(lambda: len(capture.records) == 2)
    assert f"TRUNCATE of shop.{table.name} is not a change of rows" in caplog.text


def test_what_is_missing_is_said_with_its_remedy(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    with pytest.raises(HeadraceError, match="no table matches"):
        Capture(builder(mariadb, "nothing").build())
    with pytest.raises(HeadraceError, match="has no column colour"):
        Capture(builder(mariadb, table.name).columns("id", "colour").build())


def test_a_query_follows_the_table(mariadb: MariaDbServer) -> None:
    columns = (
        "id INT PRIMARY KEY, a FLOAT, b DECIMAL(8, 3), c BOOLEAN, d DATETIME(6), e TIMESTAMP(3), "
        "f TIME, g ENUM('x', 'y'), h SET('p', 'q'), i BLOB, j BIGINT UNSIGNED, k CHAR(5), l BIT(1)"
    )
    table = Table(mariadb, columns)
    values = (
        "3.14159274, 12.345, true, '2024-02-29 01:02:03.456789', '2024-02-29 01:02:03.5', "
        "'12:34:56', 'y', 'q,p', x'00ff', 18446744073709551615, 'ä', b'1'"
    )
    table.execute(f"INSERT INTO {table.name} VALUES (1, {values})")
    declared = (
        "id INT, a FLOAT, b DECIMAL(8, 3), c BOOLEAN, d TIMESTAMP(6), e TIMESTAMP_LTZ(3), "
        "f TIME(0), g STRING, h STRING, i BYTES, j DECIMAL(20, 0), k STRING, l BOOLEAN, "
        "name STRING METADATA FROM 'table_name' VIRTUAL, PRIMARY KEY (id) NOT ENFORCED"
    )
    session = LocalSession(parallelism=2)
    session.execute(
        f"CREATE TABLE t ({declared}) WITH ('connector' = 'mysql-cdc', 'hostname' = '127.0.0.1', "
        f"'port' = '{mariadb.port}', 'username' = '{mariadb.user}', 'password' = "
        f"'{mariadb.password}', 'database-name' = '{mariadb.database}', 'table-name' = "
        f"'{table.name}', 'server-id' = '5401-5408')"
    )
    stream = session.session.translator().stream(session.plan("SELECT * FROM t"))
    with Running(session.env, stream) as job:
        job.run_until(lambda: len(job.rows) == 1)
        table.execute(f"UPDATE {table.name} SET id = 2")
        job.run_until(lambda: len(job.rows) == 3)
    before, taken, after = sorted(job.rows, key=lambda row: (row[0], row[-1]))
    # What was read from the table is taken back as it was, and comes again from the log.
    assert before[:-1] == taken[:-1]
    assert before[1:-1] == after[1:-1]
    assert before[-2] == table.name


def test_rows_and_changes_keep_the_contract(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY, v INT")
    rows = ", ".join(f"({n}, {n * n})" for n in range(20))
    table.execute(f"INSERT INTO {table.name} VALUES {rows}")
    made = builder(mariadb, table.name).split_size(7).deserializer(lambda change: [change.after])
    check_source(made.build, [(n, n * n) for n in range(20)], parallelisms=(2,), epoch_records=4)
