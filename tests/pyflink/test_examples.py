"""PyFlink's own examples run unchanged and print what they print with the real PyFlink.

They run in one child process and without Spark, on which the programs of ``test_programs.py`` run.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.pyflink.child import run_programs
from tests.pyflink.outputs import comparable
from tests.pyflink.peer_examples import (
    ENDLESS,
    EXAMPLES,
    ExamplesUnavailableError,
    examples_folder,
    golden_file,
)

_LINES = 20
"""What an endless example prints before it is stopped."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return examples_folder()
    except ExamplesUnavailableError as error:
        pytest.skip(f"PyFlink's examples cannot be had here: {error}")


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Any]]:
    programs = [folder / f"{name}.py" for name in EXAMPLES]
    return run_programs(programs, tmp_path_factory.mktemp("examples"), "--in-process")


@pytest.fixture(scope="module")
def endless(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, dict[str, Any]]:
    programs = [folder / f"{name}.py" for name in ENDLESS]
    return run_programs(programs, tmp_path_factory.mktemp("endless"), f"--lines={_LINES}")


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_example_prints_the_same(
    name: str, folder: Path, results: dict[Path, dict[str, Any]]
) -> None:
    result = results[folder / f"{name}.py"]
    assert not result["error"], result["error"]
    expected = golden_file(name).read_text("utf-8")
    mode = EXAMPLES[name]
    assert comparable(result["output"], mode) == comparable(expected, mode)


@pytest.mark.parametrize("name", list(ENDLESS))
def test_endless_example_goes_on(
    name: str, folder: Path, endless: dict[Path, dict[str, Any]]
) -> None:
    result = endless[folder / f"{name}.py"]
    assert not result["error"], result["error"]
    lines = [line.partition("> ")[2] for line in result["output"].splitlines() if "> " in line]
    assert len(lines) >= _LINES
    assert [line for line in lines if not re.fullmatch(ENDLESS[name], line)] == []


@pytest.mark.parametrize("name", list(ENDLESS))
def test_endless_example_counts_each_word_one_by_one(
    name: str, folder: Path, endless: dict[Path, dict[str, Any]]
) -> None:
    counts: dict[str, int] = {}
    for line in endless[folder / f"{name}.py"]["output"].splitlines():
        found = re.search(ENDLESS[name], line)
        if found and "-U" not in line:
            assert int(found["count"]) == counts.get(found["word"], 0) + 1
            counts[found["word"]] = int(found["count"])
    assert len(counts) > 3
