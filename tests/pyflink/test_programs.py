"""PyFlink programs run unchanged and print what the real PyFlink printed.

The expected outputs were recorded with ``record.py``. All programs that are asked for run in one
child process, because starting Spark is most of the time that one of them takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pyflink.outputs import comparable, comparison
from tests.pyflink.peer_examples import (
    EXAMPLES,
    ExamplesUnavailableError,
    examples_folder,
    golden_file,
)

HERE = Path(__file__).parent

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAMS = sorted((HERE / "programs").glob("*.py"))


def _run(programs: list[Path], folder: Path) -> dict[str, dict[str, object]]:
    results = folder / "results.jsonl"
    results.touch()
    command = [sys.executable, str(HERE / "driver.py"), str(results), *map(str, programs)]
    log = folder / "stderr.log"
    with log.open("w") as stderr:
        subprocess.run(command, stdout=stderr, stderr=stderr, timeout=1200, check=False, cwd=folder)
    found = {}
    for line in results.read_text("utf-8").splitlines():
        result = json.loads(line)
        found[result["program"]] = result
    tail = log.read_text("utf-8", "replace")[-3000:]
    for program in programs:
        died = {"output": "", "error": f"the driver ended before it; its log ends with:\n{tail}"}
        found.setdefault(str(program), died)
    return found


def _selected(request: pytest.FixtureRequest, test: str) -> list[str]:
    """The parameters with which a test of this module will really run."""
    return [
        item.callspec.params["name"]
        for item in request.session.items
        if getattr(item, "originalname", "") == test and item.path == Path(__file__)
    ]


@pytest.fixture(scope="module")
def program_results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, object]]:
    names = _selected(request, "test_program_prints_what_pyflink_prints")
    programs = [path for path in PROGRAMS if path.stem in names]
    return _run(programs, tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def example_results(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, object]]:
    try:
        folder = examples_folder()
    except ExamplesUnavailableError as error:
        pytest.skip(f"PyFlink's examples cannot be had here: {error}")
    names = _selected(request, "test_example_of_pyflink_prints_the_same")
    programs = [folder / f"{name}.py" for name in names]
    results = _run(programs, tmp_path_factory.mktemp("examples"))
    return {name: results[str(folder / f"{name}.py")] for name in names}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_program_prints_what_pyflink_prints(
    name: str, program_results: dict[str, dict[str, object]]
) -> None:
    program = HERE / "programs" / f"{name}.py"
    result = program_results[str(program)]
    assert not result["error"], result["error"]
    mode = comparison(program)
    expected = program.with_suffix(".out").read_text("utf-8")
    assert comparable(str(result["output"]), mode) == comparable(expected, mode)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_example_of_pyflink_prints_the_same(
    name: str, example_results: dict[str, dict[str, object]]
) -> None:
    result = example_results[name]
    assert not result["error"], result["error"]
    expected = golden_file(name).read_text("utf-8")
    mode = EXAMPLES[name]
    assert comparable(str(result["output"]), mode) == comparable(expected, mode)
