"""Complete checkpoints and savepoints in storage.

A checkpoint is a directory: one snapshot file for each subtask and `_metadata`, which appears last
and atomically, so a directory without it is not a checkpoint. It names every file, with what tells
it from any other. An incremental checkpoint also needs files of checkpoints before it; a file is
kept for as long as anybody needs it. Paths in the metadata are relative: a savepoint's directory,
which has all it needs, can be moved.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import pickle
import secrets
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cloudpickle

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.graph.ids import CheckpointId
from headrace.graph.job_graph import JobGraph, JobVertex
from headrace.runtime.snapshot_files import SnapshotRef
from headrace.runtime.snapshots.writer import Seal
from headrace.runtime.storage import Storage, Storages, join, name_of, resolve

_log = logging.getLogger(__name__)

METADATA = "_metadata"
FORMAT = 3
_READABLE = (1, 2, 3)
_COUNTER = "_counter"
_CHECKPOINT = "chk-"


@dataclass(frozen=True)
class OperatorEntry:
    """An operator in a checkpoint, and the files that have its state.

    Attributes:
        operator_id: The operator.
        uid: What the user called it.
        name: What people see.
        parallelism: Number of subtasks.
        max_parallelism: Number of key groups.
        files: The file of each subtask.
        bases: For each subtask the files that its own has the changes to, oldest first; nothing if
            all files have everything.
    """

    operator_id: str
    uid: str | None
    name: str
    parallelism: int
    max_parallelism: int
    files: tuple[str, ...]
    bases: tuple[tuple[str, ...], ...] = ()

    @property
    def chains(self) -> list[list[str]]:
        """For each subtask all its files, in the order in which they are to be read."""
        bases = self.bases or ((),) * len(self.files)
        return [[*before, file] for before, file in zip(bases, self.files, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """The entry in metadata."""
        return {**vars(self), "files": list(self.files), "bases": [list(b) for b in self.bases]}

    @staticmethod
    def from_json(content: dict[str, Any]) -> OperatorEntry:
        """The entry that metadata has."""
        bases = tuple(tuple(b) for b in content.get("bases", ()))
        return OperatorEntry(**{**content, "files": tuple(content["files"]), "bases": bases})


@dataclass(frozen=True)
class Increment:
    """A checkpoint in a chain of incremental ones, and how much it wrote."""

    checkpoint: CheckpointId
    size: int


@dataclass(frozen=True)
class SourceEntry:
    """A source in a checkpoint: its enumerator's state, and the subtasks' splits with positions."""

    enumerator: Any
    splits: dict[int, list[Any]]


@dataclass(frozen=True)
class CompletedCheckpoint:
    """A checkpoint that can be restored.

    `final` says that the job had come to its end. `seals` are of all files that it needs, by their
    names in `operators`; those of older formats have none.
    """

    checkpoint: CheckpointId
    directory: str
    job_id: str
    timestamp_ms: int
    savepoint: bool
    operators: tuple[OperatorEntry, ...]
    sources: dict[str, SourceEntry] = field(default_factory=dict)
    size: int = 0
    final: bool = False
    increments: tuple[Increment, ...] = ()
    seals: dict[str, Seal] = field(default_factory=dict)
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
            "operators": [o.as_json() for o in self.operators],
            "increments": [[i.checkpoint, i.size] for i in self.increments],
            "files": {file: vars(seal) for file, seal in self.seals.items()},
            "sources": encoded,
        }
        data = json.dumps(content | {"checksum": _checksum(content)}, indent=1).encode()
        self.storages.of(self.directory).write(join(self.directory, METADATA), data)

    @property
    def all_files(self) -> set[str]:
        """All files that it needs, its own and those of earlier checkpoints."""
        chains = (chain for o in self.operators for chain in o.chains)
        return {resolve(self.directory, file) for chain in chains for file in chain}

    def chain_of(self, operator_id: str, subtask: int) -> list[str]:
        """The files of one subtask."""
        entry = next(o for o in self.operators if o.operator_id == operator_id)
        return [resolve(self.directory, file) for file in entry.chains[subtask]]

    def chains_of(self, entry: OperatorEntry) -> list[list[SnapshotRef]]:
        """For each subtask of an operator all its files, in the order in which they are read."""
        return [
            [
                SnapshotRef(
                    resolve(self.directory, file),
                    subtask,
                    self._operators_in[file],
                    self.seals.get(file),
                )
                for file in chain
            ]
            for subtask, chain in enumerate(entry.chains)
        ]

    @cached_property
    def _operators_in(self) -> dict[str, frozenset[str]]:
        """The operators that have their state in a file: those of a vertex share one."""
        found: dict[str, set[str]] = {}
        for operator in self.operators:
            for file in (file for chain in operator.chains for file in chain):
                found.setdefault(file, set()).add(operator.operator_id)
        return {file: frozenset(operators) for file, operators in found.items()}

    def discard(self, needed: Iterable[str] = ()) -> None:
        """Delete the checkpoint, except for files that others need.

        Metadata goes first, so that no half of it looks whole.
        """
        storage = self.storages.of(self.directory)
        storage.delete(join(self.directory, METADATA))
        kept = set(needed)
        kept_directories = {resolve(file, "..") for file in kept}
        for file in self.all_files - kept:
            if resolve(file, "..") in kept_directories:
                storage.delete(file)
        for directory in {self.directory, *(resolve(f, "..") for f in self.all_files)}:
            if directory not in kept_directories:
                storage.delete_directory(directory)

    def files_for(
        self, job_graph: JobGraph, allow_unmatched: bool
    ) -> dict[str, list[list[SnapshotRef]]]:
        """The snapshot files of a job's operators; state that no operator claims is refused."""
        wanted: dict[str, JobVertex] = {
            o.operator_id: v for v in job_graph.vertices for o in v.operators
        }
        gone = [o for o in self.operators if o.operator_id not in wanted]
        lost = [] if allow_unmatched else [o for o in gone if self._has_state(o)]
        if lost:
            names = ", ".join(f"{o.name!r} (uid {o.uid!r})" for o in lost)
            raise CheckpointError(
                f"{self.directory} has state of operators that the program does not have: "
                f"{names}; give the operators their uid() back, or allow their state to be "
                "dropped (-n, execution.state-recovery.ignore-unclaimed-state)",
                CheckpointFailureReason.STATE_MISMATCH,
            )
        # Only keyed state is divided by key groups, whose number cannot change.
        keyed = {o.operator_id for v in job_graph.vertices for o in v.operators if o.keyed}
        for entry in self.operators:
            vertex = wanted.get(entry.operator_id) if entry.operator_id in keyed else None
            if vertex is not None and vertex.max_parallelism != entry.max_parallelism:
                raise CheckpointError(
                    f"operator {entry.name!r} was saved with max parallelism "
                    f"{entry.max_parallelism} but has {vertex.max_parallelism} now: call "
                    f"set_max_parallelism({entry.max_parallelism})",
                    CheckpointFailureReason.STATE_MISMATCH,
                )
        return {o.operator_id: self.chains_of(o) for o in self.operators if o.operator_id in wanted}

    def _has_state(self, operator: OperatorEntry) -> bool:
        """Whether an operator had any; its files are read for that."""
        if operator.operator_id in self.sources:
            return True
        refs = (ref for chain in self.chains_of(operator) for ref in chain)
        snapshots = (ref.read(self.storages.of(ref.path)) for ref in refs)
        return any(snapshot.has_state_of(operator.operator_id) for snapshot in snapshots)


def _checksum(content: dict[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"


def _verified(data: bytes) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(data)
    # Checkpoints of older versions have none.
    checksum = content.pop("checksum", None)
    if checksum is not None and checksum != _checksum(content):
        raise ValueError("it is damaged: its checksum does not match")
    return content


def load_checkpoint(path: str, storages: Storages | None = None) -> CompletedCheckpoint:
    """Read a checkpoint's metadata; `path` is its directory or the metadata file itself."""
    storages = storages or Storages()
    path = path.rstrip("/")
    directory = resolve(path, "..") if name_of(path) == METADATA else path
    metadata = join(directory, METADATA)
    try:
        return _decoded(directory, _verified(storages.of(directory).read(metadata)), storages)
    except CheckpointError:
        raise
    except FileNotFoundError:
        raise CheckpointError(
            f"there is no checkpoint or savepoint in {directory}: the file {METADATA} is missing",
            CheckpointFailureReason.RESTORE_FAILURE,
        ) from None
    except Exception as error:
        why = str(error) if isinstance(error, OSError | ValueError) else repr(error)
        raise CheckpointError(
            f"{metadata} cannot be read: {why}; restore from another checkpoint",
            CheckpointFailureReason.RESTORE_FAILURE,
        ) from error


def _decoded(directory: str, content: dict[str, Any], storages: Storages) -> CompletedCheckpoint:
    if content.get("format") not in _READABLE:
        raise CheckpointError(
            f"{directory} has format {content.get('format')!r}; this version reads "
            f"formats {', '.join(map(str, _READABLE))}",
            CheckpointFailureReason.STATE_MISMATCH,
        )
    return CompletedCheckpoint(
        CheckpointId(content["checkpoint"]),
        directory,
        content["job_id"],
        content["timestamp_ms"],
        content["savepoint"],
        tuple(map(OperatorEntry.from_json, content["operators"])),
        pickle.loads(base64.b64decode(content["sources"])),
        content["size"],
        content.get("final", False),
        tuple(Increment(CheckpointId(c), size) for c, size in content.get("increments", ())),
        {file: Seal(**seal) for file, seal in content.get("files", {}).items()},
        storages,
    )


class CheckpointStore:
    """The complete checkpoints of a running job, newest last; those not needed are deleted."""

    def __init__(self, directory: str, retained: int, storages: Storages | None = None) -> None:
        self.directory = directory
        self.storages = storages or Storages()
        self._retained = max(retained, 1)
        self.completed: list[CompletedCheckpoint] = []
        self._dropped: list[CompletedCheckpoint] = []
        # Not needed as checkpoints any more, but maybe their files are.
        self._retired: list[CompletedCheckpoint] = []
        self._claimed: set[str] = set()

    def directory_of(self, checkpoint: CheckpointId) -> str:
        """Where a checkpoint goes: `chk-<n>`, as in Flink."""
        return join(self.directory, f"{_CHECKPOINT}{checkpoint}")

    def claim(self, checkpoint: CheckpointId) -> None:
        """Take a number for good: no driver of the job that comes later uses it for another one.

        A process of a killed driver may still write for a checkpoint that was never completed.
        """
        storage = self.storages.of(self.directory)
        storage.write(join(self.directory, _COUNTER), f"{checkpoint}\n".encode())

    @property
    def last_number(self) -> CheckpointId:
        """The largest number that was ever used in the job's directory."""
        storage = self.storages.of(self.directory)
        numbers = [number_of(d) for d in checkpoints_begun(self.directory, storage)]
        with contextlib.suppress(FileNotFoundError, ValueError):
            numbers.append(int(storage.read(join(self.directory, _COUNTER))))
        return CheckpointId(max(numbers, default=0))

    @staticmethod
    def savepoint_directory(parent: str, job_id: str) -> str:
        """Where a savepoint goes: `savepoint-<job>-<random>`, as in Flink."""
        return join(parent, f"savepoint-{job_id[:6]}-{secrets.token_hex(6)}")

    def add(
        self, checkpoint: CompletedCheckpoint, in_use: Collection[CompletedCheckpoint] = ()
    ) -> Callable[[], None]:
        """A checkpoint is complete; others that are under way build upon those in use.

        The result deletes what nobody needs any more. It can be called at any later time: whatever
        comes builds upon what is needed now.
        """
        self.completed.append(checkpoint)
        for old in self.completed[: -self._retained]:
            self.completed.remove(old)
            self._retired.append(old)
        return self._sweep(in_use)

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
        return not checkpoint.savepoint and resolve(checkpoint.directory, "..") == self.directory

    def _sweep(self, in_use: Collection[CompletedCheckpoint] = ()) -> Callable[[], None]:
        """What deletes those that were retired, as far as nobody needs them.

        What cannot be deleted is tried again next time: it takes space, but does no harm.
        """
        needed = {file for c in (*self.completed, *in_use) for file in c.all_files}
        useless = [c for c in self._retired if c not in in_use]
        self._retired = [c for c in self._retired if c in in_use]

        def delete() -> None:
            for checkpoint in useless:
                try:
                    if self._owns(checkpoint):
                        checkpoint.discard(needed)
                except OSError as error:
                    _warn(checkpoint.directory, error)
                    self._retired.append(checkpoint)

        return delete

    def base(self, job_id: str, most_increments: int) -> CompletedCheckpoint | None:
        """What the next incremental checkpoint builds upon; None if it should be a full one.

        It should when there have been many since the last full one, or when together they are
        larger than that one: reading them all must not take much longer than reading it.
        """
        own = [c for c in self.completed if not c.savepoint and c.job_id == job_id]
        increments = own[-1].increments if own else ()
        if not increments or len(increments) > most_increments:
            return None
        full, *changes = (i.size for i in increments)
        return own[-1] if sum(changes) <= full else None

    def needs(self, directory: str) -> bool:
        """Whether files in a directory belong to a checkpoint."""
        return any(resolve(file, "..") == directory for c in self.completed for file in c.all_files)

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
        self._retired += [*self.completed, *self._dropped]
        self.completed, self._dropped = [], []
        self._sweep()()
        storage = self.storages.of(self.directory)
        with _tolerant(self.directory):
            if not checkpoints_in(self.directory, storage):
                # What killed drivers had begun is nobody's any more.
                for begun in checkpoints_begun(self.directory, storage):
                    storage.delete_directory(begun)
                storage.delete(join(self.directory, _COUNTER))
                storage.delete_empty_directory(self.directory)


@contextlib.contextmanager
def _tolerant(directory: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _warn(directory, error)


def _warn(directory: str, error: OSError) -> None:
    _log.warning("%s cannot be deleted: %s", directory, error)


# A job's directory.


def checkpoints_in(directory: str, storage: Storage) -> list[str]:
    """The checkpoints in a job's directory, oldest first; none if it is not one."""
    if storage.exists(join(directory, METADATA)):
        return []
    begun = checkpoints_begun(directory, storage)
    return sorted((d for d in begun if storage.exists(join(d, METADATA))), key=number_of)


def checkpoints_begun(directory: str, storage: Storage) -> list[str]:
    """The directories of all checkpoints in a job's directory, whether complete or not."""
    return [join(directory, n) for n in storage.names(directory) if n.startswith(_CHECKPOINT)]


def number_of(directory: str) -> int:
    """The number of the checkpoint in a directory; 0 if its name has none."""
    digits = name_of(directory).removeprefix(_CHECKPOINT)
    return int(digits) if digits.isdecimal() else 0
