"""`headrace new`: makes a project to begin with."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import shlex
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from headrace.cluster.errors import UsageError
from headrace.cluster.exit_codes import ExitCode
from headrace.cluster.this_command import this_command
from headrace.version import __version__

NAME = "new"
USAGE = "PROJECT"
SUMMARY = "create a project with a program, its test, requirements and a Makefile"
EPILOG = """\
examples:
  headrace new clicks
  cd clicks && pytest && headrace run --live popular_pages.py"""

_FILES = ("popular_pages.py", "test_popular_pages.py", "requirements.txt", "Makefile")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("project", metavar="PROJECT", help="the directory to make")


def run(options: argparse.Namespace) -> int:
    """Make the project."""
    directory = Path(options.project)
    try:
        # One that is there and empty is welcome: often it is a repository that was just made.
        directory.mkdir(parents=True, exist_ok=True)
        there = sorted(set(_FILES) & {path.name for path in directory.iterdir()})
        if there:
            raise UsageError(f"{directory} has a file {there[0]} already; choose another directory")
        for name in _FILES:
            _write(name, directory)
    except OSError as error:
        raise UsageError(f"cannot make {directory}: {error.strerror}") from error
    headrace = _from_elsewhere(this_command())
    print(
        f"made {directory}:\n"
        "  popular_pages.py        the program\n"
        "  test_popular_pages.py   its test, which needs no Spark\n"
        "  requirements.txt, Makefile\n"
        f"next:\n  cd {directory}\n  {headrace} run --live popular_pages.py\n"
        "  make test               in an environment of its own"
    )
    return ExitCode.OK


def _from_elsewhere(command: str) -> str:
    path = Path(command)
    return str(path.absolute()) if len(path.parts) > 1 and path.exists() else command


def _requirement() -> str:
    """What installs this headrace again: from where it was installed, if not from an index."""
    try:
        # See "Recording the Direct URL Origin of installed distributions" (PEP 610).
        origin = importlib.metadata.distribution("headrace").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        origin = None
    if origin is None:
        return f"headrace~={__version__}"
    told = json.loads(origin)
    if told.get("dir_info", {}).get("editable"):
        return f"--editable {shlex.quote(url2pathname(urlsplit(told['url']).path))}"
    if "vcs_info" in told:
        version = told["vcs_info"]
        return f"headrace @ {version['vcs']}+{told['url']}@{version['commit_id']}"
    return f"headrace @ {told['url']}"


def _write(name: str, directory: Path) -> None:
    template = Path(__file__).parents[1] / "new_project" / f"{name}.in"
    text = template.read_text(encoding="utf-8").replace("@HEADRACE@", _requirement())
    (directory / name).write_text(text, encoding="utf-8")
