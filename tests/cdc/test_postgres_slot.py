"""Slots, publications and tables of PostgreSQL that would lose changes: they are errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc import (
    PostgresSource,
    StartupOptions,
    enumerator,
    postgres,
)
from headrace.datastream.connectors.cdc.postgres_log import WalPosition
from headrace.datastream.connectors.cdc.postgres_slot import first_lsn
from tests.cdc.capturing import LIMIT_S, Capture, Shop, capturing, ops, read_on, refused

pytestmark = pytest.mark.timeout(180)


def slots(shop: Shop) -> int:
    [(count,)] = shop.execute(
        f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{shop.name}'"
    )
    return int(count)


def make_slot(shop: Shop) -> None:
    shop.execute(f"SELECT pg_create_logical_replication_slot('{shop.name}', 'pgoutput')")


def impatient(source: PostgresSource) -> PostgresSource:
    """Does not wait for a slot that somebody else reads."""
    return replace(source, settings=replace(source.settings, wait_for_slot_s=0.0))


def test_rows_that_are_read_anew_have_a_new_slot(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    # Older than the publication, without which the log cannot be read.
    make_slot(shop)
    shop.execute("INSERT INTO t VALUES (1)")
    with capturing(shop.builder("t").build()) as capture:
        capture.until(lambda: len(capture.records) == 1)
        shop.execute("INSERT INTO t VALUES (2)")
        capture.until(lambda: len(capture.records) == 2)
        assert ops(capture) == [("r", None, (1,)), ("c", None, (2,))]
        # A slot that somebody reads is left alone.
        message = refused(impatient(shop.builder("t").build()))
        assert "is read by somebody else" in message
        shop.execute("INSERT INTO t VALUES (3)")
        capture.until(lambda: len(capture.records) == 3)


@pytest.mark.parametrize("options", [StartupOptions.latest(), StartupOptions.committed()])
def test_a_slot_has_nothing_of_tables_that_are_published_later(
    shop: Shop, options: StartupOptions
) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    make_slot(shop)
    source = shop.builder("t").startup_options(options).build()
    for _ in range(2):
        assert f"run SELECT pg_drop_replication_slot('{shop.name}');" in refused(source)


def test_a_slot_of_another_kind_is_left_alone(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    shop.execute(f"SELECT pg_create_physical_replication_slot('{shop.name}')")
    assert "is one of plugin None in database None; choose another" in refused(
        shop.builder("t").build()
    )
    assert slots(shop) == 1


def test_no_slot_is_left_behind_by_a_source_that_is_closed(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enumerator, "_FIRST_WAIT_S", 0.0)
    shop.table("t", "id INT PRIMARY KEY")
    with shop.server.connect() as writer:
        # A slot is made only when this has ended.
        writer.execute("BEGIN")
        writer.execute(f"INSERT INTO {shop.name}.t VALUES (1)")
        begun = shop.builder("t").build().create_enumerator(1)
        try:
            assert begun.discover(0) == {}
            wait_for(lambda: slots(shop) == 1)
            committed = shop.builder("t").startup_options(StartupOptions.committed())
            assert "is just being made by somebody else" in refused_at_once(committed.build())
        finally:
            begun.close()
        assert slots(shop) == 0
        writer.execute("COMMIT")
    monkeypatch.undo()
    with capturing(shop.builder("t").build()) as capture:
        capture.until(lambda: len(capture.records) == 1)


def test_no_slot_is_left_behind_by_a_job_that_is_cancelled_when_it_was_made(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    source = shop.builder("t").build()
    database = source.database()

    def interrupted(connection: Any, settings: Any) -> int:
        assert slots(shop) == 1
        database.cancel()
        return first_lsn(connection, settings)

    monkeypatch.setattr(postgres, "first_lsn", interrupted)
    with pytest.raises(HeadraceError, match="cancelled before it began to read"):
        database.begin()
    assert slots(shop) == 0


def refused_at_once(source: PostgresSource) -> str:
    with pytest.raises(HeadraceError) as caught:
        source.database().begin()
    return str(caught.value)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_slot_is_left_behind_by_a_source_that_cannot_begin(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    user = f"{shop.name}_reader"
    shop.execute(f"CREATE ROLE {user} LOGIN REPLICATION PASSWORD 'secret'")
    try:
        shop.execute(f"GRANT USAGE ON SCHEMA {shop.name} TO {user}")
        shop.execute(f"CREATE PUBLICATION {shop.name} FOR TABLE t")
        source = shop.builder("t").username(user).password("secret").build()
        assert "GRANT SELECT ON" in refused(source)
        assert slots(shop) == 0
    finally:
        shop.execute(f"DROP OWNED BY {user}")
        shop.execute(f"DROP ROLE {user}")


CHANGES = ("INSERT INTO t VALUES (2, 2)", "UPDATE t SET v = 2", "DELETE FROM t")


@pytest.mark.parametrize("change", CHANGES)
def test_the_log_must_go_on_to_have_whole_rows(shop: Shop, change: str) -> None:
    shop.table("t", "id INT PRIMARY KEY, v INT")
    shop.execute("INSERT INTO t VALUES (1, 1)")
    with capturing(shop.builder("t").build()) as capture:
        capture.until(lambda: len(capture.records) == 1)
        shop.execute("ALTER TABLE t REPLICA IDENTITY DEFAULT")
        shop.execute(change)
        with pytest.raises(HeadraceError, match=r"run ALTER TABLE \S+ REPLICA IDENTITY FULL"):
            capture.until(lambda: len(capture.records) == 2)


def test_a_table_that_is_made_anew_is_another_one(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    capture = Capture(shop.builder("t").build())
    try:
        shop.execute("INSERT INTO t VALUES (1)")
        capture.until(lambda: len(capture.records) == 1)
        split = capture.checkpoint(1)
        shop.execute("DROP TABLE t")
        shop.table("t", "id INT PRIMARY KEY")
        shop.execute(f"ALTER PUBLICATION {shop.name} ADD TABLE t")
        shop.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(HeadraceError, match=r"has changed .* made anew"):
            capture.until(lambda: len(capture.records) == 2)
        capture = capture.go_on(split)
        with pytest.raises(HeadraceError, match=r"has changed .* dropped and made anew"):
            capture.until(lambda: len(capture.records) == 2)
    finally:
        capture.close()


def test_a_publication_must_have_all_changes(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    shop.execute(f"CREATE PUBLICATION {shop.name} FOR TABLE t WITH (publish = 'insert, update')")
    source = shop.builder("t").build()
    command = f"ALTER PUBLICATION \"{shop.name}\" SET (publish = 'insert, update, delete');"
    assert command in refused(source)
    shop.execute(command)
    capture = Capture(source)
    try:
        split = capture.checkpoint(1)
        shop.execute(f"ALTER PUBLICATION {shop.name} SET (publish = 'insert')")
        capture = capture.go_on(split)
        with pytest.raises(HeadraceError, match="leaves out some kinds of changes"):
            read_on(capture)
    finally:
        capture.close()


def test_a_publication_must_have_all_rows(shop: Shop) -> None:
    if shop.connection.info.server_version < 150_000:
        pytest.skip("row filters came with PostgreSQL 15")
    shop.table("t", "id INT PRIMARY KEY")
    shop.execute(f"CREATE PUBLICATION {shop.name} FOR TABLE t WHERE (id > 5)")
    source = shop.builder("t").build()
    message = refused(source)
    assert "leaves out rows without (id > 5)" in message
    shop.execute(message.partition("run: ")[2].partition("; and start")[0])
    with capturing(source) as capture:
        shop.execute("INSERT INTO t VALUES (1)")
        capture.until(lambda: len(capture.records) == 1)


def test_chunks_are_ranges_of_a_column_of_the_primary_key(shop: Shop) -> None:
    shop.table("t", "a INT, b INT, c INT, PRIMARY KEY (b, a)")
    shop.execute("INSERT INTO t VALUES (1, 2, 3)")
    message = refused(shop.builder("t").chunk_key_column("c").build())
    assert "which is not in its primary key (b, a)" in message
    with capturing(shop.builder("t").chunk_key_column("a").build()) as capture:
        capture.until(lambda: len(capture.records) == 1)


def test_a_table_has_no_rows_of_those_that_inherit_from_it(shop: Shop) -> None:
    shop.table("base", "id INT PRIMARY KEY")
    shop.execute("CREATE TABLE derived (PRIMARY KEY (id)) INHERITS (base)")
    shop.execute("ALTER TABLE derived REPLICA IDENTITY FULL")
    shop.execute("CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY RANGE (id)")
    shop.execute("CREATE TABLE part PARTITION OF parts FOR VALUES FROM (0) TO (100)")
    shop.execute("ALTER TABLE part REPLICA IDENTITY FULL")
    for number, name in enumerate(("base", "derived", "parts"), start=1):
        shop.execute(f"INSERT INTO {name} VALUES ({number})")
    with capturing(shop.builder("base|derived|parts?").split_size(1).build()) as capture:
        shop.execute("INSERT INTO derived VALUES (4)")
        shop.execute("INSERT INTO parts VALUES (5)")
        capture.until(lambda: any(r.after == {"id": 5} for r in capture.records))
        found = [(r.table, r.after) for r in capture.records]
    expected = [("base", 1), ("derived", 2), ("derived", 4), ("part", 3), ("part", 5)]
    assert sorted((table, *(after or {}).values()) for table, after in found) == expected


def test_a_place_in_the_log_of_another_server_is_an_error(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY")
    capture = Capture(shop.builder("t").build())
    try:
        split = replace(capture.checkpoint(1), chunks=(), position=WalPosition(1 << 60))
        capture = capture.go_on(split)
        with pytest.raises(HeadraceError, match="it is the log of another server"):
            read_on(capture)
    finally:
        capture.close()
