"""MATCH_RECOGNIZE: any cut into epochs gives the same matches, and mistakes show their place.

`test_golden.py` compares it with Flink. Here rows become letters by their price, and Python's
regular expressions find what the pattern has to find.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.errors import SqlError
from headrace.sql.plan.text import plan_text
from tests.examples import examples
from tests.sql.sessions import LocalSession, place_of, with_tables

LETTERS = "ABC"
PATTERNS = {
    "A B+ C": "AB+C",
    "A B* C": "AB*C",
    "A B*? C": "AB*?C",
    "A B? C": "AB?C",
    "A{2} B": "A{2}B",
    "A{1,2} B C": "A{1,2}(?!A)BC",
    "A{2,} B": "A{2,}B",
    "A B{1,2}?": "AB{1,2}?",
}
QUERY = """SELECT * FROM t MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY et
    MEASURES FIRST(id) AS f, LAST(id) AS l, COUNT(id) AS n
    AFTER MATCH SKIP PAST LAST ROW
    PATTERN ({pattern}) DEFINE {define}
)"""


def rows_table(folder: Path, rows: list[tuple[int, int]]) -> str:
    """A table of keys and values in a file, a second apart."""
    lines = [f"{k},{i},{v},2020-01-01 00:{i // 60:02}:{i % 60:02}" for i, (k, v) in enumerate(rows)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return (
        "CREATE TABLE t (k INT, id INT, v INT, ts STRING, et AS TO_TIMESTAMP(ts), "
        "WATERMARK FOR et AS et - INTERVAL '1' SECOND) WITH ('connector' = 'filesystem', "
        f"'path' = '{folder}/rows.csv', 'format' = 'csv')"
    )


def by_regular_expression(rows: list[tuple[int, int]], pattern: str) -> list[tuple[int, ...]]:
    found = []
    for key in {k for k, _ in rows}:
        numbers = [i for i, (k, _) in enumerate(rows) if k == key]
        text = "".join(LETTERS[v] for k, v in rows if k == key)
        for match in re.finditer(pattern, text):
            first, last = numbers[match.start()], numbers[match.end() - 1]
            found.append((key, first, last, match.end() - match.start()))
    return sorted(found)


@pytest.mark.parametrize("pattern", PATTERNS)
@examples(15, derandomize=True)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=4, max_size=30),
    records=st.integers(1, 7),
    parallelism=st.integers(1, 3),
    restores=st.sets(st.integers(1, 4), max_size=2),
)
def test_matches_are_those_of_a_regular_expression(
    tmp_path_factory: pytest.TempPathFactory,
    pattern: str,
    rows: list[tuple[int, int]],
    records: int,
    parallelism: int,
    restores: set[int],
) -> None:
    session = LocalSession(parallelism=parallelism)
    session.execute(rows_table(tmp_path_factory.mktemp("rows"), rows))
    define = [f"{x} AS {x}.v = {v}" for v, x in enumerate(LETTERS) if x in pattern]
    query = QUERY.format(pattern=pattern, define=", ".join(define))
    result = session.query(query, epoch_records=records, restore_after=tuple(sorted(restores)))
    assert sorted(tuple(r) for _, r in result.rows) == by_regular_expression(
        rows, PATTERNS[pattern]
    )


def test_processing_time_takes_rows_as_they_come() -> None:
    query = (
        "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY pt MEASURES A.id AS a, "
        "B.id AS b, MATCH_PROCTIME() AS t PATTERN (A B) DEFINE B AS B.price > A.price) "
        "WHERE symbol = 'BETA'"
    )
    rows = with_tables().query(query, epoch_records=1).rows
    assert [tuple(r)[:3] for _, r in rows] == [("BETA", 6, 10), ("BETA", 10, 12), ("BETA", 17, 18)]


def test_partial_matches_do_not_outlive_their_time() -> None:
    """A match that began later is not held up by one that can no longer be completed."""
    query = (
        "SELECT * FROM ticker MATCH_RECOGNIZE (ORDER BY et, id MEASURES A.id AS a, B.id AS b "
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (A X*? B) WITHIN INTERVAL '3' SECOND "
        "DEFINE A AS A.price > 20, B AS B.price < 8)"
    )
    assert [tuple(r) for _, r in with_tables().query(query, epoch_records=2).rows] == [
        (13, 14),
        (15, 17),
    ]


def test_a_skip_to_the_start_of_the_match_is_an_error() -> None:
    query = (
        "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY et MEASURES A.id AS a "
        "AFTER MATCH SKIP TO FIRST A PATTERN (A B))"
    )
    with pytest.raises(Exception, match="the same match would be found again"):
        with_tables().query(query)


def test_explain_shows_the_pattern() -> None:
    plan = with_tables().plan(
        "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY et MEASURES "
        "LAST(A.id, 1) AS a, SUM(B.price) AS s AFTER MATCH SKIP TO LAST B PATTERN (A+ B{2,} C{2}? "
        "D) WITHIN INTERVAL '1' MINUTE DEFINE A AS A.price > 3)"
    )
    text = plan_text(plan)
    assert "pattern=[A+ B{2,} C{2} D]" in text
    assert "measures=[LAST(A.id, 1) AS a, SUM(B.price) AS s]" in text
    assert "define=[A AS (LAST(A.price, 0) > 3)]" in text
    assert "after=[SKIP LAST B]" in text


MISTAKES = {
    "PATTERN (A B+)": ("B", "Greedy quantifiers are not allowed as the last element"),
    "PATTERN (A?)": ("A", "Patterns that can produce empty matches"),
    "PATTERN (A B A)": ("A", "names must be unique"),
    "PATTERN (A+ B? C)": ("B", "Optional pattern cannot be preceded by greedy pattern"),
    "PATTERN (A (B C)+)": ("(", "Groups of pattern variables"),
    "PATTERN (A | B)": ("|", "Alternatives in PATTERN"),
    "PATTERN (A B?? C)": ("B", "use ?"),
    "PATTERN (A {- B -})": ("{", "Exclusions"),
    "PATTERN (PERMUTE(A, B))": ("PERMUTE", "PERMUTE"),
    "PATTERN (A{3,2} B)": ("{", "m >= n"),
    "ALL ROWS PER MATCH PATTERN (A B)": ("MATCH", "ALL ROWS PER MATCH"),
    "AFTER MATCH SKIP TO LAST X PATTERN (A B)": ("X", "Unknown pattern 'X'"),
    "PATTERN (A B) DEFINE D AS D.price > 1": ("D", "Unknown pattern 'D'"),
    "PATTERN (A B) DEFINE B AS B.prize > 1": ("B.prize", "did you mean 'price'?"),
    "PATTERN (A B) DEFINE B AS B.price": ("B.price", "must be a condition"),
    "PATTERN (A B) DEFINE B AS PREV(B.price) > 1": ("PREV(B.price", "use LAST"),
    "PATTERN (A B) DEFINE B AS COUNT(DISTINCT B.id) > 1": ("COUNT", "DISTINCT"),
    "PATTERN (A B) DEFINE B AS SUM(B.id) FILTER (WHERE B.id > 3) > 1": ("B.id", "use CASE"),
    "PATTERN (A B) DEFINE B AS SUM(A.id + B.id) > 1": ("SUM", "single pattern variable"),
    "PATTERN (A B) WITHIN 3": ("3", "constant interval"),
    "PATTERN (A B": ("", "Expecting"),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_shown_at_their_place(text: str) -> None:
    place, message = MISTAKES[text]
    query = f"SELECT * FROM ticker MATCH_RECOGNIZE (ORDER BY et MEASURES A.id AS a {text})"
    with pytest.raises(SqlError) as raised:
        with_tables().query(query)
    assert message in str(raised.value).splitlines()[0]
    assert place_of(raised.value).startswith(place)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("ORDER BY price", "either rowtime or proctime"),
        ("ORDER BY et DESC", "must be ascending"),
        ("", "needs ORDER BY"),
    ],
)
def test_rows_need_an_order_in_time(order: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        with_tables().plan(
            f"SELECT * FROM ticker MATCH_RECOGNIZE ({order} MEASURES A.id AS a PATTERN (A B))"
        )


def test_changing_input_is_refused() -> None:
    query = (
        "SELECT * FROM (SELECT symbol, MAX(et) AS et FROM ticker GROUP BY symbol) MATCH_RECOGNIZE "
        "(ORDER BY et MEASURES A.symbol AS s PATTERN (A B))"
    )
    with pytest.raises(SqlError):
        with_tables().query(query)
