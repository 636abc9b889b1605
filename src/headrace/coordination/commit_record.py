"""Records what is about to be committed before the first sink does it, and when all have."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from headrace.common.commit_marker import CommitMarker, read_commit_marker
from headrace.graph.ids import CheckpointId
from headrace.runtime.storage import LocalStorage


class CommitRecord:
    """Keeps the marker file of a job; without a path it does nothing."""

    def __init__(self, path: str | None, job_id: str) -> None:
        self._path = None if path is None else Path(path.removeprefix("file://"))
        # A job that goes on from another one's checkpoint goes on with its marker, too.
        found = None if self._path is None else read_commit_marker(self._path)
        self._marker = replace(found or CommitMarker(job_id), job_id=job_id)

    def begin(self, checkpoint: CheckpointId) -> None:
        """Sinks are about to commit a checkpoint."""
        self._write(replace(self._marker, committing=checkpoint))

    def finish(self, checkpoint: CheckpointId) -> None:
        """All sinks have committed a checkpoint."""
        marker = self._marker
        pending = marker.committing if marker.committing != checkpoint else None
        self._write(replace(marker, committed=checkpoint, committing=pending))

    def _write(self, marker: CommitMarker) -> None:
        if self._path is not None:
            self._marker = replace(marker, timestamp_ms=time.time_ns() // 1_000_000)
            LocalStorage().write(str(self._path), self._marker.to_json())
