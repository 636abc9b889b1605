"""`headrace new`: the project that it makes works as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace.cluster.cli import main


@pytest.mark.slow
def test_the_project_passes_its_own_test_and_reads_well(tmp_path: Path) -> None:
    project = tmp_path / "deep" / "clicks"
    assert main(["new", str(project)]) == 0
    made = {path.name for path in project.iterdir()}
    assert made == {"popular_pages.py", "test_popular_pages.py", "requirements.txt", "Makefile"}
    assert f"headrace~={headrace.__version__}\n" in (project / "requirements.txt").read_text()
    for command in (
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ruff", "check", "--isolated", "--select", "E,F,B,UP,SIM,RUF", "--line-length", "100"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command, "."], cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_files_that_are_there_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Makefile").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert "has a file Makefile already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
    assert (tmp_path / "Makefile").read_text() == "mine"
