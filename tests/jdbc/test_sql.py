"""Tables of a database as sinks of SQL, with a real PostgreSQL."""

from __future__ import annotations

import pytest

from headrace.common.errors import HeadraceError, SqlError
from tests.jdbc.test_tables import Table
from tests.sql.sessions import LocalSession
from tools.database_server import PostgreSqlServer

pytestmark = pytest.mark.timeout(180)


def session_with(table: Table, columns: str, name: str | None = None) -> LocalSession:
    server = table.server
    session = LocalSession(parallelism=2)
    session.execute(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'jdbc', 'url' = '{server.url}', "
        f"'table-name' = '{name or table.name}', 'username' = '{server.user}', "
        f"'password' = '{server.password}', 'sink.buffer-flush.max-rows' = '3')"
    )
    return session


def test_rows_are_inserted(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, name VARCHAR(40), day DATE")
    session = session_with(table, "id INT, name STRING, `day` DATE")
    session.insert(
        "INSERT INTO t VALUES (1, 'a', DATE '2024-02-29'), (2, CAST(NULL AS STRING), "
        "DATE '1969-12-31'), (3, 'c', CAST(NULL AS DATE)), (4, 'd', DATE '2024-01-01')"
    )
    found = sorted(table.execute(f"SELECT id, name, CAST(day AS TEXT) FROM {table.name}"))
    assert found == [
        (1, "a", "2024-02-29"),
        (2, None, "1969-12-31"),
        (3, "c", None),
        (4, "d", "2024-01-01"),
    ]


def test_changes_are_written_by_key(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "name VARCHAR(40) PRIMARY KEY, total BIGINT")
    table.execute(f"INSERT INTO {table.name} VALUES ('z', 7), ('b', 100)")
    session = session_with(table, "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED")
    values = ", ".join(f"('{'abc'[i % 3]}', {i})" for i in range(30))
    session.insert(
        f"INSERT INTO t SELECT k, SUM(v) FROM (VALUES {values}) AS x(k, v) GROUP BY k",
        epoch_records=4,
    )
    assert table.rows() == [("a", 135), ("b", 145), ("c", 155), ("z", 7)]


def test_rows_that_go_are_deleted(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "name VARCHAR(40) PRIMARY KEY, total BIGINT")
    session = session_with(table, "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED")
    # The largest of each: with every new row the old one goes, and its key with it.
    session.insert(
        "INSERT INTO t SELECT n, v FROM (SELECT n, v, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v "
        "DESC) AS r FROM (VALUES ('x', 'a', 1), ('x', 'b', 2), ('x', 'c', 3), ('y', 'd', 1)) "
        "AS w(k, n, v)) WHERE r = 1",
        epoch_records=1,
    )
    assert table.rows() == [("c", 3), ("d", 1)]


def test_updates_need_a_primary_key(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "n BIGINT")
    session = session_with(table, "n BIGINT")
    with pytest.raises(SqlError, match="please declare primary key"):
        session.insert("INSERT INTO t SELECT COUNT(*) FROM (VALUES (1)) AS v(a) GROUP BY a")


def test_a_missing_table_is_found_before_the_first_row(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "n BIGINT")
    session = session_with(table, "n BIGINT", "not_there")
    with pytest.raises(HeadraceError, match="cannot write to table 'not_there'"):
        session.insert("INSERT INTO t VALUES (CAST(1 AS BIGINT))")
