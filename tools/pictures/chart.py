"""Throughput and latency beside others, from what `python -m benchmarks` has measured.

The benchmarks write JSON into `benchmarks/results`, which is not committed. `make pictures` takes
from it what the chart shows into `figures.json`, which is: so the picture can be drawn anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tools.pictures.style import svg, text

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
FIGURES = Path(__file__).with_name("figures.json")

THROUGHPUT = {
    ("keyed count, 1,000 keys", "Bytewax 0.21"): "keyed count, 1,000 keys",
    ("keyed count, 1,000 keys", "PyFlink 2.3"): "keyed count, 1,000 keys",
    ("tumbling average, 100 keys", "Bytewax 0.21"): "tumbling average, 100 keys",
    ("tumbling average, 100 keys", "PyFlink 2.3"): "tumbling average, 100 keys",
    ("Kafka to Kafka, at-least-once", "PyFlink 2.3"): "Kafka to keyed count to Kafka",
    ("SQL, Parquet: group aggregate", "Flink SQL 2.3"): "Parquet: group aggregate, 1,000 keys",
    ("SQL, datagen: tumbling window", "Flink SQL 2.3"): "datagen: tumbling window, 1,000 keys",
    ("keyed count, 1,000 keys", "bare loop"): "keyed count, 1,000 keys",
}
"""What is shown of each benchmark, by its name and whom it is compared with."""
AGES = ("live, p50", "live, p99")
"""The benchmarks of the age of a record."""
RATES = {
    "20,000": (
        *("epochs", "PyFlink 2.3, process mode", "PyFlink 2.3, thread mode"),
        "Bytewax 0.21",
    ),
    "1,000": (
        "epochs, 1,000 records/s",
        *(f"PyFlink 2.3, {mode} mode, 1,000 records/s" for mode in ("process", "thread")),
    ),
}
"""Whose ages are shown at which rate. The first of each was run at the same rate as ours; a
benchmark at another rate may have the peer's age at this one, and then only that is taken."""
OTHERS = frozenset(peer for peers in RATES.values() for peer in peers)
NAMES = {"bare loop": "a bare PySpark loop", "epochs": "headrace, in epochs"}

_WIDTH, _LEFT, _BAR, _GROUP, _LINE, _TOP = 860, 290, 340, 58, 19, 60


@dataclass(frozen=True)
class Figure:
    """One comparison."""

    name: str
    peer: str
    unit: str
    ours: float
    theirs: float

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.peer

    @property
    def shown(self) -> bool:
        return self.key in THROUGHPUT or (self.name in AGES and self.peer in OTHERS)


def known() -> dict[tuple[str, str], Figure]:
    """The figures that are committed."""
    found = (Figure(**entry) for entry in json.loads(FIGURES.read_text(encoding="utf-8")))
    return {figure.key: figure for figure in found}


def take(results: Path = RESULTS) -> None:
    """Take over what is shown of the results that benchmarks have left here, newest last."""
    figures = known()
    for file in sorted(results.glob("*.json")):
        figures |= {f.key: f for f in _of_results(json.loads(file.read_text(encoding="utf-8")))}
    entries = [asdict(figures[key]) for key in sorted(figures)]
    FIGURES.write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


def _of_results(document: dict[str, Any]) -> Iterable[Figure]:
    # With fewer records it was a try.
    for entry in [] if "--scale" in document["command"] else document["results"]:
        values = {field: entry[field] for field in Figure.__dataclass_fields__}
        figure = Figure(**values)
        if figure.shown:
            yield replace(figure, ours=_plain(figure.ours), theirs=_plain(figure.theirs))


def _plain(value: float) -> float:
    """Without digits that mean nothing."""
    return round(value, 2) if value < 1000 else round(value)


def said(value: float, unit: str) -> str:
    """A figure as the chart and the page of figures write it."""
    if unit != "ms":
        return f"{round(value, -3 if value >= 100_000 else 0):,.0f}"
    exact = value < 100 and (value < 10 or value % 1)
    return f"{value:.1f} ms" if exact else f"{value:,.0f} ms"


def make(directory: Path) -> None:
    """Draw it."""
    figures = known()
    body, top = _rates(figures, _TOP)
    ages, height = _ages(figures, top + 50)
    title = "Throughput and latency of headrace beside Bytewax, PyFlink, Flink SQL and PySpark"
    (directory / "performance.svg").write_text(svg(_WIDTH, height, title, body + ages))


def _rates(figures: dict[tuple[str, str], Figure], top: int) -> tuple[str, int]:
    """The upper part, and where it ends."""
    rows = [figures[key] for key in THROUGHPUT]
    most = max(max(r.ours, r.theirs) for r in rows)
    body = text(20, top - 30, "Records a second, on two cores (more is better)", "strong")
    for row in rows:
        peer = NAMES.get(row.peer, row.peer)
        body += text(_LEFT - 12, top + 14, THROUGHPUT[row.key], "", "end")
        body += text(_LEFT - 12, top + 33, f"against {peer}", "muted", "end")
        for line, (value, kind, name) in enumerate(
            ((row.ours, "ours", "headrace"), (row.theirs, "theirs", peer))
        ):
            label = f"{said(value, row.unit)} {name}"
            body += _bar(top + line * _LINE, value / most, kind, label)
        top += _GROUP
    return body, top


def _ages(figures: dict[tuple[str, str], Figure], top: int) -> tuple[str, int]:
    """The lower part: for each rate and system the median and the 99th percentile."""
    rates = {rate: _ages_at(figures, peers) for rate, peers in RATES.items()}
    most = max(p99 for rows in rates.values() for _, _, p99 in rows)
    body = ""
    for rate, rows in rates.items():
        words = f"End-to-end latency at {rate} records a second (less is better)"
        body += text(20, top - 30, words, "strong")
        for number, (name, median, p99) in enumerate(rows):
            body += text(_LEFT - 12, top + 24, name, "", "end")
            kind = "ours" if number == 0 else "theirs"
            body += _bar(top, median / most, kind, f"{said(median, 'ms')} median")
            body += _bar(top + _LINE, p99 / most, kind, f"{said(p99, 'ms')} 99th percentile")
            top += _GROUP - 10
        top += 66
    return body, top - 50


def _ages_at(
    figures: dict[tuple[str, str], Figure], peers: tuple[str, ...]
) -> list[tuple[str, float, float]]:
    """Names, medians and 99th percentiles at a rate, ours first and then the fastest."""
    same_rate = (figures[name, peers[0]].ours for name in AGES)
    found = [p for p in peers if all((name, p) in figures for name in AGES)]
    others = [(_name(p), *(figures[name, p].theirs for name in AGES)) for p in found]
    return [("headrace, live", *same_rate), *sorted(others, key=lambda row: row[2])]


def _name(peer: str) -> str:
    plain = peer.removesuffix(", 1,000 records/s")
    return NAMES.get(plain, plain)


def _bar(y: int, share: float, kind: str, label: str) -> str:
    width = max(share * _BAR, 1.5)
    return (
        f'<rect x="{_LEFT}" y="{y + 3}" width="{width:.1f}" height="14" rx="2" class="{kind}"/>\n'
        + text(_LEFT + width + 8, y + 15, label, "muted")
    )
