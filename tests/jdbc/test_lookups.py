"""Lookup joins with tables of a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import HeadraceError
from headrace.datastream.connectors.jdbc.pool import ConnectionPool
from headrace.table import StreamTableEnvironment
from headrace.testing.connectors import check_lookup
from tests.jdbc.test_tables import Table, options_of
from tests.sql.sessions import HERE, LocalSession, golden, setup_statements, statements
from tests.sql.test_golden import compare
from tools.database_server import PostgreSqlServer

pytestmark = pytest.mark.timeout(180)

JOIN = "FROM orders AS o LEFT JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON "


@pytest.fixture(params=["postgresql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def session_with(table: Table, columns: str, orders: str, more: str = "") -> LocalSession:
    session = LocalSession(parallelism=2)
    session.execute(f"CREATE VIEW orders AS SELECT *, PROCTIME() AS pt FROM {orders}")
    server = table.server
    session.execute(
        f"CREATE TABLE dim ({columns}) WITH ('connector' = 'jdbc', 'url' = '{server.url}', "
        f"'table-name' = '{table.name}', 'username' = '{server.user}', "
        f"'password' = '{server.password}'{more})"
    )
    return session


def rows(session: LocalSession, query: str, **settings: Any) -> list[Any]:
    return [tuple(row) for _, row in session.query(query, **settings).rows]


def test_results_are_those_of_flink(postgresql: PostgreSqlServer) -> None:
    """Flink has looked the rows up in such a database; `test_golden.py` does it in files."""
    with postgresql.connect() as connection:
        for statement in statements((HERE / "data" / "lookups.ddl").read_text(encoding="utf-8")):
            connection.execute(statement)
    options = (
        f"'connector' = 'jdbc', 'url' = '{postgresql.url}', 'table-name' = '{{table}}', "
        f"'username' = '{postgresql.user}', 'password' = '{postgresql.password}'"
    )
    for mode in ("streaming", "batch"):
        session = LocalSession(batch=mode == "batch", parallelism=2)
        for statement in setup_statements(options):
            session.execute(statement.replace("{data}", str(HERE / "data")))
        for query, expected in golden("lookups", mode).items():
            if "error" not in expected:
                compare(mode, session, query, expected)


@pytest.mark.parametrize(
    "more",
    [
        "",
        ", 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '1'",
        ", 'lookup.cache.max-rows' = '10', 'lookup.cache.ttl' = '1 min'",
        ", 'lookup.cache' = 'FULL', 'lookup.full-cache.reload-strategy' = 'PERIODIC', "
        "'lookup.full-cache.periodic-reload.interval' = '1 h'",
    ],
)
def test_rows_are_looked_up(server: Any, more: str) -> None:
    table = Table(server, "k INT, name VARCHAR(20), day DATE, fine BOOLEAN")
    table.execute(
        f"INSERT INTO {table.name} VALUES (10, 'ten', '2024-02-29', true), (20, 'x', NULL, false), "
        "(20, 'y', NULL, NULL), (NULL, 'nobody', NULL, NULL)"
    )
    orders = "(VALUES (1, 10), (2, 20), (3, CAST(NULL AS INT)), (4, 77)) AS t(id, k)"
    columns = "k INT, name STRING, `day` DATE, fine BOOLEAN"
    session = session_with(table, columns, orders, more)
    query = f"SELECT o.id, d.name, CAST(d.`day` AS STRING), d.fine {JOIN} o.k = d.k"
    assert sorted(rows(session, query, epoch_records=2)) == [
        (1, "ten", "2024-02-29", True),
        (2, "x", None, False),
        (2, "y", None, None),
        (3, None, None, None),
        (4, None, None, None),
    ]


def test_keys_of_several_columns(server: Any) -> None:
    table = Table(server, "a BIGINT, b VARCHAR(9), at TIMESTAMP(3), price NUMERIC(8, 2), v INT")
    table.execute(
        f"INSERT INTO {table.name} VALUES (1, 'x', '2024-02-29 01:02:03', 1.50, 7), "
        "(1, 'y', '2024-02-29 01:02:03', 1.50, 8), (2, 'x', '2024-02-29 01:02:03', 2.50, 9)"
    )
    orders = "(VALUES (1, 'x'), (2, 'x'), (1, 'z')) AS t(a, b)"
    columns = "a BIGINT, b STRING, `at` TIMESTAMP(3), price DECIMAL(8, 2), v INT"
    session = session_with(table, columns, orders)
    query = (
        f"SELECT o.a, o.b, d.v {JOIN} o.a = d.a AND d.b = o.b AND d.price < 2.0 "
        "AND d.`at` = TIMESTAMP '2024-02-29 01:02:03'"
    )
    assert sorted(rows(session, query)) == [(1, "x", 7), (1, "z", None), (2, "x", None)]


def test_the_keys_of_a_batch_are_one_query(
    postgresql: PostgreSqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    query = ConnectionPool.query

    def counted(pool: ConnectionPool, sql: str, values: Any, max_retries: int) -> list[Any]:
        asked.append(len(values))
        return query(pool, sql, values, max_retries)

    monkeypatch.setattr(ConnectionPool, "query", counted)
    table = Table(postgresql, "k INT PRIMARY KEY, v INT")
    table.execute(f"INSERT INTO {table.name} SELECT i, i * 2 FROM generate_series(0, 99) AS i")
    values = ", ".join(f"({i % 150})" for i in range(1000))
    session = session_with(table, "k INT, v INT", f"(VALUES {values}) AS t(k)")
    session.env.set_parallelism(1)
    found = rows(session, f"SELECT o.k, d.v {JOIN} o.k = d.k")
    assert found == [(i % 150, i % 150 * 2 if i % 150 < 100 else None) for i in range(1000)]
    assert sum(asked) == 150
    assert len(asked) == 1


def test_a_connection_that_breaks_is_made_again(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "k INT")
    pool = ConnectionPool.of(options_of(postgresql))
    try:
        sql = f"SELECT COUNT(*) FROM {table.name}"
        assert pool.query(sql, (), 0) == [(0,)]
        table.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE query = '{sql}' AND pid <> pg_backend_pid()"
        )
        assert pool.query(sql, (), 1) == [(0,)]
    finally:
        pool.release()


def test_connections_are_shared_and_closed(postgresql: PostgreSqlServer) -> None:
    one, other = (ConnectionPool.of(options_of(postgresql)) for _ in range(2))
    (first,) = one.query("SELECT pg_backend_pid()", (), 0)
    (second,) = other.query("SELECT pg_backend_pid()", (), 0)
    assert first == second
    one.release()
    other.release()
    third = ConnectionPool.of(options_of(postgresql))
    assert third.query("SELECT pg_backend_pid()", (), 0) != [first]
    third.release()


def test_a_server_that_is_away_is_named(postgresql: PostgreSqlServer) -> None:
    session = LocalSession()
    session.execute("CREATE VIEW orders AS SELECT k, PROCTIME() AS pt FROM (VALUES (1)) AS t(k)")
    session.execute(
        "CREATE TABLE dim (k INT) WITH ('connector' = 'jdbc', 'table-name' = 'shop.items', "
        "'url' = 'jdbc:postgresql://127.0.0.1:1/there?sslpassword=hidden', 'username' = 'me', "
        "'password' = 'very secret', 'connection.max-retry-timeout' = '0 s')"
    )
    with pytest.raises(HeadraceError) as caught:
        session.query(f"SELECT o.k {JOIN} o.k = d.k")
    text = str(caught.value)
    assert "rows of table 'shop.items' in jdbc:postgresql://127.0.0.1:1/there cannot be" in text
    assert "start the server or correct the URL" in text
    assert "secret" not in text
    assert "hidden" not in text


def test_a_column_that_is_missing_is_named(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "k INT")
    session = session_with(table, "k INT, v INT", "(VALUES (1)) AS t(k)")
    with pytest.raises(HeadraceError, match=f'rows of table .{table.name}. .* column "v" does not'):
        rows(session, f"SELECT o.k, d.v {JOIN} o.k = d.k")


@pytest.mark.parametrize("more", ["", ", 'lookup.cache' = 'FULL'"])
def test_lookups_keep_the_contract(server: Any, more: str) -> None:
    table = Table(server, "id INT, name VARCHAR(40)")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a'), (1, 'b'), (2, 'c'), (2, NULL)")

    def declare(tables: StreamTableEnvironment) -> str:
        tables.execute_sql(
            f"CREATE TABLE dim (id INT, name STRING) WITH ('connector' = 'jdbc', 'url' = "
            f"'{server.url}', 'table-name' = '{table.name}', 'username' = '{server.user}', "
            f"'password' = '{server.password}'{more})"
        )
        return "dim"

    found = [(1, "a"), (1, "b"), (2, "c"), (2, None)]
    rows = [{"id": id_, "name": name} for id_, name in found]
    check_lookup(declare, rows, "id", missing=[3], parallelisms=(2,))
