"""Runs the Python code of a documentation page and compares what it prints with the page.

All ```` ```python ```` blocks of a page are one program, as a reader who types them in one after
the other would have it. A ```` ```text ```` block directly after a Python block is what that block
prints. The program keeps the page's line numbers, so a traceback names the line of the page.
Functions named ``test_...`` are called at the end.
A block that is only to be looked at is written as a ```` ```{code-block} python ```` directive.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator
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


def check_page(page: Path, directory: Path, *, alone: bool = False) -> None:
    """Runs a page's program in ``directory`` and asserts that every block prints what is shown.

    It runs in this process, and so on the Spark session that is there, unless it has to be alone:
    Spark's workers stay in the directory in which Spark was started. Its functions are those of a
    ``__main__`` either way.
    """
    blocks = python_blocks(page)
    assert blocks, f"{page.name} has no Python block; is it still to be checked?"
    script = directory / f"{page.stem}_page.py"
    # For tracebacks, too, which show its lines.
    script.write_text(program(blocks), encoding="utf-8")
    printed = _alone(script) if alone else _here(script)
    for block, shown in zip(blocks, printed.split(END_OF_BLOCK + "\n"), strict=False):
        if block.output is not None:
            assert tuple(shown.splitlines()) == block.output, (
                f"{page.name}:{block.line} does not print what the page shows"
            )


def _alone(script: Path) -> str:
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=script.parent,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "PYSPARK_PYTHON": sys.executable},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, f"{script.name} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _here(script: Path) -> str:
    printed = io.StringIO()
    with contextlib.chdir(script.parent), _first_on_the_path(script.parent):
        try:
            with contextlib.redirect_stdout(printed):
                code = compile(script.read_text(encoding="utf-8"), str(script), "exec")
                exec(code, {"__name__": "__main__"})
        except BaseException:
            print(printed.getvalue())
            raise
    return printed.getvalue()


@contextlib.contextmanager
def _first_on_the_path(directory: Path) -> Iterator[None]:
    """As a script's own directory is."""
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        sys.path.remove(str(directory))
