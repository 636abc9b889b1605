"""The pictures of the README and the documentation, made from the real thing by `make pictures`.

Each picture has sources: what it shows and what draws it. A hash of them is kept beside the
pictures, so that a test can tell when one has become older than what it shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.pictures import chart, dashboard, drawing, terminal

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "docs" / "_static"
HASHES = STATIC / "pictures.json"


@dataclass(frozen=True)
class Picture:
    """Some files that are made together, and what they are made from."""

    files: tuple[str, ...]
    sources: tuple[str, ...]
    make: Callable[[Path], None]
    take: Callable[[], None] | None = None
    """Called before, where a source is made anew itself."""

    def hash(self) -> str:
        """Of all sources, by name and content."""
        digest = hashlib.sha256()
        paths = sorted(path for source in self.sources for path in ROOT.glob(source))
        for path in paths:
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
        return digest.hexdigest()


PICTURES = {
    "drawing": Picture(("how-a-job-runs.svg",), ("tools/pictures/drawing.py",), drawing.make),
    "chart": Picture(
        ("performance.svg",),
        ("tools/pictures/chart.py", "tools/pictures/figures.json"),
        chart.make,
        chart.take,
    ),
    "demo": Picture(
        ("demo.svg",),
        (
            "tools/pictures/terminal.py",
            "examples/sensor_alarms.py",
            "src/headrace/cluster/commands/demo.py",
            "src/headrace/cluster/live_figures.py",
            "src/headrace/cluster/live_view.py",
            "src/headrace/cluster/terminal_panel.py",
        ),
        terminal.make,
    ),
    "dashboard": Picture(
        ("dashboard-light.png", "dashboard-dark.png"),
        ("tools/pictures/dashboard.py", "src/headrace/cluster/dashboard/*"),
        dashboard.make,
    ),
}


def known_hashes() -> dict[str, str]:
    """The hash of the sources of each picture at the time when it was made."""
    return dict(json.loads(HASHES.read_text())) if HASHES.exists() else {}


def make(names: list[str]) -> None:
    """Make pictures, and note what they were made from."""
    for name in names:
        picture = PICTURES[name]
        if picture.take is not None:
            picture.take()
        picture.make(STATIC)
        noted = {**known_hashes(), name: picture.hash()}
        HASHES.write_text(json.dumps(noted, indent=2, sort_keys=True) + "\n")
        print(f"made {', '.join(picture.files)}", flush=True)
