"""What a job can start from and go back to, and what to do when that cannot be read.

A job's own checkpoints are a row of restore points: where a file of the newest is missing or
damaged, the one before it is used. A path that the user named is meant as it is: nothing else is
restored in its place, unless it is the directory of a job, which stands for the newest usable
checkpoint in it.
"""

from __future__ import annotations

import logging

from headrace.common.errors import CheckpointError, CheckpointFailureReason
from headrace.coordination.checkpoint_store import (
    METADATA,
    CheckpointStore,
    CompletedCheckpoint,
    checkpoints_in,
    load_checkpoint,
    number_of,
)
from headrace.graph.ids import CheckpointId
from headrace.runtime.storage import name_of, resolve

_log = logging.getLogger(__name__)


class RestorePoints:
    """The checkpoints of a job, and those it was started from, oldest first."""

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._path: str | None = None
        self._unusable: list[str] = []
        self.highest = CheckpointId(0)
        """The largest id that was ever used, whether that checkpoint can be read or not."""

    def start_from(self, path: str, *, claim: bool = False) -> CompletedCheckpoint:
        """The checkpoint or savepoint at a path; those that can replace it are remembered.

        With `claim` they are the job's own from now on.
        """
        self._path = path
        for checkpoint in self._found(path):
            self._store.adopt(checkpoint, claim=claim)
            self.highest = max(self.highest, checkpoint.checkpoint)
        if self._store.latest is None:
            raise self._none_left()
        return self._store.latest

    def _found(self, path: str) -> list[CompletedCheckpoint]:
        found = []
        directories = checkpoints_in(path, self._store.storages.of(path))
        if directories:
            self.highest = CheckpointId(number_of(directories[-1]))
        for directory in directories or [path]:
            try:
                found.append(load_checkpoint(directory, self._store.storages))
            except CheckpointError as error:
                if error.reason is not CheckpointFailureReason.RESTORE_FAILURE:
                    raise
                self._note(str(error))
        return found

    @property
    def latest(self) -> CompletedCheckpoint | None:
        """What to go back to; None only if the job never had a checkpoint."""
        if self._store.latest is None and self._unusable:
            raise self._none_left()
        return self._store.latest

    def fall_back(self, unusable: CompletedCheckpoint, why: CheckpointError) -> CompletedCheckpoint:
        """The restore point before one that could not be read.

        Raises:
            CheckpointError: There is none, or another one would not be what the user asked for.
        """
        if why.reason is not CheckpointFailureReason.RESTORE_FAILURE:
            raise why
        self._note(str(why))
        self._store.drop(unusable)
        before = self.latest
        assert before is not None, "the restored snapshot was a restore point"
        return before

    def _note(self, text: str) -> None:
        _log.warning("a checkpoint cannot be restored: %s", text)
        self._unusable.append(text)

    def _none_left(self) -> CheckpointError:
        beside = self._others_beside(self._path) if self._path else []
        hint = f"; complete checkpoints beside it: {', '.join(beside)}" if beside else ""
        return CheckpointError(
            "no checkpoint is left that the job could start from: "
            + "; ".join(self._unusable)
            + ". Start it from a savepoint or an older checkpoint with -s "
            "(execution.state-recovery.path), or without to start over" + hint,
            CheckpointFailureReason.RESTORE_FAILURE,
        )

    def _others_beside(self, path: str) -> list[str]:
        directory = resolve(path, "..") if name_of(path) == METADATA else path.rstrip("/")
        if not number_of(directory):
            return []
        parent = resolve(directory, "..")
        others = checkpoints_in(parent, self._store.storages.of(parent))
        return [other for other in others if other != directory]
