"""What the log of a real MariaDB has: values as in tables, or an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pymysql
import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.cdc import StartupOptions, mysql_log
from headrace.datastream.connectors.cdc.mysql_settings import BinlogPosition
from tests.cdc.capturing import Capture, capturing, read_on, refused
from tests.cdc.test_mysql import builder
from tests.cdc.vanishing import vanishing
from tests.jdbc.test_tables import Table
from tools.database_server import MariaDbServer

pytestmark = pytest.mark.timeout(180)
pytest.importorskip("pymysqlreplication", reason="pip install 'headrace[mysql-cdc]'")


@pytest.fixture
def administrator(mariadb: MariaDbServer) -> Iterator[Any]:
    """A cursor that may set variables; compression is off again after a test."""
    connection = pymysql.connect(unix_socket=f"{mariadb.directory}/socket", user="root")
    with connection, connection.cursor() as cursor:
        try:
            yield cursor
        finally:
            cursor.execute("SET GLOBAL log_bin_compress = OFF")


def test_values_are_the_same_from_tables_and_from_the_log(mariadb: MariaDbServer) -> None:
    columns = "s SET('A', 'b', 'It''s'), e ENUM('X', 'y'), b BINARY(4), v VARBINARY(4), w BLOB"
    table = Table(mariadb, f"id INT PRIMARY KEY, {columns}")
    table.execute(
        f"INSERT INTO {table.name} VALUES (1, 'b,A', 'X', x'0100', x'0100', x'0100'), "
        "(2, '', 'y', x'', x'', x''), (3, NULL, NULL, NULL, NULL, NULL), "
        "(4, 'It''s', 'X', x'01020304', x'01', x'ff')"
    )
    with capturing(builder(mariadb, table.name).build()) as capture:
        capture.until(lambda: len(capture.records) == 4)
        table.execute(f"UPDATE {table.name} SET id = id + 10 ORDER BY id")
        capture.until(lambda: len(capture.records) == 8)
        table.execute(f"DELETE FROM {table.name} ORDER BY id")
        capture.until(lambda: len(capture.records) == 12)
    rows, updates, deletes = (capture.records[at : at + 4] for at in (0, 4, 8))
    values = [tuple((r.after or {}).values())[1:] for r in rows]
    assert values == [
        ("A,b", "X", b"\1\0\0\0", b"\1\0", b"\1\0"),
        ("", "y", b"\0\0\0\0", b"", b""),
        (None, None, None, None, None),
        ("It's", "X", b"\1\2\3\4", b"\1", b"\xff"),
    ]
    assert [r.before for r in updates] == [r.after for r in rows]
    assert [r.after for r in updates] == [r.before for r in deletes]
    assert [tuple((r.after or {}).values())[1:] for r in updates] == values


def test_a_definition_that_has_not_changed_is_no_error(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY, e ENUM('X', 'y')")
    with capturing(builder(mariadb, table.name).build()) as capture:
        table.execute(f"ALTER TABLE {table.name} ADD COLUMN more INT")
        table.execute(f"INSERT INTO {table.name} VALUES (1, 'X', 2)")
        capture.until(lambda: len(capture.records) == 1)
        assert capture.records[0].after == {"id": 1, "e": "X"}


def test_a_compressed_log_is_refused(mariadb: MariaDbServer, administrator: Any) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY, v TEXT")
    source = builder(mariadb, table.name).build()
    capture = Capture(source)
    try:
        capture.poll()
        table.execute(f"INSERT INTO {table.name} VALUES (1, 'pen')")
        capture.until(lambda: len(capture.records) == 1)
        split = capture.checkpoint(1)
        administrator.execute("SET GLOBAL log_bin_compress = ON")
        assert "set log_bin_compress = OFF" in refused(source)
        table.execute(f"INSERT INTO {table.name} VALUES (2, repeat('x', 10000))")
        with pytest.raises(HeadraceError, match="whose rows are compressed"):
            capture.until(lambda: len(capture.records) == 2)
        capture = capture.go_on(split)
        with pytest.raises(HeadraceError, match="set log_bin_compress = OFF"):
            capture.until(lambda: len(capture.records) == 2)
    finally:
        capture.close()


def test_chunks_are_ranges_of_a_column_of_the_primary_key(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "a INT, b INT, c INT, PRIMARY KEY (b, a)")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 2, 3)")
    message = refused(builder(mariadb, table.name).chunk_key_column("c").build())
    assert "which is not in its primary key (b, a)" in message
    with capturing(builder(mariadb, table.name).chunk_key_column("a").build()) as capture:
        capture.until(lambda: len(capture.records) == 1)


def test_a_place_in_the_log_of_another_server_is_an_error(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    capture = Capture(builder(mariadb, table.name).build())
    try:
        split = replace(capture.checkpoint(1), chunks=())
        file = split.position.file
        number = file.rpartition(".")[2]
        for place in (BinlogPosition(file, 1 << 40), BinlogPosition(f"other.{number}", 4)):
            capture = capture.go_on(replace(split, position=place))
            with pytest.raises(HeadraceError, match="it is the log of another server"):
                read_on(capture)
    finally:
        capture.close()


def test_privileges_are_asked_for_only_if_they_are_missing(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT PRIMARY KEY")
    table.execute(f"INSERT INTO {table.name} VALUES (1)")
    [(file, end, *_)] = table.execute("SHOW MASTER STATUS")
    # Not where an event begins.
    options = StartupOptions.specific_offset(file, end - 1)
    source = builder(mariadb, table.name).startup_options(options).build()
    with (
        capturing(source) as capture,
        pytest.raises(HeadraceError, match="the log cannot be read") as caught,
    ):
        read_on(capture)
    assert "GRANT" not in str(caught.value)


def test_a_server_that_vanishes_is_an_error(
    mariadb: MariaDbServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mysql_log, "_SILENT_S", 2)
    table = Table(mariadb, "id INT PRIMARY KEY")
    options = StartupOptions.latest()
    with vanishing(mariadb.port) as server:
        source = builder(mariadb, table.name).port(server.port).startup_options(options).build()
        with capturing(source) as capture:
            table.execute(f"INSERT INTO {table.name} VALUES (1)")
            capture.until(lambda: len(capture.records) == 1)
            server.vanish()
            with pytest.raises(HeadraceError, match="the connection to the log is lost"):
                read_on(capture)
