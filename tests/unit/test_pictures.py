"""The pictures of the README are there, and not older than what they show."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

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
    lines = (
        f"| {name} | 1,234 rows/s | 1,240 | 567 | 2.2 | 2.3 |"
        if "SQL" in peer
        else f"| {name} | 1,234 records/s | {peer} | 567 | 2.2 |"
        for name, peer in chart.SHOWN
    )
    found = chart.rows("\n".join(lines))
    assert [(r.name, r.peer) for r in found] == list(chart.SHOWN)
    assert {(r.ours, r.theirs) for r in found} == {(1234, 567)}


def test_the_screen_shows_what_a_terminal_would() -> None:
    screen = terminal.Screen()
    screen.write("one\n\x1b[1mtwo\x1b[0m\nthree\n")
    screen.write("\x1b[2F\x1b[Jover\n")
    assert screen.shown() == ((("", "one"),), (("", "over"),), ())
    screen.write("x" * (terminal.COLUMNS + 3))
    assert screen.shown()[2:] == ((("", "x" * terminal.COLUMNS),), (("", "xxx"),))
