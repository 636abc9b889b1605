"""Window programs give what the real PyFlink gave; ``record.py`` recorded the expected lines.

All programs that are asked for run in one child process and one Spark session.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DRIVER = HERE.parent / "driver.py"
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))

#: Where PyFlink is wrong, what it ought to give; Flink itself does, and so do we.
CORRECTED = {
    # PyFlink forgets the content of one of two sessions that a record joins.
    "session_bridge": {"('a', 1, 5)": "('a', 1, 8)"},
}

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, object]]:
    names = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    folder = tmp_path_factory.mktemp("windows")
    found = folder / "results.jsonl"
    found.touch()
    log = folder / "stderr.log"
    programs = [str(HERE / "programs" / f"{name}.py") for name in names]
    with log.open("w") as stderr:
        command = [sys.executable, str(DRIVER), str(found), *programs]
        subprocess.run(command, stdout=stderr, stderr=stderr, timeout=1000, check=False, cwd=folder)
    died = {"output": "", "error": f"it did not run; the log ends:\n{log.read_text()[-3000:]}"}
    ran = {Path(r["program"]).stem: r for r in map(json.loads, found.open(encoding="utf-8"))}
    return {name: ran.get(name, died) for name in names}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_pyflink_gives(name: str, results: dict[str, dict[str, object]]) -> None:
    assert not results[name]["error"], results[name]["error"]
    recorded = (HERE / "programs" / f"{name}.out").read_text("utf-8").splitlines()
    expected = sorted(CORRECTED.get(name, {}).get(line, line) for line in recorded)
    assert sorted(str(results[name]["output"]).splitlines()) == expected
