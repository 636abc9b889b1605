"""The programs in the README and the documentation run and print what the pages show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doc_pages import ROOT, check_page, python_blocks


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/process-table-functions.md",
        "docs/spark-tables.md",
        "docs/sql-lookups.md",
        "docs/sql-models.md",
        "docs/sql.md",
    ],
)
def test_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    check_page(ROOT / page, tmp_path)


def test_the_tutorial_is_a_program_to_which_each_block_is_appended(tmp_path: Path) -> None:
    blocks = python_blocks(ROOT / "docs" / "tutorial.md")
    file = tmp_path / "tutorial.py"
    with file.open("a") as program:
        for block in blocks:
            program.write("\n".join(block.code) + "\n")
    ran = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [line for block in blocks for line in block.output or ()]


def test_a_page_whose_workers_write_files_beside_it(tmp_path: Path) -> None:
    check_page(ROOT / "docs" / "state-processor.md", tmp_path, alone=True)
