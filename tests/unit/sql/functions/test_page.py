"""The page of SQL functions is what its generator writes."""

from __future__ import annotations

from pathlib import Path

from tools.sql_functions_page import page

DOCS = Path(__file__).parents[4] / "docs"


def test_the_page_of_functions_is_up_to_date() -> None:
    """Run `python tools/sql_functions_page.py` after a change of the functions."""
    assert (DOCS / "sql-functions.md").read_text(encoding="utf-8") == page()
