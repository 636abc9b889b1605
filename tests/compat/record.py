"""Stores savepoints of this version: `python -m tests.compat.record`, before the format changes.

They go to `tests/compat/format-<n>/<backend>`, where `test_savepoints.py` finds them.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from headrace.coordination.checkpoint_store import FORMAT
from tests.compat.program import LATE, everything

HERE = Path(__file__).parent
LEAST = 300


def record(backend: str) -> None:
    """Stop the program halfway, and keep its savepoint."""
    target = HERE / f"format-{FORMAT}" / backend
    with tempfile.TemporaryDirectory() as directory:
        env, stream = everything(backend, 2, per_second=100)
        stream.print()
        client = env.execute_async()
        while _read(client._handle) < LEAST:
            time.sleep(0.02)
        path = client.stop_with_savepoint(False, directory).result()
        assert _read(client._handle) < LATE, "it was not stopped in time"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(path, target)


def _read(job: Any) -> int:
    """How many numbers there have been."""
    summary = job.last_epoch
    reports = () if summary is None else summary.reports
    return sum(r.operators[0].records_out for r in reports if r.source)


if __name__ == "__main__":
    for name in ("hashmap", "rocksdb"):
        record(name)
