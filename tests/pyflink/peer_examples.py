"""PyFlink's own example programs: which can be compared, and where to get them.

The files are not part of this repository. They are taken out of the published wheel, which is
downloaded once into a cache directory (``HEADRACE_PYFLINK_EXAMPLES`` names another folder that
holds ``pyflink/examples``).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

VERSION = "2.3.0"
FOLDER = "pyflink/examples/"

#: Examples that need no other system, with how they are compared. Not here are those of
#: ``datastream/connectors``, which need Kafka, Pulsar or Elasticsearch, and
#: ``table/basic_operations``, which fails in PyFlink 2.3: `json` is not the module there.
EXAMPLES = {
    "datastream/word_count": "rows",
    "datastream/basic_operations": "exactly",
    "datastream/process_json_data": "rows",
    "datastream/state_access": "rows",
    "datastream/event_time_timer": "rows",
    "datastream/windowing/tumbling_count_window": "rows",
    "datastream/windowing/tumbling_time_window": "rows",
    "datastream/windowing/sliding_time_window": "rows",
    "datastream/windowing/session_with_gap_window": "rows",
    "datastream/windowing/session_with_dynamic_gap_window": "rows",
    "table/word_count": "rows",
    "table/multi_sink": "rows",
    "table/process_json_data": "rows",
    "table/process_json_data_with_udf": "rows",
    "table/async/async_scalar_function": "shape",
    "table/mixing_use_of_datastream_and_table": "shape",
    "table/pandas/conversion_from_dataframe": "shape",
    "table/pandas/pandas_udaf": "rows",
    "table/windowing/over_window": "rows",
    "table/windowing/session_window": "rows",
    "table/windowing/sliding_window": "rows",
    "table/windowing/tumble_window": "rows",
}

#: Examples that go on for ever with random data, and what they print. Not here is
#: ``asyncio/remote_model_inference``, which sleeps for most of its time.
ENDLESS = {
    "datastream/streaming_word_count": r"\((?P<word>\w+),(?P<count>\d+)\)",
    "table/streaming_word_count": r"(\+I|-U|\+U)\[(?P<word>\w+), (?P<count>\d+)\]",
}


def golden_file(name: str) -> Path:
    """What PyFlink printed for an example."""
    return Path(__file__).parent / "golden" / f"{name}.out"


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
    if not (folder / "table" / "word_count.py").exists():
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
