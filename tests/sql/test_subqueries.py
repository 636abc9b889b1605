"""Subqueries in expressions: what they need of a plan, and what is not possible with them.

`test_golden.py` compares their results with Flink, `test_epochs.py` cuts them into epochs.
"""

from __future__ import annotations

import pytest

from headrace.common.errors import JobExecutionError, SqlError
from headrace.sql.plan.changelog import is_append_only
from headrace.sql.plan.text import plan_text
from tests.sql.sessions import place_of, with_tables

CHEAP = "(SELECT item FROM orders WHERE price < 5)"
CHEAP_PAIRS = "(SELECT item, id FROM orders WHERE price < 5)"


@pytest.mark.parametrize(
    ("condition", "text", "append_only"),
    [
        (f"item IN {CHEAP}", "Join(joinType=[LeftSemiJoin], where=[(item = item0)]", True),
        (f"NOT EXISTS {CHEAP}", "Join(joinType=[LeftAntiJoin], where=[true]", False),
        (f"item NOT IN {CHEAP}", "[LeftAntiJoin], where=[((item IS NULL) OR $missing)]", False),
        (f"(item, id) NOT IN {CHEAP_PAIRS}", "Join(joinType=[LeftAntiJoin], where=[((", False),
        ("price > (SELECT AVG(price) FROM orders)", "Join(joinType=[InnerJoin]", False),
        (f"(item IN {CHEAP}) IS NULL", "Join(joinType=[LeftOuterJoin], where=[(item = ", False),
    ],
)
def test_plans_say_what_a_subquery_becomes(condition: str, text: str, append_only: bool) -> None:
    plan = with_tables().plan(f"SELECT id FROM orders WHERE {condition} AND id > 2")
    assert text in plan_text(plan)
    assert is_append_only(plan) is append_only


def test_a_row_is_taken_back_when_its_reason_is_gone() -> None:
    query = (
        "SELECT id FROM orders WHERE id < 4 AND item IN (SELECT item FROM (SELECT item, COUNT(*) "
        "AS n FROM orders GROUP BY item) WHERE n = 2)"
    )
    rows = with_tables().query(query, epoch_records=1).rows
    assert {(kind, *row) for kind, row in rows} == {(0, 1), (0, 3), (3, 1), (3, 3), (0, 2), (3, 2)}


def test_stars_do_not_show_values_of_subqueries() -> None:
    query = "SELECT * FROM people WHERE age > (SELECT AVG(age) FROM people)"
    assert with_tables().plan(query).schema.names == with_tables().plan("TABLE people").schema.names


@pytest.mark.parametrize(
    ("query", "place", "message"),
    [
        ("SELECT id FROM orders WHERE id IN (SELECT id, item FROM orders)", "id", "2 columns"),
        ("SELECT (SELECT id, item FROM orders) FROM orders", "id", "one column, not 2"),
        (
            "SELECT id FROM orders WHERE et IN (SELECT active FROM people)",
            "et",
            "Cannot compare",
        ),
        (
            "SELECT id FROM orders AS o WHERE EXISTS (SELECT 1 FROM people WHERE age > o.nix)",
            "o.nix",
            "not found",
        ),
        (
            "SELECT age FROM people WHERE EXISTS (SELECT 1 FROM people a, people b WHERE age > 5)",
            "age",
            "Column 'age' is ambiguous",
        ),
        (
            "SELECT age FROM people AS a WHERE EXISTS (SELECT 1 FROM orders AS a WHERE a.age > 5)",
            "a.age",
            "Column 'age' not found in table 'a'",
        ),
        (
            "SELECT item FROM orders AS o GROUP BY item HAVING EXISTS (SELECT 1 FROM people AS p "
            "WHERE p.age = o.price)",
            "o.price",
            "'o.price' is not being grouped",
        ),
        (
            "SELECT item FROM orders GROUP BY item HAVING id IN (SELECT age FROM people)",
            "id",
            "not being grouped",
        ),
        ("SELECT id FROM orders WHERE id IN (SELECT nix FROM orders)", "nix", "not found"),
    ],
)
def test_mistakes_are_shown_at_their_place(query: str, place: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        with_tables().query(query)
    assert message in str(raised.value).splitlines()[0]
    assert place_of(raised.value).startswith(place)


@pytest.mark.parametrize("batch", [False, True])
def test_a_value_is_one_row_at_most(batch: bool) -> None:
    query = "SELECT id FROM orders WHERE price = (SELECT price FROM orders)"
    with pytest.raises(JobExecutionError, match=r"more than one row.*use an aggregate"):
        with_tables(batch=batch).query(query)


def test_changes_of_a_row_keep_their_order_behind_a_single_subtask() -> None:
    query = "SELECT id, price > (SELECT AVG(price) FROM orders) AS above FROM orders"
    options = {"table.exec.mini-batch.enabled": "false"}
    result = with_tables(parallelism=3, options=options).query(query, shuffle_seed=3)
    assert len(result.materialized()) == 9


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("price = ALL (SELECT price FROM orders WHERE id = 3)", "price = 12"),
        ("price = ALL (SELECT price FROM orders)", "FALSE"),
        ("price <> ANY (SELECT price FROM orders)", "TRUE"),
        ("price <> ANY (SELECT price FROM orders WHERE id = 3)", "price <> 12"),
        ("price >= ALL (SELECT price FROM orders)", "price = 12"),
        ("price > ALL (SELECT age FROM people WHERE age > 1000)", "TRUE"),
        ("price > ANY (SELECT age FROM people WHERE age > 1000)", "FALSE"),
        ("price > ALL (SELECT qty FROM orders)", "FALSE"),
    ],
)
def test_any_and_all(condition: str, ids: str) -> None:
    session = with_tables()
    found = session.query(f"SELECT id FROM orders WHERE {condition}").materialized()
    expected = session.query(f"SELECT id FROM orders WHERE {ids}").materialized()
    assert sorted(found) == sorted(expected)
