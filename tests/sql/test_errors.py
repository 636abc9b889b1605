"""Statements that are refused: each error underlines the place and says what to do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headrace.common.errors import SqlError
from tests.sql.sessions import HERE, LocalSession, place_of, with_tables

TABLES = (
    "CREATE TABLE sink (a INT, b STRING) WITH ('connector' = 'blackhole')",
    "CREATE TABLE appends (a INT, n BIGINT) "
    "WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')",
    "CREATE TABLE broken (id INT) WITH ('connector' = 'printt')",
    "CREATE TABLE strange (id INT) WITH ('connector' = 'datagen', 'rows' = '1')",
)


def bad_statements() -> list[Any]:
    """Statement, the piece that is underlined, and the beginning of the message."""
    text = (HERE / "bad_statements.sql").read_text(encoding="utf-8")
    found = re.findall(r"^(.+);\n-- at: (.+)\n-- says: (.+)$", text, re.MULTILINE)
    return [pytest.param(*f, id=f[0][:60]) for f in found]


@pytest.fixture(scope="module")
def session() -> LocalSession:
    made = with_tables()
    for statement in TABLES:
        made.execute(statement)
    return made


def refusal(session: LocalSession, statement: str) -> SqlError:
    """The error; queries are planned as far as jobs are made, but not run."""
    query = re.match(r"(SELECT|VALUES|WITH)\b", statement)
    with pytest.raises(SqlError) as error:
        session.execute(f"EXPLAIN {statement}" if query else statement)
    return error.value


@pytest.mark.parametrize(("statement", "at", "says"), bad_statements())
def test_refused_with_the_place(session: LocalSession, statement: str, at: str, says: str) -> None:
    error = refusal(session, statement)
    *message, shown, mark = str(error).splitlines()
    assert place_of(error) == at
    line, column = error.position or (0, 0)
    text = " ".join(message).removeprefix("SQL parse failed. ")
    assert text.startswith(f"line {line}, column {column}: {says}")
    assert shown.index(at) >= 0
    assert column == mark.index("^") - 4 + 1


def test_the_text_of_a_view_is_shown_where_it_is_wrong() -> None:
    session = with_tables()
    session.execute("CREATE VIEW sorted AS SELECT id FROM orders ORDER BY price")
    error = refusal(session, "SELECT id FROM sorted")
    assert "    SELECT id FROM orders ORDER BY price\n" in str(error)
    assert error.position == (1, 32)
