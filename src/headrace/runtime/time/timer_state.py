"""Timers in snapshots: by key group, like keyed state, and where possible only what changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from headrace.graph.ids import CheckpointId, KeyGroup
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.state.change_tracker import ChangeHistory, ChangeTracker
from headrace.runtime.state.declaration import StateKind, StateMeta
from headrace.runtime.state.snapshot import (
    RestorableState,
    SnapshotKind,
    StateSnapshot,
    TableView,
    decode_block,
)
from headrace.runtime.time.timers import TimerQueue

__all__ = ["TimerState"]


class TimerState:
    """The timers of one keyed operator; it follows checkpoints as a state backend does.

    Args:
        queues: The timers by name of their time domain.
        key_of_timer: The key that the address of a timer belongs to.
        max_parallelism: Number of key groups.
        track_changes: Whether incremental checkpoints are taken.
    """

    def __init__(
        self,
        queues: dict[str, TimerQueue],
        key_of_timer: Callable[[Any], Any],
        max_parallelism: int,
        track_changes: bool,
    ) -> None:
        self._queues = queues
        self._key_of_timer = key_of_timer
        self._max_parallelism = max_parallelism
        self._trackers = {name: ChangeTracker() for name in queues}
        self._history = ChangeHistory(track_changes, self._trackers.values)
        self.complete = self._history.complete
        self.abort = self._history.abort
        self.epoch_end = self._history.epoch_end
        if track_changes:
            for name, queue in queues.items():
                queue.changed = self._trackers[name].changed

    def changes_since(self, base: CheckpointId) -> int | None:
        """How many timers came or went since a checkpoint; None if that is not known."""
        if base != self._history.base:
            return None
        return sum(len(tracker.since_complete()) for tracker in self._trackers.values())

    def known_size(self) -> int:
        """How many timers there are."""
        return sum(map(len, self._queues.values()))

    def snapshot(
        self, kind: SnapshotKind = SnapshotKind.FULL, checkpoint_id: CheckpointId | None = None
    ) -> StateSnapshot:
        """Views of the timers at the barrier; see `KeyedStateBackend.snapshot`."""
        base = self._history.base if kind is SnapshotKind.CHANGES else None
        views = [
            _TimerView(
                _meta(name),
                queue,
                None if base is None else self._trackers[name].since_complete(),
                self._key_of_timer,
            )
            for name, queue in self._queues.items()
        ]
        snapshot = StateSnapshot(
            kind=SnapshotKind.FULL if base is None else SnapshotKind.CHANGES,
            max_parallelism=self._max_parallelism,
            checkpoint_id=checkpoint_id,
            base=base,
            states={view.meta.name: view.meta for view in views},
            views=list(views),
        )
        if checkpoint_id is not None:
            self._history.begin(checkpoint_id)
        return snapshot

    def restore(
        self,
        snapshots: Iterable[RestorableState],
        key_groups: range,
        base: CheckpointId | None = None,
    ) -> None:
        """Set the timers of some key groups; see `KeyedStateBackend.restore`."""
        for snapshot in snapshots:
            for name, blocks in snapshot.pieces(key_groups):
                self._take_over(self._queues[name], snapshot.states[name], blocks)
        for tracker in self._trackers.values():
            tracker.forget()
        self._history.start_from(base)

    @staticmethod
    def _take_over(
        queue: TimerQueue, meta: StateMeta, blocks: Iterable[tuple[KeyGroup, bytes]]
    ) -> None:
        for key_group, data in blocks:
            present, gone = decode_block(meta, key_group, data)
            queue.restore(present)
            for timestamp, address in gone:
                queue.delete(timestamp, address)


def _meta(name: str) -> StateMeta:
    return StateMeta(name, StateKind.VALUE, "timers", True, None)


class _TimerView(TableView):
    """The timers of one time domain: a table whose addresses are times and addresses of timers."""

    __slots__ = ("_key_of_timer", "_queue")

    def __init__(
        self,
        meta: StateMeta,
        queue: TimerQueue,
        changed: Collection[Any] | None,
        key_of_timer: Callable[[Any], Any],
    ) -> None:
        super().__init__(meta, {}, changed)
        self._queue = queue
        self._key_of_timer = key_of_timer

    def key_group(self, address: Any, max_parallelism: int) -> KeyGroup:
        return key_group_of(self._key_of_timer(address[1]), max_parallelism)

    def rows(self) -> Iterator[tuple[Any, Any]]:
        queue = self._queue
        if self.changed is None:
            return ((timer, True) for timer in queue)
        return ((timer, True if timer in queue else None) for timer in self.changed)
