"""Joins with what a table has for a key at this moment: `FOR SYSTEM_TIME AS OF` processing time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.common.errors import JobExecutionError, SqlError
from headrace.runtime.failure import UserCodeFailure
from headrace.sql.lookups.python_source import LookupTableSource, as_lookup_source
from headrace.sql.types.data_types import DataTypes
from headrace.table import Schema, TableDescriptor
from tests.sql.sessions import LocalSession, place_of

ORDERS = """CREATE VIEW orders AS SELECT id, k, PROCTIME() AS pt FROM (VALUES
  (1, 10), (2, 20), (3, CAST(NULL AS INT)), (4, 10), (5, 30)) AS t(id, k)"""
NAMES = {10: ["ten"], 20: ["twenty", "a score"]}
JOIN = "FROM orders AS o {} JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON {}"


class Dim(LookupTableSource):
    """Notes the keys of each call."""

    calls: list[list[Any]] = []  # noqa: RUF012 - tests look at the calls of all subtasks

    def lookup(self, keys: Sequence[Any]) -> list[Any]:
        Dim.calls.append([k.k for k in keys])
        return [(k.k, name, len(name)) for k in keys for name in NAMES.get(k.k, ())]


def session_with(source: Any, batch: bool = False, **options: str) -> LocalSession:
    session = LocalSession(batch=batch)
    session.execute(ORDERS)
    register(session, source, **options)
    Dim.calls = []
    return session


def register(session: LocalSession, source: Any, name: str = "dim", **options: str) -> None:
    from dataclasses import replace

    schema = (
        Schema.new_builder()
        .column("k", DataTypes.INT())
        .column("name", DataTypes.STRING())
        .column("size", DataTypes.INT())
        .build()
    )
    descriptor = TableDescriptor.for_connector("python").schema(schema)
    for key, value in options.items():
        descriptor.option(key.replace("__", ".").replace("_", "-"), value)
    entry = replace(descriptor.build().entry(), object=as_lookup_source(source))
    session.session.catalogs.create_table((name,), entry, temporary=True)


def rows(session: LocalSession, query: str, **settings: Any) -> list[Any]:
    return [tuple(row) for _, row in session.query(query, **settings).rows]


@pytest.mark.parametrize("batch", [False, True])
def test_rows_meet_what_the_table_has(batch: bool) -> None:
    session = session_with(Dim(), batch)
    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}"
    assert rows(session, query) == [(1, "ten"), (2, "twenty"), (2, "a score"), (4, "ten")]
    assert Dim.calls == [[10, 20, 30]]


class Capitals(LookupTableSource):
    """Has other names than `Dim`."""

    def lookup(self, keys: Sequence[Any]) -> list[Any]:
        return [(k.k, name.upper(), 0) for k in keys for name in NAMES.get(k.k, ())]


@pytest.mark.parametrize(("table", "found"), [("dim", ["ten"] * 2), ("capitals", ["TEN", "ten"])])
def test_a_join_with_another_table_is_another_join(table: str, found: list[str]) -> None:
    """What a statement computes twice is computed once, but these are two things."""
    session = session_with(Dim())
    register(session, Capitals(), "capitals")
    query = "SELECT name, COUNT(*) FROM x JOIN {} FOR SYSTEM_TIME AS OF x.pt AS d ON x.k = d.k "
    query += "GROUP BY name HAVING COUNT(*) = 2"
    both = f"{query.format('dim')} UNION ALL {query.format(table)}"
    result = session.query(f"WITH x AS (SELECT * FROM orders) {both}")
    assert sorted(result.materialized()) == [(name, 2) for name in found]
    assert len(Dim.calls) == 1


def test_rows_without_a_partner_stay_in_a_left_join() -> None:
    query = f"SELECT o.id, d.name, d.k {JOIN.format('LEFT', 'o.k = d.k')}"
    assert rows(session_with(Dim()), query) == [
        (1, "ten", 10),
        (2, "twenty", 20),
        (2, "a score", 20),
        (3, None, None),
        (4, "ten", 10),
        (5, None, None),
    ]


@pytest.mark.parametrize(
    ("kind", "condition", "expected"),
    [
        ("", "o.k = d.k AND d.size > 3", [(2, "twenty"), (2, "a score")]),
        ("", "o.k = d.k AND d.size > o.id", [(1, "ten"), (2, "twenty"), (2, "a score")]),
        ("", "o.k = d.k AND o.id > 2", [(4, "ten")]),
        ("", "o.k + 10 = d.k", [(1, "twenty"), (1, "a score"), (4, "twenty"), (4, "a score")]),
        ("", "o.k = d.k AND d.name = 'twenty'", [(2, "twenty")]),
        ("", "d.k = 10 AND o.id < 3", [(1, "ten"), (2, "ten")]),
        (
            "LEFT",
            "o.k = d.k AND d.size > 3",
            [(1, None), (2, "twenty"), (2, "a score"), (3, None), (4, None), (5, None)],
        ),
        (
            "LEFT",
            "o.k = d.k AND o.id > 1 AND d.size > o.id + 4",
            [(1, None), (2, "a score"), (3, None), (4, None), (5, None)],
        ),
    ],
)
def test_further_conditions(kind: str, condition: str, expected: list[Any]) -> None:
    query = f"SELECT o.id, d.name {JOIN.format(kind, condition)}"
    assert rows(session_with(Dim()), query) == expected


def test_a_condition_above_the_join() -> None:
    query = f"SELECT o.id {JOIN.format('LEFT', 'o.k = d.k')} WHERE d.name IS NULL"
    assert rows(session_with(Dim()), query) == [(3,), (5,)]


def test_a_view_of_the_table() -> None:
    session = session_with(Dim())
    session.execute("CREATE VIEW v AS SELECT UPPER(name) AS big, k AS kk FROM dim WHERE size < 7")
    query = (
        "SELECT o.id, v.big FROM orders AS o JOIN v FOR SYSTEM_TIME AS OF o.pt AS v ON o.k = v.kk"
    )
    assert rows(session, query) == [(1, "TEN"), (2, "TWENTY"), (4, "TEN")]


def test_a_wider_key_of_the_other_side() -> None:
    session = session_with(Dim())
    query = (
        "SELECT o.id, d.k FROM (SELECT id, CAST(k AS BIGINT) AS k, pt FROM orders) AS o "
        "JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k"
    )
    assert rows(session, query) == [(1, 10), (2, 20), (2, 20), (4, 10)]


def test_keys_of_a_call_are_limited() -> None:
    class Small(Dim):
        keys_per_call = 2

    session = session_with(Small())
    rows(session, f"SELECT o.id {JOIN.format('', 'o.k = d.k')}")
    assert Dim.calls == [[10, 20], [30]]


def test_a_cache_is_asked_first() -> None:
    session = session_with(Dim(), lookup__cache="PARTIAL")
    query = f"SELECT o.id, d.name {JOIN.format('LEFT', 'o.k = d.k')}"
    assert len(rows(session, query, epoch_records=1)) == 6
    assert Dim.calls == [[10], [20], [30]]


def test_without_a_cache_each_epoch_asks() -> None:
    session = session_with(Dim())
    rows(session, f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}", epoch_records=1)
    assert Dim.calls == [[10], [20], [10], [30]]


def test_a_coroutine_function() -> None:
    async def lookup(keys: Sequence[Any]) -> list[Any]:
        await asyncio.sleep(0)
        return [(k.k, f"{k.k}!", 0) for k in keys]

    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}"
    assert rows(session_with(lookup), query) == [(1, "10!"), (2, "20!"), (4, "10!"), (5, "30!")]


def test_a_plain_function_and_rows_as_dicts() -> None:
    def lookup(keys: Sequence[Any]) -> Any:
        for key in keys:
            yield {"k": key.k, "size": 1}

    query = f"SELECT o.id, d.name, d.size {JOIN.format('', 'o.k = d.k')} WHERE o.id = 1"
    assert rows(session_with(lookup), query) == [(1, None, 1)]


def test_a_left_side_that_changes() -> None:
    session = session_with(Dim())
    query = (
        "SELECT o.n, d.name FROM (SELECT k, COUNT(*) AS n, PROCTIME() AS pt FROM orders GROUP BY k)"
        " AS o LEFT JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k"
    )
    result = session.query(query, epoch_records=1)
    assert sorted(result.materialized(), key=str) == [
        (1, "a score"),
        (1, "twenty"),
        (1, None),
        (1, None),
        (2, "ten"),
    ]
    assert {kind for kind, _ in result.rows} == {0, 1, 2}


def test_two_lookups_and_time_that_stays() -> None:
    session = session_with(Dim())
    query = (
        "SELECT o.id, d.name, e.name FROM orders AS o "
        "JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k "
        "JOIN dim FOR SYSTEM_TIME AS OF o.pt AS e ON o.k = e.k AND e.size < 7"
    )
    assert rows(session, query) == [
        (1, "ten", "ten"),
        (2, "twenty", "twenty"),
        (2, "a score", "twenty"),
        (4, "ten", "ten"),
    ]


def test_the_result_is_the_same_after_a_restore() -> None:
    session = session_with(Dim(), lookup__cache="PARTIAL")
    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}"
    found = rows(session, query, epoch_records=1, restore_after={1, 3})
    assert found == [(1, "ten"), (2, "twenty"), (2, "a score"), (4, "ten")]


# Tables that are read as a whole.


def test_files_are_read_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("10,ten,3\n20,twenty,6\n", encoding="utf-8")
    session = LocalSession(parallelism=2)
    session.execute(ORDERS)
    session.execute(
        "CREATE TABLE dim (k INT, name STRING, size INT, big AS UPPER(name)) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv')"
    )
    query = f"SELECT o.id, d.name, d.big {JOIN.format('LEFT', 'o.k = d.k')}"
    assert sorted(rows(session, query)) == [
        (1, "ten", "TEN"),
        (2, "twenty", "TWENTY"),
        (3, None, None),
        (4, "ten", "TEN"),
        (5, None, None),
    ]


def test_parquet_files(tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(ORDERS)
    session.execute(
        "CREATE TABLE dim (k INT, name STRING) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path / 'd'}', 'format' = 'parquet')"
    )
    session.insert("INSERT INTO dim VALUES (10, 'ten'), (30, 'thirty')")
    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}"
    assert rows(session, query) == [(1, "ten"), (4, "ten"), (5, "thirty")]


def test_rows_of_the_program() -> None:
    session = LocalSession()
    session.execute(ORDERS)
    session.execute("CREATE VIEW dim AS SELECT * FROM (VALUES (10, 'x'), (10, 'y')) AS t(k, name)")
    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')}"
    assert rows(session, query) == [(1, "x"), (1, "y"), (4, "x"), (4, "y")]


def test_files_have_no_other_cache(tmp_path: Path) -> None:
    session = LocalSession()
    session.execute(
        "CREATE TABLE dim (k INT) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{tmp_path}', 'lookup.cache' = 'PARTIAL')"
    )
    with pytest.raises(SqlError, match=r"'lookup.cache' of table .*dim can only be FULL"):
        session.plan("SELECT * FROM dim")


# Errors.


def test_a_join_needs_an_equal_key() -> None:
    query = f"SELECT o.id {JOIN.format('', 'o.k > d.k')}"
    with pytest.raises(
        SqlError, match=r"requires an equality condition on fields of table \[.*\.dim\]"
    ) as caught:
        session_with(Dim()).plan(query)
    assert place_of(caught.value).startswith("JOIN dim")


def test_a_table_that_can_only_be_looked_up() -> None:
    with pytest.raises(SqlError, match="can only be looked up: join it with"):
        session_with(Dim()).query("SELECT * FROM dim")


def test_a_table_that_cannot_be_looked_up() -> None:
    session = LocalSession()
    session.execute(ORDERS)
    session.execute(
        "CREATE TABLE dim (k INT PRIMARY KEY NOT ENFORCED) WITH ('connector' = 'datagen')"
    )
    with pytest.raises(SqlError, match="Processing-time temporal join is not supported yet"):
        session.query(f"SELECT o.id {JOIN.format('', 'o.k = d.k')}")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "lookup() must return a list of rows of the table"),
        ((1, "x", 2), "lookup() must return a list of rows of the table"),
        ([("x", "x", 2)], "'x'"),
        (KeyError("gone"), "gone"),
    ],
)
def test_a_lookup_that_fails(answer: Any, message: str) -> None:
    def lookup(keys: Sequence[Any]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises((UserCodeFailure, JobExecutionError)) as caught:
        session_with(lookup).query(f"SELECT o.id {JOIN.format('', 'o.k = d.k')}")
    assert message in str(caught.value)


def test_tables_declared_in_sql() -> None:
    session = LocalSession()
    session.execute(ORDERS)
    session.execute(
        "CREATE TABLE dim (k INT, name STRING, size INT) WITH "
        "('connector' = 'python', 'lookup' = 'tests.sql.test_lookup_joins:Dim')"
    )
    query = f"SELECT o.id, d.name {JOIN.format('', 'o.k = d.k')} WHERE o.id = 1"
    assert rows(session, query) == [(1, "ten")]
    session.execute(
        "CREATE TABLE wrong (k INT) WITH ('connector' = 'python', 'lookup' = 'tests.sql:Nothing')"
    )
    with pytest.raises(SqlError, match=r"'tests.sql:Nothing' cannot be loaded"):
        session.plan("SELECT * FROM wrong")


# Hints.


def test_keys_without_rows_are_looked_up_again() -> None:
    class Late(Dim):
        def lookup(self, keys: Sequence[Any]) -> list[Any]:
            found = super().lookup(keys)
            return found if len(Dim.calls) < 3 else [(k.k, "late", 4) for k in keys]

    hint = (
        "/*+ LOOKUP('table'='d', 'retry-predicate'='lookup_miss', 'retry-strategy'='fixed_delay', "
        "'fixed-delay'='1ms', 'max-attempts'='4') */"
    )
    query = f"SELECT {hint} o.id, d.name {JOIN.format('', 'o.k = d.k')} WHERE o.id > 3"
    assert rows(session_with(Late()), query) == [(4, "ten"), (5, "late")]
    assert Dim.calls == [[10, 30], [30], [30]]


async def coroutine(keys: Sequence[Any]) -> list[Any]:
    return []


@pytest.mark.parametrize(
    ("source", "hint", "shown"),
    [
        (Dim(), "", None),
        (Dim(), ", 'async'='true'", None),
        (Dim(), ", 'async'='false'", None),
        (coroutine, "", "async=[true]"),
        (coroutine, ", 'async'='true'", "async=[true]"),
        (coroutine, ", 'async'='false', 'timeout'='1s', 'capacity'='3'", "async=[false]"),
    ],
)
def test_the_plan_shows_how_a_table_is_asked(source: Any, hint: str, shown: str | None) -> None:
    """A hint for a table that cannot be asked asynchronously has no effect, as in Flink."""
    session = session_with(source)
    hint = f"/*+ LOOKUP('table'='d'{hint}) */"
    query = f"EXPLAIN SELECT {hint} o.id {JOIN.format('', 'o.k = d.k')}"
    text = explained(session, query)
    assert shown in text if shown else "async" not in text


def test_hints_are_part_of_the_plan() -> None:
    session = session_with(Dim(), batch=True)
    query = "EXPLAIN SELECT /*+ BROADCAST(b) */ a.k FROM orders AS a JOIN orders AS b ON a.k = b.k"
    assert "joinHints=[BROADCAST(b)]" in explained(session, query)


def explained(session: LocalSession, query: str) -> str:
    from headrace.sql.parsing import parse_statement
    from headrace.sql.session.explain import explain_statement

    statement: Any = parse_statement(query)
    return explain_statement(session.session, statement.statement, query)


def test_a_key_of_the_left_side_stays_one_if_the_table_has_one_row_for_it() -> None:
    from headrace.sql.plan.upsert_keys import upsert_keys

    session = LocalSession()
    session.execute(ORDERS)
    session.execute(
        "CREATE TABLE dim (k INT PRIMARY KEY NOT ENFORCED, other INT) WITH ('connector' = 'jdbc', "
        "'url' = 'jdbc:postgresql://nowhere/d', 'table-name' = 't')"
    )
    groups = "(SELECT k, COUNT(*) AS n, PROCTIME() AS pt FROM orders GROUP BY k) AS o"
    query = f"SELECT * FROM {groups} LEFT JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d."
    assert upsert_keys(session.plan(query + "k")) == {frozenset({0})}
    assert not upsert_keys(session.plan(query + "other"))


class Changing(LookupTableSource):
    """Gives another name with each call."""

    numbers = itertools.count(1)

    def lookup(self, keys: Sequence[Any]) -> list[Any]:
        number = next(Changing.numbers)
        return [(k.k, f"call {number}", 0) for k in keys]


@pytest.mark.parametrize("restore_after", [(), {1}])
def test_what_was_found_is_what_is_taken_back(restore_after: Any) -> None:
    session = session_with(Changing())
    key = "table.optimizer.non-deterministic-update.strategy"
    session.session.config.set(key, "TRY_RESOLVE")
    query = (
        "SELECT o.k, o.n, d.name FROM (SELECT k, COUNT(*) AS n, PROCTIME() AS pt FROM orders "
        "GROUP BY k) AS o JOIN dim FOR SYSTEM_TIME AS OF o.pt AS d ON o.k = d.k"
    )
    Changing.numbers = itertools.count(1)
    result = session.query(query, epoch_records=1, restore_after=restore_after)
    assert [(kind, *row) for kind, row in result.rows] == [
        (0, 10, 1, "call 1"),
        (0, 20, 1, "call 2"),
        (1, 10, 1, "call 1"),
        (2, 10, 2, "call 3"),
        (0, 30, 1, "call 4"),
    ]
    assert "upsertMaterialize=[true]" in explained(session, f"EXPLAIN {query}")
