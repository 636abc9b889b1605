"""A sink that commits with the checkpoint: rows become visible by a rename."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.datastream.connectors.base import Committer, Sink, SinkWriter, WriterContext

_PENDING = ".pending"


@dataclass(frozen=True)
class RowFiles(Sink):
    """One file of rows for each subtask and checkpoint."""

    directory: Path

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _RowWriter(self.directory, context)

    def create_committer(self, context: WriterContext) -> Committer:
        return _RowCommitter(self.directory)


class _RowWriter(SinkWriter):
    def __init__(self, directory: Path, context: WriterContext) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._name = f"{context.job_id}-{context.attempt}-{context.subtask}"
        self._rows: list[Any] = []

    def write(self, values: list[Any], timestamps: Sequence[int | None] | None) -> None:
        self._rows += values

    def prepare_commit(self, checkpoint: int, end_of_input: bool) -> list[str]:
        rows, self._rows = self._rows, []
        if not rows:
            return []
        name = f"{self._name}-{checkpoint}"
        (self._directory / (name + _PENDING)).write_text(json.dumps(rows))
        return [name]


class _RowCommitter(Committer):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def commit(self, committables: list[str]) -> None:
        for name in committables:
            pending = self._directory / (name + _PENDING)
            if pending.exists():
                pending.rename(self._directory / name)
            else:
                assert (self._directory / name).exists(), f"{name} was never written"


def committed_files(directory: Path) -> list[Path]:
    """Those whose rows count."""
    return [f for f in directory.iterdir() if f.suffix != _PENDING]


def committed_rows(directory: Path) -> list[tuple[int, int, int]]:
    """All rows that count."""
    files = committed_files(directory)
    return [tuple(row) for f in files for row in json.loads(f.read_text())]
