"""The statements in the page about connectors can be planned as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sql.sessions import LocalSession

pytest.importorskip("psycopg", reason="pip install 'headrace[jdbc]'")
pytest.importorskip("confluent_kafka", reason="pip install 'headrace[kafka]'")

PAGE = Path(__file__).parents[2] / "docs" / "sql-connectors.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


WRITTEN_ALONE = ("elasticsearch-7",)


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if not any(f"'{name}'" in block for name in WRITTEN_ALONE)],
    ids=lambda b: b.split()[2],
)
def test_a_table_of_the_page_can_be_read(block: str) -> None:
    session = LocalSession()
    session.execute(block.strip().rstrip(";"))
    session.executor.execute(f"EXPLAIN SELECT * FROM {block.split()[2]}")


def test_tables_of_the_page_can_be_written() -> None:
    session = LocalSession()
    for block in BLOCKS:
        session.execute(block.strip().rstrip(";"))
    for insert in (
        "clicks SELECT 'ada', 'http://x', CURRENT_TIMESTAMP",
        "totals SELECT k, COUNT(*) FROM (VALUES ('a')) AS v(k) GROUP BY k",
        "visits SELECT k, COUNT(*) FROM (VALUES ('a')) AS v(k) GROUP BY k",
        "cities SELECT k, COUNT(*) FROM (VALUES ('a')) AS v(k) GROUP BY k",
        "archive SELECT CAST(1 AS BIGINT), 'a', CURRENT_DATE",
    ):
        session.executor.execute(f"EXPLAIN INSERT INTO {insert}")
