"""The demo as it looks in a terminal: recorded from a real run, and shown as an animated SVG."""

from __future__ import annotations

import html
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from fcntl import ioctl
from itertools import accumulate, pairwise
from pathlib import Path

from tools.pictures.style import svg

COLUMNS, LINES = 92, 26
COMMAND = ["headrace", "demo", "--seconds", "16"]

_FRAME_S = 0.5
_LONGEST_S = 0.7
_SPEED = 2.0
"""It is shown faster than it ran: nobody wants to watch how Spark starts."""
_LAST_S = 5.0
_CHARACTER_PX, _LINE_PX, _PAD_PX = 8.4, 18, 14
_TOKEN = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+")
_STYLE = """\
rect { fill: #0d1117 } text { font: 14px ui-monospace, monospace; fill: #d1d7e0; white-space: pre }
.b { font-weight: 600 } .d { fill: #8b949e } .g { fill: #3fb950 } .p { fill: #58a6ff }
g { visibility: hidden; animation: %ss infinite step-end }
@media (prefers-reduced-motion) {
  g { animation: none !important } g:last-of-type { visibility: visible }
}"""
_CLASSES = {"1": "b", "2": "d", "32": "g"}

Line = list[tuple[str, str]]
"""Pieces of a line, each a class and a text."""


@dataclass
class Screen:
    """What a terminal shows: enough of one for what headrace writes."""

    rows: list[Line] = field(default_factory=lambda: [[]])
    row: int = 0
    style: str = ""

    def write(self, written: str) -> None:
        """Take what a program writes."""
        for token in _TOKEN.findall(written):
            if token == "\n":
                self.row += 1
                if self.row == len(self.rows):
                    self.rows.append([])
            elif token == "\r":
                continue
            elif token.startswith("\x1b"):
                self._control(token)
            else:
                self.rows[self.row].append((self.style, token))

    def _control(self, token: str) -> None:
        if token.endswith("F"):
            self.row = max(self.row - int(token[2:-1] or "1"), 0)
        elif token == "\x1b[J":
            self.rows[self.row :] = [[]]
        elif token == "\x1b[K":
            self.rows[self.row] = []
        elif token.endswith("m"):
            self.style = _CLASSES.get(token[2:-1], "")

    def shown(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """The lines in view; long ones go on in the next."""
        lines = [part for line in self.rows for part in _folded(line)]
        return tuple(tuple(line) for line in lines[-LINES:])


def _folded(line: Line) -> list[Line]:
    parts: list[Line] = [[]]
    left = COLUMNS
    for kind, words in line:
        while words:
            if left == 0:
                parts.append([])
                left = COLUMNS
            parts[-1].append((kind, words[:left]))
            taken = min(left, len(words))
            words, left = words[taken:], left - taken
    return parts


def make(directory: Path) -> None:
    """Run the demo and draw what it showed."""
    (directory / "demo.svg").write_text(_drawn(_recorded()), encoding="utf-8")


def _recorded() -> list[tuple[float, str]]:
    """What the demo writes to a terminal, with the time of each piece."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    # As in an environment that is activated: what is suggested at the end has no path then.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    more = {"PATH": path, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"}
    environment = {**os.environ, **more}
    environment.pop("NO_COLOR", None)
    written: list[tuple[float, str]] = []
    began = time.monotonic()
    rest = b""
    with subprocess.Popen(COMMAND, stdout=theirs, stderr=theirs, env=environment) as demo:
        os.close(theirs)
        while True:
            select.select([ours], [], [])
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            # A piece may end in the middle of a character or of a control sequence.
            whole, line_end, rest = (rest + piece).rpartition(b"\n")
            written.append((time.monotonic() - began, (whole + line_end).decode()))
    os.close(ours)
    if demo.returncode != 0:
        raise RuntimeError(f"the demo ended with code {demo.returncode}")
    return [*written, (time.monotonic() - began, rest.decode())]


def _drawn(written: list[tuple[float, str]]) -> str:
    screen = Screen([[("p", "$ "), ("", "headrace demo")], []], 1)
    frames = [(0.0, screen.shown())]
    for at_s, text in written:
        screen.write(text)
        if at_s - frames[-1][0] >= _FRAME_S:
            frames.append((at_s, screen.shown()))
    frames.append((written[-1][0], screen.shown()))
    lasting = [
        min(next_s - at_s, _LONGEST_S) / _SPEED for (at_s, _), (next_s, _) in pairwise(frames)
    ]
    ends = list(accumulate([*lasting, _LAST_S]))
    keyframes, groups = "", ""
    for number, (start_s, end_s) in enumerate(pairwise([0.0, *ends])):
        start, end = start_s / ends[-1] * 100, end_s / ends[-1] * 100
        keyframes += (
            f"@keyframes f{number} {{ 0% {{ visibility: hidden }} "
            f"{start:.2f}% {{ visibility: visible }} {end:.2f}% {{ visibility: hidden }} }}\n"
        )
        groups += f'<g style="animation-name:f{number}">{_lines(frames[number][1])}</g>\n'
    width = int(COLUMNS * _CHARACTER_PX) + 2 * _PAD_PX
    height = LINES * _LINE_PX + 2 * _PAD_PX
    style = _STYLE % f"{ends[-1]:.1f}" + "\n" + keyframes
    background = f'<rect width="{width}" height="{height}" rx="8"/>\n'
    return svg(width, height, "headrace demo in a terminal", background + groups, style)


def _lines(lines: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    return "".join(
        f'<text x="{_PAD_PX}" y="{_PAD_PX + 12 + number * _LINE_PX}">'
        + "".join(
            f'<tspan class="{kind}">{html.escape(words)}</tspan>' if kind else html.escape(words)
            for kind, words in line
        )
        + "</text>"
        for number, line in enumerate(lines)
        if line
    )
