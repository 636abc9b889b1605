"""Savepoints that earlier versions wrote: each is restored, moved, and at another parallelism."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headrace.coordination.checkpoint_store import FORMAT
from tests.compat.program import everything, expected

STORED = sorted(Path(__file__).parent.glob("format-*/*"))


@pytest.mark.parametrize("stored", STORED, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_a_stored_savepoint_restores(stored: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(stored, moved)
    other = "rocksdb" if stored.name == "hashmap" else "hashmap"
    parallelism, backend = (3, stored.name) if stored.name == "hashmap" else (1, other)
    _, stream = everything(backend, parallelism, per_second=100_000, restore=moved)
    with stream.execute_and_collect() as results:
        assert sorted(results) == expected()


def test_there_are_savepoints_of_every_format_and_backend() -> None:
    backends = ("hashmap", "rocksdb")
    formats = range(1, FORMAT + 1)
    stored = {(p.parent.name, p.name) for p in STORED}
    assert stored == {(f"format-{n}", backend) for n in formats for backend in backends}
