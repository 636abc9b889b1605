"""The sources of the dashboard: their own tests, and that they build what is committed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

# The first test of all may have to install a browser, or the packages of the build.
pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "dashboard"
BUILT = ROOT / "src/headrace/cluster/dashboard"
OUR_MISTAKES = ("EUSAGE", "ERESOLVE", "EINTEGRITY", "EJSONPARSE")
"""Errors of npm that are due to the files of this repository, not to what can be reached."""


@pytest.fixture(scope="module")
def modules() -> Path:
    """The packages that the build needs, installed once."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm; the sources of the dashboard need Node.js to be tested")
    stamp = SOURCES / "node_modules/.package-lock.json"
    if not stamp.exists():
        # `npm ci` would want all platforms in the lock file, which names no registry; npm would
        # add some of them at times, and what is built would be another.
        done = _run("npm", "install", "--no-save", "--no-progress")
        assert not any(code in done.stderr for code in OUR_MISTAKES), done.stderr
        if done.returncode != 0:
            pytest.skip(f"npm cannot install the packages: {done.stderr.strip()[-300:]}")
    return SOURCES / "node_modules"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=SOURCES, capture_output=True, text=True, check=False, timeout=280
    )


def test_the_unit_tests_pass(modules: Path) -> None:
    done = _run("npm", "test")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_sources_build_what_is_committed(modules: Path, tmp_path: Path) -> None:
    checked = _run("npx", "tsc", "--noEmit")
    assert checked.returncode == 0, checked.stdout
    done = _run("npx", "vite", "build", "--outDir", str(tmp_path), "--emptyOutDir")
    assert done.returncode == 0, done.stdout + done.stderr
    built = {f.name: f.read_text() for f in tmp_path.iterdir()}
    assert built == {f.name: f.read_text() for f in BUILT.iterdir()}
