"""State that does not fit into memory, with a limit that the system enforces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.runtime.state.large_state import KEYS


def run(backend: str, directory: Path) -> subprocess.CompletedProcess[str]:
    # Otherwise each thread reserves 64 MiB of addresses that it does not use.
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    return subprocess.run(
        [sys.executable, "-m", "tests.unit.runtime.state.large_state", backend, str(directory)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=Path(__file__).parents[4],
    )


@pytest.mark.slow
def test_rocksdb_takes_saves_and_restores_more_than_memory_has(tmp_path: Path) -> None:
    done = run("rocksdb", tmp_path)
    assert done.stdout.split("\n")[:3] == ["filled", "saved", f"restored {KEYS + 1}"], done.stderr


@pytest.mark.slow
def test_hashmap_cannot(tmp_path: Path) -> None:
    done = run("hashmap", tmp_path)
    assert "filled" not in done.stdout
    assert "MemoryError" in done.stderr
