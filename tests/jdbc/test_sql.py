"""Tables of a database in SQL, with a real PostgreSQL and a real MariaDB."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from headrace.common.errors import HeadraceError, SqlError
from headrace.datastream.connectors.jdbc import JdbcSource
from headrace.datastream.connectors.read_alone import all_splits, read_splits
from tests.jdbc.test_tables import Table, options_of
from tests.sql.sessions import LocalSession
from tools.database_server import MariaDbServer, PostgreSqlServer

pytestmark = pytest.mark.timeout(180)


def session_with(
    table: Table, columns: str, name: str | None = None, more: str = "", batch: bool = False
) -> LocalSession:
    server = table.server
    session = LocalSession(batch, parallelism=2)
    session.execute(
        f"CREATE TABLE t ({columns}) WITH ('connector' = 'jdbc', 'url' = '{server.url}', "
        f"'table-name' = '{name or table.name}', 'username' = '{server.user}', "
        f"'password' = '{server.password}', 'sink.buffer-flush.max-rows' = '3'{more})"
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
        "AS w(k, n, v)) WHERE r = 1 ON CONFLICT DO DEDUPLICATE",
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
    with pytest.raises(HeadraceError, match="declaration of table 'not_there'"):
        session.insert("INSERT INTO t VALUES (CAST(1 AS BIGINT))")


@pytest.mark.parametrize(
    "parts",
    [
        "",
        ", 'scan.fetch-size' = '2', 'filter.handling.policy' = 'never'",
    ],
)
def test_rows_are_read(postgresql: PostgreSqlServer, parts: str) -> None:
    table = Table(
        postgresql,
        "id INT, name VARCHAR(9), price NUMERIC(8, 2), day DATE, at TIMESTAMP(3), fine BOOLEAN",
    )
    table.execute(
        f"INSERT INTO {table.name} SELECT i, 'n' || i, i / 2.0, DATE '2024-02-27' + i, "
        "TIMESTAMP '2024-02-28 23:59:59' + i * INTERVAL '1 second', i % 2 = 0 "
        "FROM generate_series(0, 10) AS i"
    )
    table.execute(f"INSERT INTO {table.name} (id) VALUES (NULL)")
    session = session_with(
        table,
        "id INT, name STRING, price DECIMAL(8, 2), `day` DATE, `at` TIMESTAMP(3), fine BOOLEAN",
        more=parts,
    )
    query = (
        "SELECT id, name, CAST(price AS STRING), CAST(`day` AS STRING), CAST(`at` AS STRING), fine "
        "FROM t WHERE id IS NULL OR id < 2 OR id > 9"
    )
    rows = sorted((tuple(row) for _, row in session.query(query).rows), key=str)
    assert rows == [
        (0, "n0", "0.00", "2024-02-27", "2024-02-28 23:59:59.000", True),
        (1, "n1", "0.50", "2024-02-28", "2024-02-29 00:00:00.000", False),
        (10, "n10", "5.00", "2024-03-08", "2024-02-29 00:00:09.000", True),
        (None, None, None, None, None, None),
    ]


def test_values_that_mysql_has_in_its_own_way(mariadb: MariaDbServer) -> None:
    table = Table(mariadb, "id INT, fine BOOLEAN, at TIME, day DATE")
    table.execute(f"INSERT INTO {table.name} VALUES (1, TRUE, '23:59:59', '2024-02-29')")
    table.execute(f"INSERT INTO {table.name} VALUES (2, FALSE, '00:00:00', NULL)")
    session = session_with(table, "id INT, fine BOOLEAN, `at` TIME, `day` DATE")
    query = "SELECT id, fine, CAST(`at` AS STRING), CAST(`day` AS STRING) FROM t"
    rows = sorted(tuple(row) for _, row in session.query(query).rows)
    assert rows == [(1, True, "23:59:59", "2024-02-29"), (2, False, "00:00:00", None)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (", 'scan.partition.column' = 'id'", "either all or none"),
        (
            ", 'scan.partition.column' = 'idd', 'scan.partition.num' = '3', "
            "'scan.partition.lower-bound' = '2', 'scan.partition.upper-bound' = '8'",
            "did you mean 'id'?",
        ),
        (
            ", 'scan.partition.column' = 'id', 'scan.partition.num' = '3', "
            "'scan.partition.lower-bound' = '9', 'scan.partition.upper-bound' = '8'",
            "must not be larger",
        ),
        (
            ", 'scan.partition.column' = 'name', 'scan.partition.num' = '3', "
            "'scan.partition.lower-bound' = '2', 'scan.partition.upper-bound' = '8'",
            "a number, a date or a timestamp",
        ),
    ],
)
def test_parts_that_make_no_sense_are_refused(
    postgresql: PostgreSqlServer, parts: str, message: str
) -> None:
    session = session_with(Table(postgresql, "id INT"), "id INT, name STRING", more=parts)
    with pytest.raises(SqlError) as error:
        session.plan("SELECT * FROM t")
    assert message in str(error.value)


def test_a_key_that_several_rows_of_a_query_have_keeps_the_last_one(
    postgresql: PostgreSqlServer,
) -> None:
    table = Table(postgresql, "total BIGINT PRIMARY KEY, name VARCHAR(40)")
    session = session_with(table, "total BIGINT, name STRING, PRIMARY KEY (total) NOT ENFORCED")
    insert = (
        "INSERT INTO t SELECT SUM(v), k FROM "
        "(VALUES ('a', 1), ('b', 1), ('b', 1), ('c', 2), ('c', 3), ('a', 1)) AS x(k, v) GROUP BY k "
        "ON CONFLICT DO DEDUPLICATE"
    )
    [(_, (plan,))] = session.executor.execute(f"EXPLAIN {insert}").rows()
    assert "UpsertMaterialize(key=" in plan
    session.insert(insert, epoch_records=1)
    # a and b have 1, then b has 2, as c has for a while, then a.
    assert table.rows() == [(2, "a"), (5, "c")]


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_rows_that_are_there_change(request: pytest.FixtureRequest, server: str) -> None:
    table = Table(request.getfixturevalue(server), "id INT PRIMARY KEY, name VARCHAR(40), n INT")
    values = "(1, 'a', 1), (2, 'b', 2), (3, NULL, 3), (4, 'd', 4)"
    table.execute(f"INSERT INTO {table.name} VALUES {values}")
    columns = "id INT, name STRING, n INT, PRIMARY KEY (id) NOT ENFORCED"
    session = session_with(table, columns, batch=True)

    def affected(statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for _, row in session.executor.execute(statement).rows()]

    assert affected("DELETE FROM t WHERE name IS NULL OR n IN (7, 8)") == [(1,)]
    assert affected("UPDATE t SET n = n + 10, name = UPPER(name) WHERE t.id > 1") == [(2,)]
    assert table.rows() == [(1, "a", 1), (2, "B", 12), (4, "D", 14)]
    assert affected("UPDATE t SET name = 'it''s 5 %?' WHERE id = 1 AND name LIKE 'a%'") == [(1,)]
    assert affected("DELETE FROM t WHERE id BETWEEN 2 AND 4") == [(2,)]
    assert table.rows() == [(1, "it's 5 %?", 1)]
    with pytest.raises(SqlError, match="'id' of the primary key cannot be updated"):
        session.execute("UPDATE t SET id = 2")
    with pytest.raises(SqlError, match="did you mean 'name'"):
        session.execute("UPDATE t SET nam = 'x'")
    session.execute("TRUNCATE TABLE t")
    assert table.rows() == []
    other = session_with(table, columns.replace("n INT", "m INT"), batch=True)
    with pytest.raises(SqlError, match="refused DELETE FROM"):
        other.execute("DELETE FROM t WHERE m = 1")


def test_values_of_an_update_are_those_of_an_insert(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT PRIMARY KEY, name TEXT, n INT, p NUMERIC(10, 2), s SMALLINT")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 'a', 1, 5.20, 1)")
    columns = (
        "id INT, name STRING NOT NULL, n INT, p DECIMAL(10, 2), s SMALLINT, "
        "PRIMARY KEY (id) NOT ENFORCED"
    )
    session = session_with(table, columns, batch=True)
    for values, message in {
        "name = 5": "Incompatible types for sink column 'name'",
        "n = 'x'": "Incompatible types for sink column 'n'",
        "n = DATE '2024-02-29'": "Incompatible types for sink column 'n'",
        "name = NULL": "Column 'name' is NOT NULL",
        "name = CAST(NULL AS STRING)": "Column 'name' is NOT NULL",
        "n = p": r"CAST\(p AS INT\) cannot be computed by the database",
        "p = CAST(n AS DOUBLE)": "cannot be computed by the database",
    }.items():
        with pytest.raises(SqlError, match=message):
            session.execute(f"UPDATE t SET {values}")
    assert table.rows() == [(1, "a", 1, Decimal("5.20"), 1)]
    session.execute("UPDATE t SET n = NULL, p = p * 2, s = s + 1, name = 'b'")
    assert table.rows() == [(1, "b", None, Decimal("10.40"), 2)]


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_columns_that_get_each_others_values(request: pytest.FixtureRequest, server: str) -> None:
    table = Table(request.getfixturevalue(server), "id INT PRIMARY KEY, a INT, b INT")
    table.execute(f"INSERT INTO {table.name} VALUES (1, 1, 2)")
    columns = "id INT, a INT, b INT, PRIMARY KEY (id) NOT ENFORCED"
    session = session_with(table, columns, batch=True)
    if server == "mariadb":
        with pytest.raises(SqlError, match="put the assignment of 'b' before that of 'a'"):
            session.execute("UPDATE t SET a = b, b = a + 10")
        session.execute("UPDATE t SET b = a + 10, a = a + 1")
        assert table.rows() == [(1, 2, 11)]
    else:
        session.execute("UPDATE t SET a = b, b = a + 10")
        assert table.rows() == [(1, 2, 11)]


def assert_deletes_what_it_shows(table: Table, columns: str, rows: str, *conditions: str) -> None:
    session = session_with(table, f"{columns}, PRIMARY KEY (id) NOT ENFORCED", batch=True)
    session.execute(_READ_ALL)
    for condition in conditions:
        table.execute(f"DELETE FROM {table.name}")
        table.execute(f"INSERT INTO {table.name} VALUES {rows}")
        everything = {row[0] for row in table.rows()}
        shown = {row[0] for _, row in session.query(f"SELECT id FROM t WHERE {condition}").rows}
        session.execute(f"DELETE FROM t WHERE {condition}")
        assert everything - {row[0] for row in table.rows()} == shown, condition


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_text_is_compared_as_in_a_query(request: pytest.FixtureRequest, server: str) -> None:
    table = Table(request.getfixturevalue(server), "id INT PRIMARY KEY, name VARCHAR(9)")
    assert_deletes_what_it_shows(
        table,
        "id INT, name STRING",
        "(1, 'a'), (2, 'A'), (3, 'a '), (4, '\u00e4'), (5, 'b'), (6, NULL)",
        *("name = 'a'", "name <> 'a'", "name IN ('A', 'b')", "name < 'a'", "name LIKE '_'"),
        *("name LIKE 'A%'", "UPPER(name) = 'A'", "name BETWEEN 'A' AND 'Z'"),
    )


def test_nan_is_compared_as_in_a_query(postgresql: PostgreSqlServer) -> None:
    assert_deletes_what_it_shows(
        Table(postgresql, "id INT PRIMARY KEY, f REAL, d FLOAT8"),
        "id INT, f FLOAT, d DOUBLE",
        "(1, 'NaN', 'NaN'), (2, 2, 2), (3, 'NaN', 2), (4, 0, 'NaN'), (5, NULL, 1)",
        *("f > 1", "f >= d", "f < d", "d = f", "1 < d + f", "d BETWEEN 0 AND 9", "NOT d <= 2"),
    )


@pytest.mark.spark
@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_tasks_of_spark_read_parts_of_a_table(request: pytest.FixtureRequest, server: str) -> None:
    table = Table(request.getfixturevalue(server), "id INT, name VARCHAR(9), day DATE, ok BOOLEAN")
    values = ", ".join(f"({i}, 'n{i % 3}', '2024-01-0{1 + i % 5}', {i % 2} = 0)" for i in range(40))
    table.execute(f"INSERT INTO {table.name} VALUES {values}")
    parts = {"column": "id", "num": "4", "lower-bound": "0", "upper-bound": "39"}
    more = "".join(f", 'scan.partition.{key}' = '{value}'" for key, value in parts.items())
    columns = "id INT, name STRING, `day` DATE, ok BOOLEAN"
    session = session_with(table, columns, more=more, batch=True)
    query = "SELECT name, ok, COUNT(*), SUM(id), MAX(`day`) FROM t GROUP BY name, ok"
    found = session.query_on_spark(query)
    assert found is not None
    assert len(found.rows) == 6
    assert sorted(found.rows) == sorted(session.query(query).rows)


_READ_ALL = "SET 'table.optimizer.source.predicate-pushdown-enabled' = 'false'"
_TEXTS = ("a", "A", "a ", "\u00e4", "b", "", "a_b", "a%", "k\\")
_COLUMNS = (
    "id INT, name STRING, code CHAR(3), price DECIMAL(8, 2), `day` DATE, `at` TIMESTAMP(6), "
    "millis TIMESTAMP(3), ok BOOLEAN, ratio DOUBLE"
)
_PUSHED = [
    "name = 'a'",
    "name = 'a '",
    "name <> 'a'",
    "name = ''",
    "name IN ('A', 'b', 'a ')",
    "name NOT IN ('A', 'b')",
    "name LIKE 'a_'",
    "name LIKE '%'",
    "name = 'a' OR id = 4",
    "code = 'a'",
    "code <> 'a  '",
    "code LIKE 'a%'",
    "id > 3",
    "3 >= id",
    "id BETWEEN 2 AND 4 AND name IS NOT NULL",
    "CAST(id AS BIGINT) = 5",
    "id > 2.5",
    "id IN (1, 2, 3)",
    "id < price",
    "price <> 2.50",
    "price IS NULL",
    "`day` >= DATE '2024-01-03'",
]
_PUSHED_BY_POSTGRESQL = [
    "ok",
    "NOT ok",
    "`at` = TIMESTAMP '2024-01-01 00:00:01.000002'",
    "`at` > TIMESTAMP '2024-01-01 00:00:01'",
    "millis >= TIMESTAMP '2024-01-01 00:00:02'",
    "millis < TIMESTAMP '2024-01-01 00:00:02'",
]
_NOT_PUSHED = [
    "millis <= TIMESTAMP '2024-01-01 00:00:02'",
    "millis < TIMESTAMP '2024-01-01 00:00:02.000001'",
    "millis >= TIMESTAMP '2024-01-01 00:00:02.000001'",
    "id < CAST('NaN' AS DOUBLE)",
    "id <> CAST('NaN' AS DOUBLE)",
    "ratio >= 1",
    "ratio = 1",
    "name > 'A'",
    "UPPER(name) = 'A'",
    "id + 2147483647 < 0",
    "NOT (id = 3 AND name = 'b')",
    "name LIKE 'a#_b' ESCAPE '#'",
    "CAST(price AS INT) = 2",
]


@pytest.mark.parametrize("server", ["postgresql", "mariadb"])
def test_a_database_looks_at_conditions(request: pytest.FixtureRequest, server: str) -> None:
    postgresql = server == "postgresql"
    kinds = "DOUBLE PRECISION" if postgresql else "DOUBLE"
    times = "TIMESTAMP(6)" if postgresql else "DATETIME(6)"
    table = Table(
        request.getfixturevalue(server),
        "id INT, name VARCHAR(9), code CHAR(3), price NUMERIC(8, 2), day DATE, "
        f"at {times}, millis {times}, ok BOOLEAN, ratio {kinds}",
    )
    for i, text in enumerate([*_TEXTS, None], 1):
        quoted = "NULL" if text is None else f"'{text if postgresql else text.replace(*_ESCAPED)}'"
        micros = f"'2024-01-01 00:00:0{i % 3}.00000{i % 3}'"
        price = "NULL" if i == 3 else i / 2
        ratio = i / 3 if i != 4 else "'NaN'" if postgresql else "NULL"
        table.execute(
            f"INSERT INTO {table.name} VALUES ({i}, {quoted}, {quoted}, {price}, "
            f"'2024-01-0{i % 5 + 1}', {micros}, {micros}, {i % 2} = 0, {ratio})"
        )
    session = session_with(table, _COLUMNS, batch=True)
    also = _PUSHED_BY_POSTGRESQL if postgresql else []
    for condition in [*_PUSHED, *_PUSHED_BY_POSTGRESQL, *_NOT_PUSHED]:
        query = f"SELECT id FROM t WHERE {condition}"
        explained = session.explain(f"EXPLAIN {query}")
        plan = explained.partition("== Optimized Physical Plan ==")[2]
        plan = plan.partition("== Optimized Execution Plan ==")[0]
        is_pushed = condition in _PUSHED or condition in also
        assert is_pushed == ("filter=[" in plan and "where=[" not in plan), plan
        found = session.query(query).rows
        session.execute(_READ_ALL)
        everything = session.query(query).rows
        session.execute(_READ_ALL.replace("false", "true"))
        assert sorted(found) == sorted(everything), condition


_ESCAPED = ("\\", "\\\\")


def test_rows_outside_of_the_bounds_are_not_read(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, at TIMESTAMP(3)")
    table.execute(
        f"INSERT INTO {table.name} SELECT i, TIMESTAMP '1970-01-01' + i * INTERVAL '1 second' "
        "FROM generate_series(0, 10) AS i"
    )
    table.execute(f"INSERT INTO {table.name} VALUES (NULL, NULL)")
    for column, unit in (("id", 1), ("at", 1000)):
        more = (
            f", 'scan.partition.column' = '{column}', 'scan.partition.num' = '3', "
            f"'scan.partition.lower-bound' = '{2 * unit}', "
            f"'scan.partition.upper-bound' = '{8 * unit}'"
        )
        session = session_with(table, "id INT, `at` TIMESTAMP(3)", more=more)
        rows = session.query("SELECT id FROM t").rows
        assert sorted(row[0] for _, row in rows) == [2, 3, 4, 5, 6, 7, 8]
        rows = session.query("SELECT id FROM t WHERE id <> 5 AND id < 8").rows
        assert sorted(row[0] for _, row in rows) == [2, 3, 4, 6, 7]


def test_conditions_and_limits_are_those_of_each_part(postgresql: PostgreSqlServer) -> None:
    table = Table(postgresql, "id INT, name VARCHAR(9), n INT NOT NULL")
    table.execute(
        f"INSERT INTO {table.name} SELECT i, 'n' || i % 3, i FROM generate_series(0, 59) AS i"
    )
    parts = ", 'scan.partition.column' = 'id', 'scan.partition.num' = '4'"
    bounds = ", 'scan.partition.lower-bound' = '0', 'scan.partition.upper-bound' = '59'"
    session = session_with(table, "id INT, name STRING, n INT NOT NULL", more=parts + bounds)
    rows = session.query("SELECT n FROM t WHERE name = 'n1' AND n < 50").rows
    assert sorted(row[0] for _, row in rows) == list(range(1, 50, 3))
    assert len(session.query("SELECT name FROM t WHERE name IN ('n0', 'n2') LIMIT 7").rows) == 7
    assert [row[0] for _, row in session.query("SELECT COUNT(*) FROM t").rows][-1] == 60
    source = JdbcSource.builder().set_connection_options(options_of(postgresql))
    limited = replace(source.set_sql(f"SELECT id FROM {table.name}").build(), limit=5)
    assert (
        len([row for batch in read_splits(limited, all_splits(limited)) for row in batch.values])
        == 5
    )
