"""A file that says up to which checkpoint *all* sinks of a job have committed.

Sinks commit one after the other. For a moment one shows a checkpoint that another does not show
yet; after a failure in that moment it takes until the recovery. With `execution.commit-marker` the
job first records that it is about to commit a checkpoint, then the sinks commit, then it records
that they all have. A reader that wants outputs that belong together looks at the marker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from headrace.common.errors import HeadraceError

__all__ = ["CommitMarker", "read_commit_marker", "read_together"]

R = TypeVar("R")
_PAUSE_S = 0.02


@dataclass(frozen=True)
class CommitMarker:
    """What the marker says.

    Attributes:
        job_id: The job that wrote it.
        committed: The last checkpoint that all sinks have committed; None before the first.
        committing: The checkpoint that sinks are about to commit: some may have, others not yet.
        timestamp_ms: When it was written.
    """

    job_id: str
    committed: int | None = None
    committing: int | None = None
    timestamp_ms: int = 0

    @property
    def consistent(self) -> bool:
        """Whether all sinks show the same checkpoint."""
        return self.committing is None

    def to_json(self) -> bytes:
        """The content of the file."""
        return json.dumps(asdict(self)).encode()


def read_commit_marker(path: str | Path) -> CommitMarker | None:
    """Read the marker of a job; None if nothing was ever committed."""
    try:
        content = json.loads(_local(path).read_bytes())
        return CommitMarker(**content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise HeadraceError(f"{path} cannot be read as a commit marker: {error}") from error


def read_together(path: str | Path, read: Callable[[], R], timeout_s: float = 60.0) -> R:
    """Read outputs of several sinks as they were after one and the same checkpoint.

    `read` is called when the marker is consistent, and again if it has changed meanwhile, also if
    it raised.

    Args:
        path: The marker: the value of `execution.commit-marker`.
        read: Reads the outputs.
        timeout_s: How long to try; a job that fails in a commit shows a consistent state only after
            its recovery.

    Example:
        >>> orders, totals = read_together("/data/marker", lambda: (read_orders(), read_totals()))
    """
    deadline = time.monotonic() + timeout_s
    while True:
        before = read_commit_marker(path)
        if before is None or before.consistent:
            try:
                result = read()
            except Exception:
                # What is being committed may be half there; an error of a quiet moment is one.
                if read_commit_marker(path) == before:
                    raise
            else:
                if read_commit_marker(path) == before:
                    return result
        if time.monotonic() > deadline:
            raise HeadraceError(
                f"{path} did not show one checkpoint for long enough within {timeout_s:g} s: "
                f"{before}; is the job recovering?"
            )
        time.sleep(_PAUSE_S)


def _local(path: str | Path) -> Path:
    return Path(str(path).removeprefix("file://"))
