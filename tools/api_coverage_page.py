"""Writes the page of API coverage from what the comparison tool measures.

    python tools/api_coverage_page.py PATH_TO_TOOL [--output docs/coverage.md]

The tool imports the package with the interpreter that runs this script, compares it with an
inventory of PyFlink's public API, and prints the counts for each module as JSON (``--json``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

INTRODUCTION = """\
# API coverage

This page shows how much of PyFlink 2.3's public API headrace covers.
It counts classes, functions, methods and constants.
A method counts if its signature takes every call that PyFlink's takes.
The inventory includes entry points for Java classes and jars, which headrace omits on purpose.
The {doc}`api/index` says what each name does.

This page is generated; `CONTRIBUTING.md` says how.

"""


def measure(tool: Path) -> dict[str, Any]:
    """The counts as the tool prints them."""
    done = subprocess.run(
        [sys.executable, str(tool), "headrace", "--json"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    counts: dict[str, Any] = json.loads(done.stdout)
    return counts


def percent(found: int, total: int) -> str:
    return f"{100 * found / total:.0f} %"


def page(counts: dict[str, Any]) -> str:
    """The page: one line for each package, then one table of modules for each of them."""
    packages: dict[str, list[tuple[str, int, int]]] = {}
    for module, (found, total) in sorted(counts["modules"].items()):
        packages.setdefault(module.split(".")[0], []).append((module, found, total))
    lines = [INTRODUCTION + "| Package | Found | Of | |", "|---|---:|---:|---:|"]
    for package, modules in packages.items():
        found, total = (sum(module[i] for module in modules) for i in (1, 2))
        lines.append(f"| `headrace.{package}` | {found} | {total} | {percent(found, total)} |")
    found, total = counts["found"], counts["total"]
    lines.append(f"| **all** | **{found}** | **{total}** | **{percent(found, total)}** |")
    for package, modules in packages.items():
        lines += ["", f"## headrace.{package}", "", "| Module | Found | Of | |"]
        lines.append("|---|---:|---:|---:|")
        lines += [
            f"| `{m}` | {found} | {total} | {percent(found, total)} |"
            for m, found, total in modules
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tool", type=Path, help="path of the api_coverage tool")
    parser.add_argument("--output", type=Path, help="file to write; standard output if not given")
    arguments = parser.parse_args()
    text = page(measure(arguments.tool))
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
