"""Pieces of PyFlink programs print what the real PyFlink printed, see ``probe_runner.py``.

All files run in one child process, because the name ``pyflink`` is for good once it is imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = sorted((HERE / "probes").glob("*.py"))
RECORDED = {path.stem: json.loads(path.with_suffix(".json").read_text("utf-8")) for path in FILES}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    result = tmp_path_factory.mktemp("probes") / "results.json"
    command = [sys.executable, str(HERE / "probe_runner.py"), str(result), *map(str, FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert not done.returncode, done.stderr[-4000:]
    found: dict[str, dict[str, list[str]]] = json.loads(result.read_text("utf-8"))
    return found


@pytest.mark.timeout(700)
@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, probes in RECORDED.items() for name in probes]
)
def test_probe_prints_what_pyflink_prints(
    file: str, name: str, results: dict[str, dict[str, list[str]]]
) -> None:
    assert results[file][name] == RECORDED[file][name]
