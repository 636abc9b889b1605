"""The program of the README in five ways: each file runs and counts the same words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cluster.cli import main

ROOT = Path(__file__).parents[2]
WAYS = ROOT / "examples" / "five_ways"
RUNNING = ["to 1", "be 1", "or 1", "not 1", "to 2", "be 2"]
COUNTS = {"to": "2", "be": "2", "or": "1", "not": "1"}


def test_the_readme_shows_these_files() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {text.strip() for text in re.findall(r"^```\w+\n(.*?)^```", readme, re.S | re.M)}
    files = {(WAYS / name).read_text().strip() for name in ("datastream.py", "table_api.py")}
    notebook = json.loads((WAYS / "notebook.ipynb").read_text())
    cell = "".join(notebook["cells"][1]["source"])
    assert files | {(WAYS / "words.sql").read_text().strip(), cell} <= shown
    assert "headrace run --pyflink pyflink_job.py" in shown
    assert "".join(notebook["cells"][0]["source"]) in readme


def test_datastream(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(WAYS / "datastream.py")]) == 0
    assert capfd.readouterr().out.splitlines() == RUNNING


def test_sql(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(WAYS)
    assert main(["sql", "words.sql"]) == 0
    changes = re.findall(r"^\| (..) \| +(\w+) \| +(\d) \|$", capsys.readouterr().out, re.M)
    counts: dict[str, str] = {}
    for kind, word, times in changes:
        if kind.startswith("+"):
            counts[word] = times
    assert counts == COUNTS


def test_table_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(WAYS / "table_api.py")]) == 0
    rows = re.findall(r"^\| +(\w+) \| +(\d) \|$", capsys.readouterr().out, re.M)
    assert rows == sorted(COUNTS.items())


def test_pyflink() -> None:
    command = [sys.executable, "-m", "headrace.cluster.cli", "run", "--pyflink"]
    done = subprocess.run(
        [*command, str(WAYS / "pyflink_job.py")], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == RUNNING


def test_notebook() -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(WAYS / "notebook.ipynb", as_version=4)
    resources = {"metadata": {"path": str(WAYS)}}
    nbclient.NotebookClient(notebook, timeout=240, resources=resources).execute()
    shown = "".join(o["data"]["text/html"] for o in notebook["cells"][1]["outputs"] if "data" in o)
    assert dict(re.findall(r"<tr><td>(\w+)</td><td>(\d)</td></tr>", shown)) == COUNTS
