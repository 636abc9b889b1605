"""Builds the documentation of all releases and of this tree, with a choice between them.

    make docs-site        into docs/_build/site; open index.html there

A release is a tag `vVERSION`; its pages are built once, from its own sources, and kept. This tree
is built each time. A release from before there was a choice is left as its sources make it.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "site"


def main() -> None:
    """Build what is missing."""
    SITE.mkdir(parents=True, exist_ok=True)
    releases = sorted(_releases(), key=_order, reverse=True)
    for version in releases:
        if not (SITE / version / "index.html").exists():
            print(f"==> {version}", flush=True)
            with tempfile.TemporaryDirectory() as directory:
                _export(f"v{version}", Path(directory))
                _build(Path(directory), SITE / version)
    version = _version_of(ROOT)
    current = f"{version}-dev" if version in releases else version
    print(f"==> {current}", flush=True)
    _build(ROOT, SITE / current)
    versions = [current, *releases]
    text = f"window.HEADRACE_VERSIONS = {json.dumps({'versions': versions})};\n"
    (SITE / "versions.js").write_text(text, encoding="utf-8")
    first = releases[0] if releases else current
    page = f'<!doctype html><meta http-equiv="refresh" content="0; url={first}/index.html">\n'
    (SITE / "index.html").write_text(page, encoding="utf-8")
    print(f"open {SITE.relative_to(ROOT) / 'index.html'}: {', '.join(versions)}")


def _releases() -> list[str]:
    command = ["git", "-C", str(ROOT), "tag", "--list", "v[0-9]*"]
    tags = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [tag[1:] for tag in tags]


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


def _version_of(tree: Path) -> str:
    text = (tree / "src" / "headrace" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    assert found is not None
    return found[1]


def _export(tag: str, directory: Path) -> None:
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", tag]
    archive = subprocess.run(command, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(directory, filter="data")


def _build(tree: Path, target: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(tree / "docs"), str(target)]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
