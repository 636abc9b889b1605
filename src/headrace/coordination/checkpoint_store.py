"""Complete checkpoints and savepoints in storage.

A checkpoint is a directory: one snapshot file for each subtask and `_metadata`, which appears last
and atomically, so a directory without it is not a checkpoint. Paths in the metadata are relative:
a savepoint's directory can be moved.
"""

from __future__ import annotations

import base64
import json
import pickle
import secrets
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.graph.ids import CheckpointId
from headrace.graph.job_graph import JobGraph, JobVertex
from headrace.runtime.storage import Storages, join, name_of, resolve

METADATA = "_metadata"
FORMAT = 1


@dataclass(frozen=True)
class OperatorEntry:
    """An operator in a checkpoint, and the files that have its state."""

    operator_id: str
    uid: str | None
    name: str
    parallelism: int
    max_parallelism: int
    files: tuple[str, ...]


@dataclass(frozen=True)
class SourceEntry:
    """A source in a checkpoint: its enumerator's state, and the subtasks' splits with positions."""

    enumerator: Any
    splits: dict[int, list[Any]]


@dataclass(frozen=True)
class CompletedCheckpoint:
    """A checkpoint that can be restored; `final` says that the job had come to its end."""

    checkpoint: CheckpointId
    directory: str
    job_id: str
    timestamp_ms: int
    savepoint: bool
    operators: tuple[OperatorEntry, ...]
    sources: dict[str, SourceEntry] = field(default_factory=dict)
    size: int = 0
    final: bool = False
    storages: Storages = field(default_factory=Storages, repr=False, compare=False)

    def write_metadata(self) -> None:
        """Make the directory a checkpoint."""
        encoded = base64.b64encode(cloudpickle.dumps(self.sources)).decode()
        content = {
            "format": FORMAT,
            "checkpoint": self.checkpoint,
            "job_id": self.job_id,
            "timestamp_ms": self.timestamp_ms,
            "savepoint": self.savepoint,
            "size": self.size,
            "final": self.final,
            "operators": [vars(o) | {"files": list(o.files)} for o in self.operators],
            "sources": encoded,
        }
        data = json.dumps(content, indent=1).encode()
        self.storages.of(self.directory).write(join(self.directory, METADATA), data)

    def discard(self) -> None:
        """Delete the checkpoint, metadata first, so that no half of it looks whole."""
        storage = self.storages.of(self.directory)
        storage.delete(join(self.directory, METADATA))
        storage.delete_directory(self.directory)

    def files_for(self, job_graph: JobGraph, allow_unmatched: bool) -> dict[str, list[str]]:
        """The snapshot files of a job's operators; state that no operator claims is refused."""
        wanted: dict[str, JobVertex] = {
            o.operator_id: v for v in job_graph.vertices for o in v.operators
        }
        lost = [o for o in self.operators if o.operator_id not in wanted]
        if lost and not allow_unmatched:
            names = ", ".join(f"{o.name!r} (uid {o.uid!r})" for o in lost)
            raise CheckpointError(
                f"{self.directory} has state of operators that the program does not have: {names}; "
                "give the operators their uid() back, or allow it to be left out (-n, "
                "execution.state-recovery.ignore-unclaimed-state)",
                CheckpointFailureReason.STATE_MISMATCH,
            )
        for entry in self.operators:
            vertex = wanted.get(entry.operator_id)
            if vertex is not None and vertex.max_parallelism != entry.max_parallelism:
                raise CheckpointError(
                    f"operator {entry.name!r} was saved with max parallelism "
                    f"{entry.max_parallelism} but has {vertex.max_parallelism} now: call "
                    f"set_max_parallelism({entry.max_parallelism})",
                    CheckpointFailureReason.STATE_MISMATCH,
                )
        return {
            o.operator_id: [resolve(self.directory, f) for f in o.files]
            for o in self.operators
            if o.operator_id in wanted
        }


def load_checkpoint(path: str, storages: Storages | None = None) -> CompletedCheckpoint:
    """Read a checkpoint's metadata; `path` is its directory or the metadata file itself."""
    storages = storages or Storages()
    path = path.rstrip("/")
    directory = resolve(path, "..") if name_of(path) == METADATA else path
    metadata = join(directory, METADATA)
    try:
        content = json.loads(storages.of(directory).read(metadata))
    except FileNotFoundError:
        raise CheckpointError(
            f"there is no checkpoint or savepoint in {directory}: the file {METADATA} is missing",
            CheckpointFailureReason.RESTORE_FAILURE,
        ) from None
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{metadata} cannot be read: {error}; restore from another checkpoint",
            CheckpointFailureReason.RESTORE_FAILURE,
        ) from error
    if content.get("format") != FORMAT:
        raise CheckpointError(
            f"{directory} has format {content.get('format')!r}; this version reads format {FORMAT}",
            CheckpointFailureReason.STATE_MISMATCH,
        )
    return CompletedCheckpoint(
        CheckpointId(content["checkpoint"]),
        directory,
        content["job_id"],
        content["timestamp_ms"],
        content["savepoint"],
        tuple(OperatorEntry(**{**o, "files": tuple(o["files"])}) for o in content["operators"]),
        pickle.loads(base64.b64decode(content["sources"])),
        content["size"],
        content.get("final", False),
        storages,
    )


class CheckpointStore:
    """The complete checkpoints of a running job, newest last; those not needed are deleted."""

    def __init__(self, directory: str, retained: int, storages: Storages | None = None) -> None:
        self._directory = directory
        self.storages = storages or Storages()
        self._retained = max(retained, 1)
        self.completed: list[CompletedCheckpoint] = []
        self._claimed: set[str] = set()
        self._dropped: list[CompletedCheckpoint] = []

    def directory_of(self, checkpoint: CheckpointId) -> str:
        """Where a checkpoint goes: `chk-<n>`, as in Flink."""
        return join(self._directory, f"chk-{checkpoint}")

    @staticmethod
    def savepoint_directory(parent: str, job_id: str) -> str:
        """Where a savepoint goes: `savepoint-<job>-<random>`, as in Flink."""
        return join(parent, f"savepoint-{job_id[:6]}-{secrets.token_hex(6)}")

    def add(self, checkpoint: CompletedCheckpoint) -> None:
        """A checkpoint is complete."""
        self.completed.append(checkpoint)
        for old in self.completed[: -self._retained]:
            self.completed.remove(old)
            if self._owns(old):
                old.discard()

    def adopt(self, checkpoint: CompletedCheckpoint, *, claim: bool = False) -> None:
        """A checkpoint that the job starts from: it can go back to it, but never deletes it.

        One that it claims is treated as its own.
        """
        self.completed.append(checkpoint)
        if claim:
            self._claimed.add(checkpoint.directory)

    def _owns(self, checkpoint: CompletedCheckpoint) -> bool:
        if checkpoint.directory in self._claimed:
            return True
        return not checkpoint.savepoint and resolve(checkpoint.directory, "..") == self._directory

    @property
    def latest(self) -> CompletedCheckpoint | None:
        """What to go back to."""
        return self.completed[-1] if self.completed else None

    def drop(self, checkpoint: CompletedCheckpoint) -> None:
        """A checkpoint turned out to be unusable: the one before it is next.

        What is left of its files stays until the job is over, for whoever looks for the cause.
        """
        self.completed.remove(checkpoint)
        self._dropped.append(checkpoint)

    def clear(self) -> None:
        """Delete all checkpoints; savepoints belong to the user."""
        for checkpoint in (*self.completed, *self._dropped):
            if self._owns(checkpoint):
                checkpoint.discard()
        self.completed, self._dropped = [], []
        self.storages.of(self._directory).delete_empty_directory(self._directory)
