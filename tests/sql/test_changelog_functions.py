"""TO_CHANGELOG and FROM_CHANGELOG: changes as rows with a code, and back."""

from __future__ import annotations

import pytest

from headrace.common.errors import JobExecutionError, SqlError
from tests.sql.sessions import LocalSession, with_tables

COUNTS = "CREATE VIEW counts AS SELECT item, COUNT(*) AS n FROM orders WHERE id < 4 GROUP BY item"
LOG = (
    "CREATE VIEW log AS SELECT * FROM (VALUES ('INSERT', 1, 'a'), ('UPDATE_BEFORE', 1, 'a'), "
    "('UPDATE_AFTER', 1, 'b'), ('INSERT', 2, 'c'), ('DELETE', 2, 'c')) AS t(op, id, v)"
)
CODED = "CREATE VIEW coded AS SELECT * FROM (VALUES (1, 'c'), (2, 'r'), (1, 'd')) AS t(id, code)"


def session(batch: bool = False) -> LocalSession:
    made = with_tables(batch, options={"table.exec.mini-batch.enabled": "false"})
    for view in (COUNTS, LOG, CODED):
        made.execute(view)
    return made


def test_every_change_is_a_row() -> None:
    result = session().query("SELECT * FROM TO_CHANGELOG(input => TABLE counts)")
    assert result.schema.names == ["op", "item", "n"]
    assert result.schema[0].type.sql_text() == "STRING"
    assert result.rows == [
        (0, ("INSERT", "apple", 1)),
        (0, ("INSERT", "pear", 1)),
        (0, ("UPDATE_BEFORE", "apple", 1)),
        (0, ("UPDATE_AFTER", "apple", 2)),
    ]


def test_changes_without_a_code_are_dropped() -> None:
    result = session().query(
        "SELECT * FROM TO_CHANGELOG(input => (SELECT * FROM counts), op => DESCRIPTOR(kind), "
        "op_mapping => MAP['INSERT, UPDATE_AFTER', 'U', 'DELETE', 'D'])"
    )
    assert result.schema.names == ["kind", "item", "n"]
    assert [row for _, row in result.rows] == [
        ("U", "apple", 1),
        ("U", "pear", 1),
        ("U", "apple", 2),
    ]


def test_rows_that_only_come_are_inserts() -> None:
    query = "SELECT op, COUNT(*) FROM TO_CHANGELOG(input => TABLE people) GROUP BY op"
    assert {row[0] for _, row in session().query(query).rows} == {"INSERT"}


@pytest.mark.parametrize("function", ["TO_CHANGELOG", "FROM_CHANGELOG"])
def test_only_streams_have_changes(function: str) -> None:
    with pytest.raises(SqlError, match="which only streams have"):
        session(batch=True).query(f"SELECT * FROM {function}(input => TABLE log)")


def test_codes_become_changes() -> None:
    result = session().query("SELECT * FROM FROM_CHANGELOG(input => TABLE log)")
    assert result.schema.names == ["id", "v"]
    assert result.rows == [
        (0, (1, "a")),
        (1, (1, "a")),
        (2, (1, "b")),
        (0, (2, "c")),
        (3, (2, "c")),
    ]
    grouped = session().query(
        "SELECT v, COUNT(*) FROM FROM_CHANGELOG(input => TABLE log) GROUP BY v"
    )
    assert grouped.materialized() == [("b", 1)]


def test_own_codes() -> None:
    query = (
        "SELECT * FROM FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(code), op_mapping => "
        "MAP['c, r', 'INSERT', 'd', 'DELETE'])"
    )
    assert session().query(query).materialized() == [(2,)]


def test_a_change_comes_back_as_it_was() -> None:
    there_and_back = (
        "SELECT * FROM FROM_CHANGELOG(input => (SELECT * FROM TO_CHANGELOG(input => TABLE counts)))"
    )
    assert session().query(there_and_back).rows == session().query("SELECT * FROM counts").rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("TO_CHANGELOG(input => TABLE counts, op => DESCRIPTOR(a, b))", "exactly one column name"),
        (
            "TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['X', 'x'])",
            "operation: 'X'. Valid",
        ),
        (
            "TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['INSERT', 'a', 'INSERT,', 'b'])",
            "Duplicate change operation: 'INSERT'",
        ),
        (
            "TO_CHANGELOG(input => TABLE counts, op => DESCRIPTOR(item))",
            "Found duplicates: [item]",
        ),
        ("TO_CHANGELOG(input => TABLE counts, op_mapping => MAP[UPPER('a'), 'b'])", "constant MAP"),
        ("TO_CHANGELOG(input => TABLE counts PARTITION BY item)", "set semantics"),
        ("TO_CHANGELOG(5)", "takes a table first"),
        ("FROM_CHANGELOG(input => TABLE coded)", "The op column 'op' does not exist"),
        ("FROM_CHANGELOG(input => TABLE coded, op => DESCRIPTOR(id))", "must be of STRING type"),
        (
            "FROM_CHANGELOG(input => TABLE log, op_mapping => MAP['u', 'UPDATE_AFTER'])",
            "must include UPDATE_BEFORE",
        ),
        (
            "FROM_CHANGELOG(input => TABLE log, op_mapping => MAP['c', 'INSERT', 'r', 'INSERT'])",
            "Use comma-separated keys",
        ),
        ("FROM_CHANGELOG(input => TABLE log, op_mapping => MAP['c', 'NEW'])", "operation: 'NEW'"),
        (
            "FROM_CHANGELOG(input => TABLE counts, op => DESCRIPTOR(item))",
            "doesn't support consuming",
        ),
    ],
)
def test_mistakes(call: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        session().query(f"SELECT * FROM {call}")
    assert message in str(raised.value).splitlines()[0]


@pytest.mark.parametrize(
    ("value", "message"),
    [("'x'", "Received invalid op code 'x'"), ("CAST(NULL AS STRING)", "NULL")],
)
def test_codes_that_nobody_knows(value: str, message: str) -> None:
    query = f"SELECT * FROM FROM_CHANGELOG(input => (SELECT {value} AS op, id FROM orders))"
    with pytest.raises(JobExecutionError, match=message):
        session().query(query)
