"""`headrace example`: lists the examples that come with headrace, and runs them."""

from __future__ import annotations

import argparse
import ast
import difflib
import json
from pathlib import Path

import headrace
from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.program import Program
from headrace.cluster.program_options import add_settings, run_program

NAME = "example"
USAGE = "[options] --list | NAME [args ...]"
SUMMARY = "list and run the examples"
EPILOG = """\
examples:
  headrace example --list
  headrace example word_count
  headrace example sensor_alarms --seconds 10
  headrace example --show threshold_alarm      print its code"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_settings(parser)
    parser.add_argument("--list", action="store_true", help="list the examples")
    parser.add_argument("--show", action="store_true", help="print the example's code")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")
    parser.add_argument(
        "example",
        nargs=argparse.REMAINDER,
        metavar="NAME [args ...]",
        help="the example, and after it its own arguments; NAME --help describes them",
    )


def run(options: argparse.Namespace) -> int:
    """List the examples, or run one; the exit code."""
    examples = find_examples()
    if options.list or not options.example:
        _print_list(examples, options.json)
        return ExitCode.OK
    name, *arguments = options.example
    path = examples.get(name.removesuffix(".py"))
    if path is None:
        close = difflib.get_close_matches(name, examples, n=1, cutoff=0.5)
        suggestion = f"did you mean {close[0]!r}?" if close else "--list shows them"
        raise UsageError(f"there is no example {name!r}; {suggestion}")
    if options.show:
        print(path.read_text(encoding="utf-8"), end="")
        return ExitCode.OK
    return run_program(Program(path, tuple(arguments)), options)


def find_examples() -> dict[str, Path]:
    """The examples by name: those of the repository, or those that were installed with headrace."""
    package = Path(headrace.__file__).resolve().parent
    for directory in (package.parents[1] / "examples", package / "examples"):
        if (directory / "sensor_alarms.py").is_file():
            files = sorted(directory.glob("*.py"))
            return {f.stem: f for f in files if not f.stem.startswith("_")}
    raise UsageError(f"the examples are missing in {package / 'examples'}; install headrace again")


def _print_list(examples: dict[str, Path], as_json: bool) -> None:
    described = {name: summary_of(path) for name, path in examples.items()}
    if as_json:
        rows = [
            {"name": name, "summary": summary, "path": str(examples[name])}
            for name, summary in described.items()
        ]
        print(json.dumps(rows, indent=2))
        return
    width = max(map(len, described))
    for name, summary in described.items():
        print(f"{name:{width}}  {summary}")


def summary_of(path: Path) -> str:
    """The first line of a file's docstring."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n", 1)[0]
