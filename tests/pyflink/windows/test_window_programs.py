"""Window programs give what the real PyFlink gave; ``record.py`` recorded the expected lines.

All programs that are asked for run in one child process and one Spark session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pyflink.child import run_programs

HERE = Path(__file__).parent
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
) -> dict[str, dict[str, Any]]:
    here = [i for i in request.session.items if i.path == Path(__file__)]
    names = [item.callspec.params["name"] for item in here if hasattr(item, "callspec")]
    programs = [HERE / "programs" / f"{name}.py" for name in names]
    ran = run_programs(programs, tmp_path_factory.mktemp("windows"))
    return {program.stem: result for program, result in ran.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_gives_what_pyflink_gives(name: str, results: dict[str, dict[str, Any]]) -> None:
    assert not results[name]["error"], results[name]["error"]
    recorded = (HERE / "programs" / f"{name}.out").read_text("utf-8").splitlines()
    expected = sorted(CORRECTED.get(name, {}).get(line, line) for line in recorded)
    assert sorted(results[name]["output"].splitlines()) == expected
