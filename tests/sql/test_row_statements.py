"""DELETE, UPDATE and TRUNCATE; those of a database are in `tests/jdbc`."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common.errors import SqlError
from headrace.sql.binder.expressions import ExpressionBinder
from headrace.sql.binder.scope import Scope
from headrace.sql.connectors.jdbc.conditions import DatabaseText
from headrace.sql.parsing import parse_statement
from headrace.sql.session.table_plan import declared_schema
from headrace.sql.statements import DeleteRows
from tests.sql.sessions import LocalSession

COLUMNS = (
    "id INT, name STRING, price DECIMAL(10, 2), at TIMESTAMP(3), code VARCHAR(5), f FLOAT, "
    "d DOUBLE, big BIGINT, PRIMARY KEY (id) NOT ENFORCED"
)


def session_of(path: Path) -> LocalSession:
    session = LocalSession(batch=True)
    session.execute(
        "CREATE TABLE t (id INT, part STRING) PARTITIONED BY (part) WITH "
        f"('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )
    return session


def test_files_of_a_table_go(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    session.insert("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    assert len(session.query("SELECT * FROM t").rows) == 2
    session.execute("TRUNCATE TABLE t")
    assert session.query("SELECT * FROM t").rows == []


def test_a_table_of_one_file_is_empty_without_it(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("1,a\n")
    session = LocalSession(batch=True)
    session.execute(
        "CREATE TABLE t (id INT, name STRING) WITH "
        f"('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv')"
    )
    session.execute("TRUNCATE TABLE t")
    assert not file.exists()
    session.execute("TRUNCATE TABLE t")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM t", "DELETE statement is not supported for the table"),
        ("UPDATE t SET id = 2 WHERE part = 'a'", "UPDATE statement is not supported for the table"),
        ("TRUNCATE TABLE p", "TRUNCATE TABLE statement is not supported for the table"),
        ("TRUNCATE TABLE v", "TRUNCATE TABLE statement is not supported for view"),
        ("DELETE FROM tt", "doesn't exist, did you mean 't'?"),
        ("DELETE t", "Expecting FROM but found t"),
        ("UPDATE t id = 2", "Expecting SET but found id"),
        ("TRUNCATE t", "Expecting TABLE but found t"),
    ],
)
def test_what_is_refused(tmp_path: Path, statement: str, message: str) -> None:
    session = session_of(tmp_path)
    session.execute("CREATE TABLE p (id INT) WITH ('connector' = 'print')")
    session.execute("CREATE VIEW v AS SELECT 1")
    with pytest.raises(SqlError, match=message):
        session.execute(statement)


def database_text(condition: str, mysql: bool = False) -> tuple[str, list[object]]:
    """What a database is asked for a condition of WHERE."""
    session = LocalSession(batch=True)
    session.execute(f"CREATE TABLE t ({COLUMNS}) WITH ('connector' = 'datagen')")
    statement = parse_statement(f"DELETE FROM t WHERE {condition}")
    assert isinstance(statement, DeleteRows)
    assert statement.condition is not None
    binding = session.session.binding()
    entry = session.session.catalogs.find_table(("t",))
    assert entry is not None
    schema = declared_schema(entry, binding)
    scope = Scope(binding)
    scope.add("t", schema)
    text = DatabaseText([f'"{name}"' for name in schema.names], "UTC", mysql)
    return text.text(ExpressionBinder(binding, scope).bind(statement.condition)), text.values


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        ("id = 1", '("id" = ?)', ["1"]),
        ("t.id + 1 > 2 * id", '(("id" + ?) > (? * "id"))', ["1", "2"]),
        ("name LIKE 'a%' OR name IS NULL", '(("name" LIKE ?) OR ("name" IS NULL))', ["a%"]),
        ("NOT id IN (1, 2)", '("id" NOT IN (?, ?))', ["1", "2"]),
        ("id BETWEEN 1 AND 3", '(("id" >= ?) AND ("id" <= ?))', ["1", "3"]),
        ("price < 3", '("price" < ?)', ["3"]),
        ("price = id AND big > id", '(("price" = "id") AND ("big" > "id"))', []),
        ("CAST(price AS DECIMAL(12, 3)) = 5", '("price" = ?)', ["5"]),
        ("CAST(code AS VARCHAR(5)) = name", '("code" = "name")', []),
        ("d <> 0.1 AND d <> f", '(("d" <> ?) AND ("d" <> "f"))', ["0.1"]),
        ("UPPER(COALESCE(name, 'x')) <> 'X'", '(UPPER(COALESCE("name", ?)) <> ?)', ["x", "X"]),
        ("at < TIMESTAMP '2024-02-29 10:00:00'", '("at" < ?)', ["2024-02-29 10:00:00"]),
        ("at < '2024-02-29 10:00:00'", '("at" < ?)', ["2024-02-29 10:00:00"]),
        (
            "at < TIMESTAMP '2024-03-31 10:00:00' - INTERVAL '1' MONTH",
            '("at" < ?)',
            ["2024-02-29 10:00:00"],
        ),
    ],
)
def test_conditions_as_a_database_reads_them(condition: str, text: str, values: list[str]) -> None:
    found, given = database_text(condition)
    assert found == text
    assert list(map(str, given)) == values


@pytest.mark.parametrize(
    ("condition", "postgresql", "mysql"),
    [
        (
            "name < 'b'",
            '(("name" COLLATE "C") < (? COLLATE "C"))',
            '(CAST(CONVERT("name" USING utf8mb4) AS BINARY) < '
            "CAST(CONVERT(? USING utf8mb4) AS BINARY))",
        ),
        (
            "name IN ('a')",
            '("name" IN (?))',
            '(CAST(CONVERT("name" USING utf8mb4) AS BINARY) IN '
            "(CAST(CONVERT(? USING utf8mb4) AS BINARY)))",
        ),
        ("f > 1", """("f" > ? AND CAST("f" AS DOUBLE PRECISION) <> 'NaN')""", '("f" > ?)'),
        ("1 >= d", '(? >= "d")', '(? >= "d")'),
        ("f < d", """("f" < "d" AND CAST("d" AS DOUBLE PRECISION) <> 'NaN')""", '("f" < "d")'),
        ("d = 1", '("d" = ?)', '("d" = ?)'),
    ],
)
def test_comparisons_of_databases_that_differ(condition: str, postgresql: str, mysql: str) -> None:
    assert database_text(condition)[0] == postgresql
    assert database_text(condition, mysql=True)[0] == mysql


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("id / 2 = 1", "DIVIDE"),
        ("CAST(id AS STRING) = '1'", "CAST"),
        ("name LIKE '\\_%'", "LIKE"),
        ("SPLIT_INDEX(name, ',', 0) = 'a'", "SPLIT_INDEX"),
        ("at + INTERVAL '3' MONTH < TIMESTAMP '2024-02-29 10:00:00'", "PLUS"),
        ("at - INTERVAL '1' DAY < TIMESTAMP '2024-02-29 10:00:00'", "MINUS"),
        ("id * INTERVAL '1' DAY > INTERVAL '2' DAY", "TIMES"),
        ("COALESCE(INTERVAL '1' DAY * id, INTERVAL '2' DAY) IS NULL", "TIMES"),
        ("COALESCE(NULL, INTERVAL '2' DAY, INTERVAL '1' DAY * id) IS NULL", "INTERVAL"),
        ("CAST(price AS DECIMAL(10, 0)) <> 5", "CAST"),
        ("CAST(price AS DECIMAL(9, 2)) <> 5", "CAST"),
        ("CAST(id AS DECIMAL(9, 0)) <> 5", "CAST"),
        ("CAST(d AS DECIMAL(20, 10)) <> 5", "CAST"),
        ("CAST(name AS VARCHAR(3)) = 'abc'", "CAST"),
        ("CAST(code AS CHAR(5)) = 'abc'", "CAST"),
        ("CAST(big AS DOUBLE) = d", "CAST"),
        ("CAST(price AS DOUBLE) = d", "CAST"),
        ("CAST(d AS FLOAT) = f", "CAST"),
        ("d < CAST('NaN' AS DOUBLE)", "NaN"),
    ],
)
def test_what_a_database_would_compute_otherwise(condition: str, name: str) -> None:
    with pytest.raises(SqlError, match=f"{name} cannot be computed by the database"):
        database_text(condition)
