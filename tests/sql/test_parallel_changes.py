"""Changes of a row stay in their order, and sorted rows in theirs, whatever the parallelism is."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.errors import SqlError
from tests.sql.sessions import LocalSession

NUMBERS = ", ".join(f"({i})" for i in range(20))
COUNT = f"SELECT COUNT(*) AS c FROM (VALUES {NUMBERS}) AS t(a)"


def session(batch: bool = False) -> LocalSession:
    return LocalSession(batch, 2, {"table.exec.mini-batch.enabled": "false"})


@pytest.mark.parametrize("condition", ["", "WHERE c <> 3"])
def test_what_follows_a_single_subtask_is_one(condition: str) -> None:
    found = session().query(f"SELECT c + 1 FROM ({COUNT}) {condition}")
    assert_one_row_at_a_time(found.rows)
    assert found.materialized() == [(21,)]


def assert_one_row_at_a_time(changes: list[Any]) -> None:
    """Of a result that is one row, each value is taken back before the next one comes."""
    shown: list[int] = []
    for kind, (number,) in changes:
        shown.remove(number) if kind & 1 else shown.append(number)
        assert len(shown) <= 1


def test_a_projection_of_sorted_rows_keeps_their_order() -> None:
    sorted_rows = f"SELECT a FROM (VALUES {NUMBERS}) AS t(a) ORDER BY a DESC LIMIT 6"
    found = session(batch=True).query(f"SELECT a + 1 FROM ({sorted_rows})")
    assert [row[0] for _, row in found.rows] == [20, 19, 18, 17, 16, 15]


def test_changes_of_one_and_of_many_subtasks_are_united_in_order() -> None:
    by_remainder = f"SELECT COUNT(*) FROM (VALUES {NUMBERS}) AS t(a) GROUP BY a / 4"
    found = session().query(f"SELECT c + 1 FROM ({COUNT} UNION ALL {by_remainder})")
    assert_one_row_at_a_time([(kind, row) for kind, row in found.rows if row[0] > 5])
    assert sorted(found.materialized()) == [(5,)] * 5 + [(21,)]


def table(key: str) -> str:
    options = "'connector' = 'print', 'sink.parallelism' = '3'"
    return f"CREATE TABLE counts (r INT, c BIGINT{key}) WITH ({options})"


COUNTS = f"SELECT a / 4 AS r, COUNT(*) AS c FROM (VALUES {NUMBERS}) AS t(a) GROUP BY a / 4"


def test_a_sink_with_another_parallelism_gets_all_changes_of_a_key_in_one_subtask() -> None:
    started = session()
    started.execute(table(", PRIMARY KEY (r) NOT ENFORCED"))
    printed = started.insert(f"INSERT INTO counts {COUNTS}")
    places: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for subtask, change in (line.split("> ") for line in printed):
        row, count = change[3:-1].split(", ")
        places.setdefault(row, set()).add(subtask)
        last[row] = f"{change[:2]} {count}"
    assert all(len(subtasks) == 1 for subtasks in places.values())
    assert last == {str(r): "+U 4" for r in range(5)}


def test_a_sink_with_another_parallelism_needs_a_key_for_changes() -> None:
    started = session()
    started.execute(table(""))
    with pytest.raises(SqlError, match=r"parallelism of 3, while the input parallelism is 2"):
        started.insert(f"INSERT INTO counts {COUNTS}")
