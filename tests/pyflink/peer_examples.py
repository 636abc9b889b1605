"""PyFlink's own example programs: which can be compared, and where to get them.

The files are not part of this repository. They are taken out of the published wheel, which is
downloaded once into a cache directory (``HEADRACE_PYFLINK_EXAMPLES`` names another folder that
holds ``pyflink/examples/datastream``).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "2.3.0"
FOLDER = "pyflink/examples/datastream/"

#: Examples that end by themselves and need no other system, with how they are compared.
EXAMPLES = {
    "word_count": "rows",
    "basic_operations": "exactly",
    "process_json_data": "rows",
    "state_access": "rows",
    "event_time_timer": "rows",
    "windowing/tumbling_count_window": "rows",
    "windowing/tumbling_time_window": "rows",
    "windowing/sliding_time_window": "rows",
    "windowing/session_with_gap_window": "rows",
    "windowing/session_with_dynamic_gap_window": "rows",
}


class ExamplesUnavailableError(Exception):
    """The wheel cannot be had here; the text says why."""


def examples_folder() -> Path:
    """The folder with the examples, downloaded if it is not there yet.

    Raises:
        ExamplesUnavailableError: there is no copy and none can be downloaded.
    """
    given = os.environ.get("HEADRACE_PYFLINK_EXAMPLES")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(given) if given else cache / "headrace" / f"pyflink-{VERSION}"
    folder = root / FOLDER
    if not (folder / "word_count.py").exists():
        if given:
            raise ExamplesUnavailableError(f"no {FOLDER} in {given}")
        root.mkdir(parents=True, exist_ok=True)
        _download(root)
    return folder


def _download(root: Path) -> None:
    """Take the examples out of the wheel; any platform's wheel has the same ones."""
    with tempfile.TemporaryDirectory() as scratch:
        wheel = _wheel(Path(scratch))
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(FOLDER) and name.endswith(".py"):
                    archive.extract(name, root)


def _wheel(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
    command += ["--no-deps", "--only-binary", ":all:", "--platform", "manylinux1_x86_64"]
    command += ["--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
    command += ["--dest", str(scratch), f"apache-flink=={VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired as error:
        raise ExamplesUnavailableError("pip download took more than three minutes") from error
    wheels = list(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        reason = done.stderr.strip().splitlines()[-1:] or ["no wheel"]
        raise ExamplesUnavailableError(f"{' '.join(command[3:])}: {reason[0]}")
    return wheels[0]
