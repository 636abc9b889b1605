"""How the output of a PyFlink program is compared with the recorded one.

Where records go to several subtasks, or several streams print at once, the order of lines is not
defined, and neither is the subtask that a round-robin partitioner begins with. A program says in
its docstring how it is to be compared:

- ``compare: rows with subtasks``: lines in any order, the subtask number in front counts;
- ``compare: exactly``: line by line;
- ``compare: shape``: lines in any order, with the same sign for each number and hexadecimal digit:
  what the program reads is random;
- nothing: lines in any order within each ``print()`` identifier, without the subtask number.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

_PREFIX = re.compile(r"^(?:(?P<name>[\w ]+):)?(?P<subtask>\d+)> ")
_RANDOM = re.compile(r"-?\d[\d.]*|(?<![a-z])[a-f]\b")
_NOISE = (
    "Using Any for unsupported type",
    "No module named google.cloud.bigquery_storage_v1",
    "PYFLINK_CYTHON_ENABLED",
)


def comparison(program: Path) -> str:
    """The mode that the program's docstring asks for."""
    docstring = ast.get_docstring(ast.parse(program.read_text("utf-8"))) or ""
    found = re.search(r"^compare: (.*)$", docstring, re.MULTILINE)
    return found[1] if found else "rows"


def comparable(text: str, mode: str) -> list[str]:
    """The lines of an output, brought into the form in which two runs must agree."""
    lines = [line for line in text.splitlines() if not line.startswith(_NOISE)]
    if mode == "exactly":
        return lines
    if mode == "shape":
        lines = [re.sub(" +", " ", _RANDOM.sub("#", line)) for line in lines]
    if mode == "rows":
        lines = [_PREFIX.sub(lambda m: f"{m['name']}> " if m["name"] else "", x) for x in lines]
    return sorted(lines)
