"""Runs the Python code of a documentation page and compares what it prints with the page.

All ```` ```python ```` blocks of a page are one program, as a reader who types them in one after
the other would have it. A ```` ```text ```` block directly after a Python block is what that block
prints. The program keeps the page's line numbers, so a traceback names the line of the page.
Functions named ``test_...`` are called at the end.
A block that is only to be looked at is written as a ```` ```{code-block} python ```` directive.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
END_OF_BLOCK = "\x1e"


@dataclass(frozen=True)
class Block:
    """A Python block: the line of its first statement, its code and what it shall print."""

    line: int
    code: tuple[str, ...]
    output: tuple[str, ...] | None


def python_blocks(page: Path) -> list[Block]:
    """The runnable blocks of a page, in order."""
    fences: list[tuple[str, int, int, list[str]]] = []
    opened: tuple[str, int] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if opened is None and line.startswith("```"):
            opened, body = (line[3:].strip(), number), []
        elif opened is not None and line == "```":
            fences.append((opened[0], opened[1], number, body))
            opened = None
        elif opened is not None:
            body.append(line)
    assert opened is None, f"{page.name}: the block opened at line {opened} is never closed"
    blocks = []
    for index, (kind, start, end, code) in enumerate(fences):
        if kind == "python":
            following = fences[index + 1 : index + 2]
            shown = [f for f in following if f[0] == "text" and _only_blank(page, end, f[1])]
            blocks.append(Block(start + 1, tuple(code), tuple(shown[0][3]) if shown else None))
    return blocks


def _only_blank(page: Path, after: int, before: int) -> bool:
    lines = page.read_text(encoding="utf-8").splitlines()
    return not any(line.strip() for line in lines[after : before - 1])


def program(blocks: list[Block]) -> str:
    """One script of all blocks, each statement on the line that it has in the page."""
    lines: list[str] = []
    for block in blocks:
        lines.extend([""] * (block.line - 1 - len(lines)))
        lines.extend(block.code)
        lines.append(f"print({END_OF_BLOCK!r}, flush=True)")
    lines.append("for name, test in list(globals().items()): name.startswith('test_') and test()")
    return "\n".join(lines) + "\n"


def check_page(page: Path, directory: Path) -> None:
    """Runs a page's program in ``directory`` and asserts that every block prints what is shown."""
    blocks = python_blocks(page)
    assert blocks, f"{page.name} has no Python block; is it still to be checked?"
    script = directory / f"{page.stem}_page.py"
    script.write_text(program(blocks), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=directory,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, f"{page.name} failed:\n{done.stdout}\n{done.stderr}"
    for block, printed in zip(blocks, done.stdout.split(END_OF_BLOCK + "\n"), strict=False):
        if block.output is not None:
            assert tuple(printed.splitlines()) == block.output, (
                f"{page.name}:{block.line} does not print what the page shows"
            )
