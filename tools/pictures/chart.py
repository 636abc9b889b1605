"""Throughput beside that of others, from the tables of `docs/performance.md`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tools.pictures.style import svg, text

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"

SHOWN = (
    ("keyed count, 1,000 keys, without the start", "Bytewax 0.21"),
    ("keyed count, 1,000 keys", "PyFlink 2.3"),
    ("tumbling average, 100 keys", "Bytewax 0.21"),
    ("tumbling average, 100 keys", "PyFlink 2.3"),
    ("Kafka to keyed count to Kafka, at least once", "PyFlink 2.3"),
    ("Parquet: group aggregate, 1,000 keys", "Flink SQL 2.3"),
    ("datagen: tumbling window of a minute, 1,000 keys", "Flink SQL 2.3"),
    ("keyed count, 1,000 keys", "bare loop"),
)
"""The rows, by what was measured and against whom."""

_FLINK_SQL = "Flink SQL 2.3"

_ROW = re.compile(
    r"^\| (?P<name>[^|]+) \| (?P<ours>[\d,]+) records/s \| (?P<peer>[^|]+) "
    r"\| (?P<theirs>[\d,]+) \|",
    re.MULTILINE,
)
_STATEMENT = re.compile(
    r"^\| (?P<name>[^|]+) \| (?P<ours>[\d,]+) rows/s \| [\d,]+ \| (?P<theirs>[\d,]+) \|",
    re.MULTILINE,
)
"""A row of the table that compares statements with Flink SQL."""
_WIDTH, _LEFT, _BAR, _GROUP, _TOP = 860, 290, 340, 58, 60


@dataclass(frozen=True)
class Row:
    """One comparison, in records a second."""

    name: str
    peer: str
    ours: int
    theirs: int


def rows(page: str) -> list[Row]:
    """The rows to show, in the order of the page's figures."""
    found = {
        (m["name"], m["peer"]): Row(m["name"], m["peer"], _number(m["ours"]), _number(m["theirs"]))
        for m in _ROW.finditer(page)
    }
    for m in _STATEMENT.finditer(page):
        row = Row(m["name"], _FLINK_SQL, _number(m["ours"]), _number(m["theirs"]))
        found[row.name, row.peer] = row
    return [found[key] for key in SHOWN]


def make(directory: Path) -> None:
    """Draw it."""
    shown = rows(PAGE.read_text(encoding="utf-8"))
    most = max(max(r.ours, r.theirs) for r in shown)
    body = text(20, 30, "Records a second, on two cores", "strong")
    for number, row in enumerate(shown):
        y = _TOP + number * _GROUP
        body += text(_LEFT - 12, y + 14, _short(row.name), "", "end")
        body += text(_LEFT - 12, y + 33, f"against {_peer(row.peer)}", "muted", "end")
        body += _bar(y, row.ours, most, "ours", "headrace")
        body += _bar(y + 19, row.theirs, most, "theirs", _peer(row.peer))
    height = _TOP + len(shown) * _GROUP + 16
    title = "Throughput of headrace beside Bytewax, PyFlink, Flink SQL and a bare PySpark loop"
    (directory / "throughput.svg").write_text(svg(_WIDTH, height, title, body))


def _bar(y: int, value: int, most: int, kind: str, name: str) -> str:
    width = max(value / most * _BAR, 1.5)
    return (
        f'<rect x="{_LEFT}" y="{y + 3}" width="{width:.1f}" height="14" rx="2" class="{kind}"/>\n'
        + text(_LEFT + width + 8, y + 15, f"{value:,} {name}", "muted")
    )


_LEFT_OUT = (", without the start", ", at least once", " of a minute")
"""What the page says and a bar's name need not."""


def _short(name: str) -> str:
    for part in _LEFT_OUT:
        name = name.replace(part, "")
    return name


def _peer(peer: str) -> str:
    return "a bare PySpark loop" if peer == "bare loop" else peer


def _number(text: str) -> int:
    return int(text.replace(",", ""))
