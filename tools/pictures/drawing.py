"""How a job runs: the program, Spark's jobs, and the slots that stay."""

from __future__ import annotations

from pathlib import Path

from tools.pictures.style import svg, text

_WIDTH, _HEIGHT = 860, 354
_EPOCHS = 3
_SLOTS = 2


def make(directory: Path) -> None:
    """Draw it."""
    title = "A program starts epochs; each is one Spark job, whose tasks pass batches to the slots"
    (directory / "how-a-job-runs.svg").write_text(svg(_WIDTH, _HEIGHT, title, _body()))


def _body() -> str:
    drawn = _arrowhead() + _driver()
    for epoch in range(_EPOCHS):
        drawn += _epoch(epoch)
    drawn += _slots()
    return (
        drawn
        + text(
            20,
            318,
            "An epoch happens as a whole or not at all; its end is Flink's barrier.",
            "muted",
        )
        + text(
            20,
            342,
            "A live job is one long Spark job, in which an epoch takes milliseconds.",
            "muted",
        )
    )


def _arrowhead() -> str:
    return (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M0 0 8 4 0 8" class="line"/>'
        "</marker></defs>\n"
    )


def _driver() -> str:
    return (
        _box(20, 20, 200, 120)
        + text(34, 46, "your program", "strong")
        + text(34, 68, "stream graph, job graph", "muted")
        + text(34, 100, "job master", "strong")
        + text(34, 122, "epochs, checkpoints", "muted")
    )


def _epoch(number: int) -> str:
    x = 270 + number * 195
    return (
        _box(x, 20, 170, 120)
        + text(x + 14, 46, f"epoch {number + 1}", "strong")
        + text(x + 14, 76, "one Spark job:", "muted")
        + text(x + 14, 98, "sources, shuffle,", "muted")
        + text(x + 14, 120, "state, timers, sinks", "muted")
        + _arrow(x - 23 if number else 220, 80, x, 80)
        + "".join(_arrow(x + 55 + 60 * slot, 140, x + 55 + 60 * slot, 186, both=True)
                  for slot in range(_SLOTS))
    )  # fmt: skip


def _slots() -> str:
    drawn = _box(270, 188, 560, 96)
    drawn += text(284, 212, "slots: Python processes from open() to close()", "strong")
    drawn += text(284, 236, "your functions, keyed state, timers, connections", "muted")
    drawn += text(284, 260, "batches in and out over a socket; a fork writes checkpoints", "muted")
    return (
        drawn
        + _box(20, 188, 200, 96)
        + (
            text(34, 212, "checkpoints", "strong")
            + text(34, 236, "state, timers, positions", "muted")
            + text(34, 260, "on any file system", "muted")
            + _arrow(270, 236, 220, 236)
        )
    )


def _box(x: int, y: int, width: int, height: int) -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" class="box"/>\n'


def _arrow(x1: int, y1: int, x2: int, y2: int, both: bool = False) -> str:
    start = ' marker-start="url(#a)"' if both else ""
    line = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
    return f'<line {line} class="line" marker-end="url(#a)"{start}/>\n'
