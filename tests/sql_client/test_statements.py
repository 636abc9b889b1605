"""The client's statements: where they end, what may stand at the cursor, and rows so far."""

from __future__ import annotations

import pytest

from headrace.cluster.sql_client.candidates import candidates
from headrace.cluster.sql_client.live_table import RowsSoFar
from headrace.cluster.sql_client.splitting import is_complete, split_statements
from headrace.table import EnvironmentSettings, TableEnvironment


def test_semicolons_in_text_names_and_comments_end_nothing() -> None:
    script = "-- a; b\nSELECT ';', `x;y` /* ; */ FROM t;\n;\nSET 'a' = 'it''s;';SHOW TABLES"
    assert [s.strip() for s in split_statements(script)] == [
        "-- a; b\nSELECT ';', `x;y` /* ; */ FROM t;",
        "SET 'a' = 'it''s;';",
        "SHOW TABLES",
    ]


def test_a_statement_set_is_one_statement() -> None:
    block = "BEGIN STATEMENT SET;\nINSERT INTO a SELECT 1;\nINSERT INTO b SELECT 2;\nEND;"
    assert split_statements(f"SHOW TABLES;{block} QUIT;") == ["SHOW TABLES;", block, " QUIT;"]
    assert not is_complete("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;")
    assert is_complete(block)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
        ("SELECT 1; -- done", True),
        ("SELECT 1; SELECT", False),
        ("SELECT /* ;", False),
        ("", True),
        ("quit", True),
        ("quit now", False),
    ],
)
def test_enter_runs_what_is_complete(text: str, complete: bool) -> None:
    assert is_complete(text) is complete


def test_names_and_keywords_are_offered() -> None:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("CREATE TABLE orders (o_price INT) WITH ('connector' = 'datagen')")

    def offered(before: str) -> list[str]:
        return [text for text, _ in candidates(environment._session, before)]

    assert offered("SELECT * FROM or")[0] == "orders"
    assert "o_price" in offered("SELECT o_")
    assert "select" in offered("sel")
    assert "SELECT" in offered("SEL")
    assert "parallelism.default" in offered("SET 'parall")
    assert offered("SELECT ") == []


def test_a_table_is_what_is_left_after_all_changes() -> None:
    rows = RowsSoFar(iter([]), changelog=False)
    for kind, row in [(0, ("a", 1)), (0, ("b", 1)), (1, ("a", 1)), (2, ("a", 2)), (3, ("b", 1))]:
        rows.apply(kind, row)
    assert rows.last(10) == ([(0, ("a", 2))], 1)
    changes = RowsSoFar(iter([(0, ("a",)), (3, ("a",))]), changelog=True)
    changes.start()
    assert changes.ended.wait(60)
    assert changes.last(1) == ([(3, ("a",))], 2)
