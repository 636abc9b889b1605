"""The postgres-cdc connector in SQL, with a real PostgreSQL, in this process."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import SqlError
from tests.cdc.capturing import Shop
from tests.kafka.running import Running
from tests.sql.sessions import LocalSession

pytestmark = pytest.mark.timeout(180)


def session_with(shop: Shop, columns: str, tables: str, **options: str) -> LocalSession:
    session = LocalSession(parallelism=2)
    session.execute(f"CREATE TABLE t ({columns}) WITH ({shop.options(tables, **options)})")
    return session


def running(session: LocalSession, query: str) -> Running:
    return Running(session.env, session.session.translator().stream(session.plan(query)))


def left(rows: list[Any]) -> list[Any]:
    """The rows that are there after all changes, which end with their kind."""
    there: list[Any] = []
    for *row, kind in rows:
        if kind & 1:
            there.remove(tuple(row))
        else:
            there.append(tuple(row))
    return sorted(there)


def test_a_query_follows_the_table(shop: Shop) -> None:
    shop.table("orders", "id INT PRIMARY KEY, item TEXT, amount NUMERIC(10, 2)")
    shop.execute("INSERT INTO orders VALUES (1, 'pen', 1.50), (2, 'ink', 2), (3, 'pen', 3)")
    columns = "id INT, item STRING, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED"
    session = session_with(shop, columns, "orders")
    query = "SELECT item, CAST(SUM(amount) AS STRING), COUNT(*) FROM t GROUP BY item"
    with running(session, query) as job:
        job.run_until(lambda: left(job.rows) == [("ink", "2.00", 1), ("pen", "4.50", 2)])
        job.restore()
        shop.execute("UPDATE orders SET item = 'ink' WHERE id = 1")
        shop.execute("DELETE FROM orders WHERE id = 3")
        job.run_until(lambda: left(job.rows) == [("ink", "3.50", 2)])


def test_values_are_the_same_from_tables_and_from_the_log(shop: Shop) -> None:
    columns = (
        "a SMALLINT, b BIGINT, c REAL, d DOUBLE PRECISION, e BOOLEAN, f VARCHAR(9), g BYTEA, "
        "h DATE, i TIME, j TIMESTAMP, k TIMESTAMPTZ, l JSONB, m UUID, n INT[], o TEXT[], p amount"
    )
    shop.execute("CREATE DOMAIN amount AS NUMERIC(8, 3)")
    shop.table("t", columns)
    values = (
        "1, 2, 0.5, 1e300, true, 'ä''', '\\x00ff', '2024-02-29', '12:34:56.5', "
        "'2024-02-29 01:02:03.456789', '2024-02-29 01:02:03+02', '{\"a\": [1, null]}', "
        "'5b7d7ff1-7a5d-4ff5-9f43-000000000000', '{1,NULL,3}', '{\"x y\",z}', 12.345"
    )
    nulls = ", ".join(["NULL"] * 16)
    declared = (
        "a SMALLINT, b BIGINT, c FLOAT, d DOUBLE, e BOOLEAN, f STRING, g BYTES, h DATE, "
        "i TIME(3), j TIMESTAMP(6), k TIMESTAMP_LTZ(3), l STRING, m STRING, n ARRAY<INT>, "
        "o ARRAY<STRING>, p DECIMAL(8, 3)"
    )
    for row in (values, nulls):
        shop.execute(f"INSERT INTO t VALUES ({row})")
    session = session_with(shop, declared, "t")
    with running(session, "SELECT * FROM t") as job:
        job.run_until(lambda: len(job.rows) == 2)
        for row in (values, nulls):
            shop.execute(f"INSERT INTO t VALUES ({row})")
        job.run_until(lambda: len(job.rows) == 4)
        rows = sorted(job.rows, key=str)
    assert rows[0] == rows[1]
    assert rows[2] == rows[3]
    assert {rows[0][11], rows[2][11]} == {None, '{"a": [1, null]}'}


def test_metadata_says_where_and_when(shop: Shop) -> None:
    for name in ("t_1", "t_2"):
        shop.table(name, "id INT PRIMARY KEY")
    shop.execute("INSERT INTO t_1 VALUES (1)")
    columns = (
        "db STRING METADATA FROM 'database_name' VIRTUAL, id INT, "
        "name STRING METADATA FROM 'table_name' VIRTUAL, "
        "at TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, "
        "kind STRING METADATA FROM 'row_kind' VIRTUAL, "
        "PRIMARY KEY (id) NOT ENFORCED"
    )
    session = session_with(
        shop, columns, "t_.*", scan__read_changelog_as_append_only__enabled="true"
    )
    query = "SELECT db, id, name, YEAR(`at`) > 2020, kind FROM t"
    with running(session, query) as job:
        job.run_until(lambda: len(job.rows) == 1)
        shop.execute("INSERT INTO t_2 VALUES (7)")
        shop.execute("UPDATE t_2 SET id = 8")
        shop.execute("DELETE FROM t_2")
        job.run_until(lambda: len(job.rows) == 5)
    assert sorted(job.rows) == [
        ("shop", 1, "t_1", False, "+I"),
        ("shop", 7, "t_2", True, "+I"),
        ("shop", 7, "t_2", True, "-U"),
        ("shop", 8, "t_2", True, "+U"),
        ("shop", 8, "t_2", True, "-D"),
    ]


def test_a_snapshot_is_a_table_that_ends(shop: Shop) -> None:
    shop.table("t", "id INT PRIMARY KEY", full=False)
    shop.execute("INSERT INTO t SELECT * FROM generate_series(1, 100)")
    options = {"scan__startup__mode": "snapshot", "scan__incremental__snapshot__chunk__size": "9"}
    session = session_with(shop, "id INT", "t", **options)
    assert sorted(session.query("SELECT id FROM t").materialized()) == [(n,) for n in range(1, 101)]


WRONG = [
    ({"slot__name": ""}, "lower-case letters"),
    ({"scan__startup__mode": "earliest"}, "Expected one of: initial"),
    ({"changelog_mode": "upsert"}, "'changelog-mode' is 'all'"),
    ({"decoding__plugin__name": "wal2json"}, "no decoder for the plugin 'wal2json'"),
    ({"colour": "red"}, "Unsupported options"),
    ({"table_name": "(", "schema_name": "a"}, "is not a regular expression"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[next(iter(o)) for o, _ in WRONG])
def test_a_wrong_option_is_refused_when_the_query_is_planned(
    shop: Shop, options: dict[str, str], words: str
) -> None:
    session = session_with(shop, "id INT", "t", **options)
    with pytest.raises(Exception, match=words):
        session.plan("SELECT * FROM t")


def test_other_metadata_is_refused(shop: Shop) -> None:
    session = session_with(shop, "id INT, x STRING METADATA FROM 'table_nam'", "t")
    with pytest.raises(SqlError, match="Invalid metadata key 'table_nam'"):
        session.plan("SELECT * FROM t")
