"""`headrace new`: the project that it makes works as it is."""

from __future__ import annotations

import json
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
    for command in (
        ("pytest", "-q", "-p", "no:cacheprovider"),
        ("ruff", "check", "--isolated", "--select", "E,F,B,UP,SIM,RUF", "--line-length", "100"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", *command, "."], cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, f"headrace~={headrace.__version__}"),
        ({"url": "file:///my%20code", "dir_info": {"editable": True}}, "--editable '/my code'"),
        ({"url": "file:///code", "dir_info": {}}, "headrace @ file:///code"),
        (
            {"url": "file:///w/headrace.whl", "archive_info": {}},
            "headrace @ file:///w/headrace.whl",
        ),
        (
            {"url": "https://host/h.git", "vcs_info": {"vcs": "git", "commit_id": "1234abcd"}},
            "headrace @ git+https://host/h.git@1234abcd",
        ),
    ],
)
def test_the_project_takes_headrace_from_where_this_one_came(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    origin: dict[str, object] | None,
    requirement: str,
) -> None:
    about = tmp_path / "headrace-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: headrace\nVersion: 0.1.0\n")
    if origin is not None:
        (about / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert main(["new", str(tmp_path / "clicks")]) == 0
    lines = (tmp_path / "clicks" / "requirements.txt").read_text().splitlines()
    assert lines == [requirement, "pytest"]


def test_files_that_are_there_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Makefile").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert "has a file Makefile already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]
    assert (tmp_path / "Makefile").read_text() == "mine"
