"""Changes of tables of a real PostgreSQL: chunks, the log, and what lies between them."""

from __future__ import annotations

import itertools
import os
import random
import socket
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from headrace.common.errors import GraphError, HeadraceError
from headrace.datastream.connectors.cdc import PostgresSource, StartupOptions
from headrace.datastream.connectors.cdc.postgres_settings import connected
from headrace.datastream.connectors.jdbc.url import JdbcUrl
from headrace.testing.connectors import check_source
from tests.cdc.capturing import (
    Capture,
    Shop,
    capturing,
    materialized,
    ops,
    read_on,
    refused,
)
from tools.database_server import PostgreSqlServer

pytestmark = pytest.mark.timeout(180)


def test_rows_come_first_and_then_their_changes(shop: Shop) -> None:
    shop.table("orders", "id INT PRIMARY KEY, item TEXT, note TEXT")
    long = "".join(random.Random(1).choices("abcdefghijklmnop", k=20_000))
    shop.execute(f"INSERT INTO orders VALUES (1, 'pen', '{long}'), (2, 'ink', NULL)")
    with capturing(shop.builder("orders").build()) as capture:
        capture.until(lambda: len(capture.records) == 2)
        shop.execute("UPDATE orders SET item = 'pencil' WHERE id = 1")
        shop.execute("DELETE FROM orders WHERE id = 2")
        shop.execute("INSERT INTO orders VALUES (3, 'cap', 'x')")
        capture.until(lambda: len(capture.records) == 5)
    assert ops(capture) == [
        ("r", None, (1, "pen", long)),
        ("r", None, (2, "ink", None)),
        # The note is not sent again: it is large, and was not changed.
        ("u", (1, "pen", long), (1, "pencil", long)),
        ("d", (2, "ink", None), None),
        ("c", None, (3, "cap", "x")),
    ]
    first, last = capture.records[0], capture.records[-1]
    assert (first.database, first.schema, first.table) == ("shop", shop.name, "orders")
    assert first.timestamp_ms == 0
    [(now,)] = shop.execute("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    assert now - 600_000 < last.timestamp_ms <= now


KEYS = {
    "INT PRIMARY KEY": str,
    "TEXT PRIMARY KEY": lambda n: f"{'aBcÄz'[n % 5]}{n}",
    "UUID PRIMARY KEY": lambda n: f"{n * 7919 % 10_007:032x}",
    "INT": str,
}


@pytest.mark.parametrize("kind", KEYS)
def test_nothing_is_missing_or_twice_whatever_happens_meanwhile(shop: Shop, kind: str) -> None:
    chance, key = random.Random(kind), KEYS[kind]
    shop.table("t", f"k {kind}, v INT, w INT")
    shop.execute(
        "INSERT INTO t VALUES " + ", ".join(f"('{key(n)}', {n}, 0)" for n in range(0, 100, 2))
    )
    writers = [shop.server.connect() for _ in range(3)]
    for writer in writers:
        writer.execute(f"SET search_path TO {shop.name}")
        writer.execute("SET lock_timeout TO '20ms'")
    try:
        capture = Capture(shop.builder("t").split_size(7).build())
        split = capture.checkpoint(0)
        came = 0
        for step in range(120):
            write(chance, writers, key)
            for _ in range(chance.randrange(3)):
                capture.poll(chance.randrange(1, 9))
            if chance.random() < 0.2:
                split, came = capture.checkpoint(step + 1, complete=True), len(capture.records)
            if chance.random() < 0.1:
                del capture.records[came:]
                capture = capture.go_on(split)
        for writer in writers:
            writer.execute("COMMIT")
        there = sorted(tuple(r) for r in shop.execute("SELECT k::text, v, w FROM t"))
        capture.until(
            lambda: sorted((str(k), v, w) for k, v, w in materialized(capture.records)) == there
        )
    finally:
        capture.close()
        for writer in writers:
            writer.close()


def write(chance: random.Random, writers: list[Any], key: Any) -> None:
    """One change, in a transaction that may stay open for a while."""
    writer = chance.choice(writers)
    status = writer.info.transaction_status
    if status == psycopg.pq.TransactionStatus.IDLE and chance.random() < 0.5:
        writer.execute("BEGIN")
    one, other = f"'{key(chance.randrange(100))}'", f"'{key(chance.randrange(100))}'"
    absent = "NOT EXISTS (SELECT FROM t WHERE k = {})"
    count = chance.randrange(1_000_000)
    statements = [
        f"DELETE FROM t WHERE k = {one}",
        f"UPDATE t SET w = {count} WHERE k = {one}",
        # A row that moves to another chunk, perhaps.
        f"UPDATE t SET k = {other} WHERE k = {one} AND {absent.format(other)}",
        f"INSERT INTO t VALUES ({one}, 1, {count}) ON CONFLICT DO NOTHING",
    ]
    try:
        writer.execute(chance.choice(statements))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.UniqueViolation):
        # The transaction of another writer has the row.
        writer.execute("ROLLBACK")
        return
    if chance.random() < 0.4:
        writer.execute("COMMIT" if chance.random() < 0.7 else "ROLLBACK")


def test_a_transaction_that_was_read_in_part_goes_on_there(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    capture = Capture(shop.builder("t").build())
    try:
        shop.execute("INSERT INTO t SELECT * FROM generate_series(1, 10)")
        capture.until(lambda: len(capture.records) == 4, max_records=1)
        capture = capture.go_on(capture.checkpoint(1))
        shop.execute("INSERT INTO t VALUES (11)")
        capture.until(lambda: len(capture.records) == 11, max_records=3)
        assert [r.after for r in capture.records] == [{"id": n} for n in range(1, 12)]
    finally:
        capture.close()


def test_the_log_is_let_go_with_completed_checkpoints_alone(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    shop.table("elsewhere", "id INT")
    with capturing(shop.builder("t").heartbeat_interval(0.05).build()) as capture:
        start = shop.confirmed()
        for count in (1, 2, 3):
            shop.execute(f"INSERT INTO t VALUES ({count})")
            capture.until(lambda count=count: len(capture.records) == count)
            capture.checkpoint(count)
        assert shop.confirmed() == start
        # What other tables do moves on as well, with the server's heartbeats.
        shop.execute("INSERT INTO elsewhere SELECT * FROM generate_series(1, 100)")
        [(end,)] = shop.execute("SELECT pg_current_wal_lsn()")
        passed = f"SELECT pg_lsn '{end}' <= confirmed_flush_lsn FROM pg_replication_slots"
        numbers = itertools.count(4)

        def confirmed() -> bool:
            capture.checkpoint(next(numbers), complete=True)
            return bool(shop.execute(f"{passed} WHERE slot_name = '{shop.name}'")[0][0])

        capture.until(confirmed)


def test_many_tables_are_one_source(shop: Shop) -> None:
    for name in ("orders_1", "orders_2", "other"):
        shop.table(name, "id INT PRIMARY KEY")
        shop.execute(f"INSERT INTO {name} VALUES (1)")
    with capturing(shop.builder(r"orders_\d").build()) as capture:
        capture.until(lambda: len(capture.records) == 2)
        for name in ("orders_1", "other", "orders_2"):
            shop.execute(f"INSERT INTO {name} VALUES (2)")
        capture.until(lambda: len(capture.records) == 4)
    found = [(r.table, r.after) for r in capture.records]
    assert found == [
        ("orders_1", {"id": 1}),
        ("orders_2", {"id": 1}),
        ("orders_1", {"id": 2}),
        ("orders_2", {"id": 2}),
    ]


def test_a_source_starts_where_it_is_told_to(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    shop.execute("INSERT INTO t VALUES (1)")
    builder = shop.builder("t").startup_options(StartupOptions.snapshot())
    with capturing(builder.build()) as capture:
        while capture.poll():
            pass
        assert capture.reader.exhausted
        assert ops(capture) == [("r", None, (1,))]
    committed = shop.builder("t").startup_options(StartupOptions.committed())
    with pytest.raises(HeadraceError, match="which does not exist; start with 'initial', or run"):
        Capture(committed.build())
    with capturing(shop.builder("t").startup_options(StartupOptions.latest()).build()) as capture:
        shop.execute("INSERT INTO t VALUES (2)")
        capture.until(lambda: len(capture.records) == 1)
        assert ops(capture) == [("c", None, (2,))]
        capture.checkpoint(1, complete=True)
    shop.execute("INSERT INTO t VALUES (3)")
    with capturing(committed.build()) as capture:
        capture.until(lambda: len(capture.records) == 1)
        assert ops(capture) == [("c", None, (3,))]


CHANGED = {
    "ALTER TABLE t RENAME COLUMN v TO x": "column 'v' was dropped or renamed",
    "ALTER TABLE t DROP COLUMN v": "column 'v' was dropped or renamed",
    "ALTER TABLE t ALTER COLUMN v TYPE BIGINT": "column 'v' has another type",
    "ALTER TABLE t RENAME TO u": "it is now called",
}


@pytest.mark.parametrize("statement", CHANGED)
def test_a_table_that_changes_is_an_error(shop: Shop, statement: str) -> None:
    shop.table("t", "id INT PRIMARY KEY, v INT")
    with capturing(shop.builder("t").build()) as capture:
        for number in (1, 2):
            shop.execute(f"INSERT INTO t VALUES ({number}, 1)")
            capture.until(lambda count=number: len(capture.records) == count)
        shop.execute(statement)
        name = "u" if "TO u" in statement else "t"
        shop.execute(f"INSERT INTO {name} (id) VALUES (3)")
        with pytest.raises(HeadraceError, match=CHANGED[statement]):
            capture.until(lambda: len(capture.records) == 3)


def test_a_new_column_is_left_alone(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    with capturing(shop.builder("t").build()) as capture:
        shop.execute("INSERT INTO t VALUES (1)")
        capture.until(lambda: len(capture.records) == 1)
        shop.execute("ALTER TABLE t ADD COLUMN v INT DEFAULT 7")
        shop.execute("INSERT INTO t VALUES (2)")
        capture.until(lambda: len(capture.records) == 2)
        assert capture.records[1].after == {"id": 2}


def test_what_is_missing_is_said_with_its_remedy(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY", full=False)
    assert f'ALTER TABLE "{shop.name}"."t" REPLICA IDENTITY FULL;' in refused(
        shop.builder("t").build()
    )
    shop.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    assert "no table matches" in refused(shop.builder("nothing").build())
    message = refused(shop.builder("t").columns("id", "colour").build())
    assert "has no column colour" in message
    message = refused(shop.builder("t").publication_name(shop.name, create=False).build())
    assert f'CREATE PUBLICATION "{shop.name}" FOR TABLE ONLY "{shop.name}"."t";' in message
    # An hour would be waited for it.
    with pytest.raises(HeadraceError, match="cannot be reached"):
        shop.builder("t").port(1).wait_for_server(3_600).build().probe()
    with pytest.raises(GraphError, match="lower-case letters"):
        shop.builder("t").slot_name("My-Slot")


def test_privileges_are_asked_for(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    user = f"{shop.name}_reader"
    shop.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'secret'")
    try:
        shop.execute(f"GRANT USAGE ON SCHEMA {shop.name} TO {user}")
        source = shop.builder("t").username(user).password("secret").build()
        publishing = f'CREATE PUBLICATION "{shop.name}" FOR TABLE ONLY "{shop.name}"."t";'
        selecting = f'GRANT SELECT ON "{shop.name}"."t" TO "{user}";'
        replicating = f'ALTER ROLE "{user}" REPLICATION;'
        slots = f"pg_replication_slots WHERE slot_name = '{shop.name}'"

        def probed() -> str:
            with pytest.raises(HeadraceError) as caught:
                source.probe()
            return str(caught.value)

        assert selecting in probed()
        assert publishing in refused(source)
        shop.execute(f"CREATE PUBLICATION {shop.name} FOR TABLE t")
        assert selecting in refused(source)
        shop.execute(f"GRANT SELECT ON t TO {user}")
        assert replicating in refused(source)
        assert replicating in probed()
        shop.execute(f"DROP PUBLICATION {shop.name}")
        assert publishing in probed()
        shop.execute(f"CREATE PUBLICATION {shop.name} FOR TABLE t")
        shop.execute(f"ALTER ROLE {user} REPLICATION")
        assert source.probe().startswith("1 table of ")
        committed = shop.builder("t").startup_options(StartupOptions.committed()).build()
        with pytest.raises(HeadraceError, match="pg_create_logical_replication_slot"):
            committed.probe()
        with capturing(source) as capture:
            capture.until(lambda: bool(shop.execute(f"SELECT 1 FROM {slots} AND active")))
            assert "is read by somebody else: process" in probed()
            shop.execute("INSERT INTO t VALUES (1)")
            capture.until(lambda: len(capture.records) == 1)
    finally:
        shop.execute(f"DROP OWNED BY {user}")
        shop.execute(f"DROP ROLE {user}")


def test_a_slot_that_is_gone_or_ahead_has_lost_changes(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    capture = Capture(shop.builder("t").build())
    try:
        old, start = capture.checkpoint(0), shop.confirmed()
        shop.execute("INSERT INTO t VALUES (1)")
        numbers = itertools.count(1)

        def confirmed() -> bool:
            capture.checkpoint(next(numbers), complete=True)
            return shop.confirmed() != start

        capture.until(confirmed)
        capture = capture.go_on(old)
        with pytest.raises(HeadraceError, match="changes are lost"):
            read_on(capture)
        capture.close()
        shop.execute(f"SELECT pg_drop_replication_slot('{shop.name}')")
        capture = capture.go_on(old)
        with pytest.raises(HeadraceError, match="does not exist any more"):
            read_on(capture)
    finally:
        capture.close()


class _PlainServer(PostgreSqlServer):
    wal_level = "replica"


def test_the_log_must_have_the_changes_of_rows(postgresql: PostgreSqlServer) -> None:
    server = _PlainServer()
    try:
        server.start()
        with server.connect() as connection:
            connection.execute("CREATE TABLE t (id INT PRIMARY KEY)")
            connection.execute("ALTER TABLE t REPLICA IDENTITY FULL")
        builder = PostgresSource.builder().hostname("127.0.0.1").port(server.port)
        builder.database(server.database).username(server.user).password(server.password)
        source = builder.table_list("public.t").slot_name("s").build()
        assert "set wal_level = logical in postgresql.conf" in refused(source)
    finally:
        server.remove()


def test_the_rows_that_are_there_keep_the_contract(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY, v INT")
    shop.execute("INSERT INTO t SELECT n, n * n FROM generate_series(1, 40) AS n")
    builder = shop.builder("t").startup_options(StartupOptions.snapshot()).split_size(7)
    made = builder.deserializer(lambda change: [change.after])
    check_source(made.build, [(n, n * n) for n in range(1, 41)], epoch_records=3)


def test_a_source_without_an_end_keeps_the_contract(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY, v INT")
    shop.execute("INSERT INTO t SELECT n, n * n FROM generate_series(1, 20) AS n")
    made = shop.builder("t").split_size(7).deserializer(lambda change: [change.after])
    check_source(made.build, [(n, n * n) for n in range(1, 21)], parallelisms=(2,), epoch_records=4)


def test_the_log_of_a_server_that_vanishes_is_given_up(shop: Shop) -> None:
    settings = shop.builder("nothing").build().settings
    for given, expected in (("", 60_000), ("?tcp_user_timeout=5000", 5_000)):
        url = JdbcUrl.parse(f"{shop.server.url}{given}")
        options = replace(settings.connection_options, url=url)
        changed = replace(settings, connection_options=options)
        with connected(changed, replication=True) as connection:
            number = os.dup(connection.fileno())
        with socket.socket(fileno=number) as opened:
            found = opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert found == expected
