"""The programs in the README and the documentation run and print what the pages show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doc_pages import ROOT, check_page


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/process-table-functions.md",
        "docs/spark-tables.md",
        "docs/sql-lookups.md",
        "docs/sql-models.md",
        "docs/sql.md",
        "docs/tutorial.md",
    ],
)
def test_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    check_page(ROOT / page, tmp_path)


def test_a_page_whose_workers_write_files_beside_it(tmp_path: Path) -> None:
    check_page(ROOT / "docs" / "state-processor.md", tmp_path, alone=True)
