"""PyFlink programs run unchanged and print what the real PyFlink printed.

The expected outputs were recorded with ``record.py``. All programs that are asked for run in one
child process, because starting Spark is most of the time that one of them takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pyflink.child import run_programs
from tests.pyflink.outputs import comparable, comparison

HERE = Path(__file__).parent

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAMS = sorted((HERE / "programs").glob("*.py"))


@pytest.fixture(scope="module")
def program_results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[Path, dict[str, Any]]:
    here = [i for i in request.session.items if i.path == Path(__file__)]
    names = [item.callspec.params["name"] for item in here if hasattr(item, "callspec")]
    programs = [path for path in PROGRAMS if path.stem in names]
    return run_programs(programs, tmp_path_factory.mktemp("programs"))


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_program_prints_what_pyflink_prints(
    name: str, program_results: dict[Path, dict[str, Any]]
) -> None:
    program = HERE / "programs" / f"{name}.py"
    result = program_results[program]
    assert not result["error"], result["error"]
    mode = comparison(program)
    expected = program.with_suffix(".out").read_text("utf-8")
    assert comparable(result["output"], mode) == comparable(expected, mode)
