"""What changed since the last complete checkpoint, and which checkpoint that is.

Changes move from `changed` to a set of their own when a checkpoint begins. They are forgotten when
that checkpoint or a later one is complete, and come back when it is aborted, so an incremental
checkpoint always holds all that a complete one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.graph.ids import CheckpointId

__all__ = ["ChangeHistory", "ChangeTracker"]


class ChangeTracker:
    """The changes of one table. State objects add to `changed`, which stays the same set object."""

    __slots__ = ("_pending", "changed")

    def __init__(self) -> None:
        self.changed: set[Any] = set()
        self._pending: dict[CheckpointId, set[Any]] = {}

    def since_complete(self) -> set[Any]:
        """All changes since the last complete checkpoint, as a set that stays as it is."""
        return set(self.changed).union(*self._pending.values())

    def begin(self, checkpoint_id: CheckpointId, keep: bool = True) -> None:
        """A checkpoint took the changes so far.

        Unless they are to be kept, they cannot come back: if it is aborted the next one is full.
        """
        self._pending[checkpoint_id] = set(self.changed) if keep else set()
        self.changed.clear()

    def complete(self, checkpoint_id: CheckpointId) -> None:
        """A checkpoint is complete. Earlier ones are covered by it: it took their changes too."""
        for pending in [p for p in self._pending if p <= checkpoint_id]:
            del self._pending[pending]

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """A checkpoint will never be complete: the next one is responsible for its changes."""
        returned = self._pending.pop(checkpoint_id, None)
        if returned:
            later = [p for p in self._pending if p > checkpoint_id]
            # A later checkpoint that is under way holds these changes already.
            (self._pending[min(later)] if later else self.changed).update(returned)

    def forget(self) -> None:
        """Forget everything."""
        self.changed.clear()
        self._pending.clear()


class ChangeHistory:
    """The checkpoints that changes build upon, for all trackers that take part in them.

    Args:
        enabled: Whether incremental checkpoints are taken at all.
        trackers: Gives the trackers that there are now.
    """

    __slots__ = ("_begun", "_trackers", "base", "enabled")

    def __init__(self, enabled: bool, trackers: Callable[[], Iterable[ChangeTracker]]) -> None:
        self.enabled = enabled
        self.base: CheckpointId | None = None
        self._trackers = trackers
        self._begun: set[CheckpointId] = set()

    def start_from(self, checkpoint_id: CheckpointId | None) -> None:
        """What is there now is what that checkpoint has."""
        if self.enabled:
            self.base = checkpoint_id

    def begin(self, checkpoint_id: CheckpointId) -> None:
        """A checkpoint took the changes so far."""
        if self.enabled:
            # The first one is full, and if it is aborted so is the next.
            keep = self.base is not None or bool(self._begun)
            self._begun.add(checkpoint_id)
            for tracker in self._trackers():
                tracker.begin(checkpoint_id, keep)

    def complete(self, checkpoint_id: CheckpointId) -> None:
        """A checkpoint is complete; ids that never began here are ignored."""
        if checkpoint_id not in self._begun:
            return
        self._begun = {begun for begun in self._begun if begun > checkpoint_id}
        self.base = checkpoint_id
        for tracker in self._trackers():
            tracker.complete(checkpoint_id)

    def abort(self, checkpoint_id: CheckpointId) -> None:
        """A checkpoint will never be complete."""
        self._begun.discard(checkpoint_id)
        for tracker in self._trackers():
            tracker.abort(checkpoint_id)

    def epoch_end(self) -> None:
        """Forget changes that no checkpoint will ask for: the next one will be a full one."""
        if self.base is None and not self._begun:
            for tracker in self._trackers():
                tracker.forget()
