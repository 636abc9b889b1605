"""The peers' environments: made once in a cache directory, reused after that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent
REQUIREMENTS = {
    "pyflink": "apache-flink==2.3.0",
    "bytewax": "bytewax==0.21.1",
    "pathway": "pathway==0.33.0",
}
# Flink's Python client wants setuptools' pkg_resources, which newer releases no longer have.
CONSTRAINTS = {"pyflink": ["setuptools<80", "wheel"], "bytewax": [], "pathway": []}


class PeerUnavailableError(Exception):
    """A peer cannot be installed here; the text says why."""


def cache_folder() -> Path:
    """Where the environments are kept: ``HEADRACE_BENCH_CACHE``, or the user's cache."""
    given = os.environ.get("HEADRACE_BENCH_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace-bench"


def show(command: list[str], settings: Mapping[str, str] | None = None) -> None:
    """Print a command as one would type it."""
    words = [f"{key}={value}" for key, value in (settings or {}).items()] + command
    print("  $ " + " ".join(words), flush=True)


def peer_python(peer: str, given: str | None = None) -> Path:
    """The interpreter of a peer's environment, which is created if it is not there.

    Raises:
        PeerUnavailableError: the installation failed.
    """
    if given:
        return Path(given).absolute()
    folder = cache_folder() / REQUIREMENTS[peer].replace("==", "-")
    python, ready = folder / "bin" / "python", folder / ".ready"
    if ready.exists():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    base = os.environ.get("HEADRACE_BENCH_PYTHON", sys.executable)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    commands = [[base, "-m", "venv", "--clear", str(folder)]]
    if CONSTRAINTS[peer]:
        commands.append([*pip, *CONSTRAINTS[peer]])
    isolation = ["--no-build-isolation"] if CONSTRAINTS[peer] else []
    commands.append([*pip, *isolation, REQUIREMENTS[peer]])
    for command in commands:
        show(command)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerUnavailableError(f"{peer}: {done.stderr.strip()[-500:]}")
    ready.touch()
    return python


def version(python: Path, package: str) -> str:
    """The version of a package in an environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.check_output([str(python), "-c", code], text=True).strip()


def _run(command: list[str], settings: dict[str, str], timeout_s: float) -> str:
    show(command, {k: v for k, v in settings.items() if k != "PATH"})
    done = subprocess.run(
        command,
        env={**os.environ, **settings},
        cwd=PROGRAMS,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode:
        raise PeerUnavailableError(f"{command}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


def _for_pyflink(python: Path) -> dict[str, str]:
    """Its workers are processes, as on a cluster (in the client by default), of plain `python`."""
    return {
        "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "_python_worker_execution_mode": "process",
    }


def pathway_seconds(python: Path, format_: str, folder: str, threads: int) -> float:
    """How long Pathway takes to group the rows of files; its start is left out."""
    settings = {"PATHWAY_THREADS": str(threads)}
    out = _run([str(python), "pathway_text.py", format_, folder], settings, 300)
    return float(json.loads(out.splitlines()[-1])["seconds"])


def pyflink_keyed_count(
    python: Path, records: int, keys: int, checkpoint_ms: int | None = None
) -> dict[str, Any]:
    """PyFlink's steady rate of the keyed count in process mode."""
    settings = _for_pyflink(python)
    command = [str(python), "pyflink_count.py", str(records), str(keys)]
    if checkpoint_ms is not None:
        command.append(str(checkpoint_ms))
    found: dict[str, Any] = json.loads(_run(command, settings, 900).splitlines()[-1])
    return found


def pyflink_latency(python: Path, rate: float, seconds: float, mode: str) -> dict[str, Any]:
    """How old records are at the end of the paced keyed count, in a mode of execution."""
    command = [str(python), "pyflink_latency.py", str(rate), str(seconds), mode]
    return _last_line(_run(command, _for_pyflink(python), 300))


def bytewax_latency(python: Path, rate: float, seconds: float) -> dict[str, Any]:
    """How old records are at the end of the paced keyed count, with two processes."""
    from benchmarks.peers.ages import saved, summary

    command = [str(python), "-m", "bytewax.testing", "-p", "2", "-w", "1", "bytewax_latency:flow"]
    with tempfile.TemporaryDirectory() as ages:
        start_ns = time.time_ns() + 3_000_000_000
        settings = {"RATE": str(rate), "SECONDS": str(seconds), "START_NS": str(start_ns)}
        _run(command, settings | {"AGES": ages}, 300)
        return _last_line(summary(saved(ages), seconds / 2))


def _last_line(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def pyflink_recovery(python: Path, rounds: int) -> dict[str, Any]:
    """Seconds from the kill of a Python worker to the first result after it, and of the start."""
    settings = _for_pyflink(python)
    with tempfile.TemporaryDirectory(prefix="headrace-recovery-") as directory:
        command = [str(python), "pyflink_recovery.py", str(rounds), directory]
        found: dict[str, Any] = json.loads(_run(command, settings, 900).splitlines()[-1])
    return found


def pyflink_kafka(python: Path, jar: Path, servers: str, source: str, target: str) -> None:
    """The keyed count from topic to topic, to its end."""
    settings = _for_pyflink(python)
    command = [str(python), "pyflink_kafka.py", str(jar), servers, source, target]
    _run(command, settings, 900)


def bytewax_keyed_count(python: Path, records: int, keys: int, processes: int) -> dict[str, Any]:
    """Bytewax' steady rate of the keyed count."""
    return _bytewax(python, "bytewax_count:flow", records, keys, processes)


def _bytewax(python: Path, flow: str, records: int, keys: int, processes: int) -> dict[str, Any]:
    """Run a dataflow and read its marks.

    One worker has no exchange, but only one core; threads would share Python's lock. Several
    processes send every second record through a socket.
    """
    command = [str(python), "-m", "bytewax.run"]
    if processes > 1:
        command = [str(python), "-m", "bytewax.testing", "-p", str(processes), "-w", "1"]
    with tempfile.TemporaryDirectory() as marks:
        settings = {"RECORDS": str(records), "KEYS": str(keys), "MARKS": marks}
        _run([*command, flow], settings, 900)
        lines = {
            path.name: [line.split() for line in path.read_text().splitlines()]
            for path in Path(marks).iterdir()
        }
    return _steady(lines, records)


def pyflink_windows(python: Path, records: int, keys: int) -> float:
    """PyFlink's steady rate of the tumbling average in process mode."""
    settings = _for_pyflink(python)
    command = [str(python), "pyflink_window.py", str(records), str(keys)]
    return float(json.loads(_run(command, settings, 900).splitlines()[-1])["rate"])


def bytewax_windows(python: Path, records: int, keys: int) -> float:
    """Bytewax' steady rate of the tumbling average, the better of one worker and two processes."""
    return max(
        _bytewax(python, "bytewax_window:flow", records, keys, processes)["rate"]
        for processes in (1, 2)
    )


def _steady(lines: dict[str, list[list[str]]], records: int) -> dict[str, Any]:
    """Records per second between the first tenth and the end, over all processes."""
    marks = [[(float(at), int(seen)) for seen, at in found] for found in lines.values() if found]
    least = records // 10 // len(marks)
    warm = [[mark for mark in found if mark[1] >= least] for found in marks]
    start = max(found[0][0] for found in warm)
    end = min(found[-1][0] for found in warm)
    counted = 0
    for found in warm:
        inside = [seen for at, seen in found if start <= at <= end]
        counted += inside[-1] - inside[0]
    return {"rate": counted / (end - start), "measured_records": counted}
