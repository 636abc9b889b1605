"""The pictures of the README are there, and not older than what they show."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.measure import Result
from tools.pictures import PICTURES, STATIC, chart, known_hashes, terminal

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_as_new_as_what_it_shows(name: str) -> None:
    picture = PICTURES[name]
    assert [f for f in picture.files if not (STATIC / f).exists()] == []
    assert known_hashes().get(name) == picture.hash(), (
        f"what {', '.join(picture.files)} shows has changed: call make pictures NAMES={name}"
    )


@pytest.mark.parametrize("name", ["drawing", "chart"])
def test_drawings_are_those_that_their_scripts_make(name: str, tmp_path: Path) -> None:
    PICTURES[name].make(tmp_path)
    (file,) = PICTURES[name].files
    made = (tmp_path / file).read_text(encoding="utf-8")
    assert ElementTree.fromstring(made).tag == f"{SVG}svg"
    assert made == (STATIC / file).read_text(encoding="utf-8")


def test_the_chart_has_the_figures_of_the_page() -> None:
    page = (STATIC.parent / "performance.md").read_text(encoding="utf-8")
    figures = [
        (chart.said(v, f.unit), f) for f in chart.known().values() for v in (f.ours, f.theirs)
    ]
    assert {f for words, f in figures if words not in page} == set(), (
        "docs/performance.md and the chart disagree: write the page from the results of the "
        "benchmarks, and call make pictures NAMES=chart"
    )


def test_the_chart_takes_the_newest_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = tmp_path / "figures.json"
    figures.write_text(chart.FIGURES.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(chart, "FIGURES", figures)
    before = chart.known()
    results_of = tmp_path / "results"
    results_of.mkdir()
    for day, ours, command in ((1, 1.0, []), (2, 3.123, []), (3, 9.0, ["--scale", "0.1"])):
        results = [
            Result("live, p50", "PyFlink 2.3, process mode", "ms", ours, 2000.4, 0.1).as_json(),
            Result("live, p50", "the goal", "ms", ours, 8.0, 0.1).as_json(),
            Result("live, p50", "epochs, 500 records/s", "ms", ours, 8.0, 0.1).as_json(),
            Result("not in the chart", "nobody", "ms", 1.0, 1.0, 1.0).as_json(),
        ]
        document = {"command": ["python", *command], "results": results}
        (results_of / f"2026010{day}-120000.json").write_text(json.dumps(document))
    chart.take(results_of)
    new = set(chart.known().values()) - set(before.values())
    assert new == {chart.Figure("live, p50", "PyFlink 2.3, process mode", "ms", 3.12, 2000)}


def test_the_screen_shows_what_a_terminal_would() -> None:
    screen = terminal.Screen()
    screen.write("one\n\x1b[1mtwo\x1b[0m\nthree\n")
    screen.write("\x1b[2F\x1b[Jover\n")
    assert screen.shown() == ((("", "one"),), (("", "over"),), ())
    screen.write("x" * (terminal.COLUMNS + 3))
    assert screen.shown()[2:] == ((("", "x" * terminal.COLUMNS),), (("", "xxx"),))
