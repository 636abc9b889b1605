"""What backends have in common that keep one table for each state: everything but the tables.

A `StateTable` holds the entries of one state and says what changed; a `TableStateBackend` declares
states over its tables, takes snapshots of them, follows checkpoints and restores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from headrace.common.errors import StateError
from headrace.datastream.state import StateDescriptor
from headrace.graph.ids import CheckpointId, KeyGroup
from headrace.runtime.state.backend import KeyedStateBackend
from headrace.runtime.state.change_tracker import ChangeHistory, ChangeTracker
from headrace.runtime.state.declaration import (
    FORMAT_VERSION,
    StateMeta,
    describe,
    require_compatible,
)
from headrace.runtime.state.evolution import Upgrade, upgrade_of
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.state.kinds import Entries, create_state
from headrace.runtime.state.serialized import opened, stored_descriptor
from headrace.runtime.state.snapshot import (
    Blocks,
    RestorableState,
    SnapshotKind,
    StateSnapshot,
    View,
)
from headrace.runtime.state.ttl import Aging, create_ttl_state
from headrace.runtime.state.ttl_cleanup import IncrementalCleaner, trim_for

__all__ = ["StateTable", "TableStateBackend"]


def _nothing() -> None:
    pass


class StateTable(ABC):
    """The entries of one state.

    `blocks` are restored entries that were not decoded yet, maybe not even read: that waits until
    the state is declared, so that a change of its type is refused before its values are touched.

    Attributes:
        entries: What state objects read and write.
        changed: Where they report the addresses that they changed; None if nobody wants to know.
    """

    __slots__ = ("aging", "blocks", "changed", "cleaner", "declared", "entries", "meta", "tracker")

    def __init__(self, meta: StateMeta, entries: Entries, track_changes: bool) -> None:
        self.meta = meta
        self.entries = entries
        self.tracker = ChangeTracker()
        self.changed: set[Any] | None = self.tracker.changed if track_changes else None
        self.blocks: list[Blocks] = []
        self.declared = False
        self.aging: Aging | None = None
        self.cleaner: IncrementalCleaner | None = None

    @abstractmethod
    def addresses(self) -> Iterator[Any]:
        """All addresses that have an entry; entries may change during iteration."""

    @abstractmethod
    def count(self) -> int:
        """How many entries there are."""

    def known_size(self) -> int | None:
        """How many entries there are, if that is known without counting."""
        return self.count()

    @abstractmethod
    def decode(self) -> None:
        """Turns restored blocks, in their order, into entries."""

    def detach(self) -> None:
        """Reads what was not decoded yet, so that the files it is in may go."""
        self.blocks = [list(piece) for piece in self.blocks]

    @abstractmethod
    def sync(self) -> None:
        """Tells the tracker of all changes; called before a snapshot."""

    def upgrade(self, upgrade: Upgrade) -> None:
        """Makes new values of restored ones."""
        for address in self.addresses():
            self.entries[address] = upgrade(self.entries.get(address))
            if self.changed is not None:
                self.changed.add(address)

    def new_cleaner(self, clock: Callable[[], int]) -> IncrementalCleaner:
        """Removes expired entries in small steps."""
        assert self.meta.ttl is not None
        touch = id if self.changed is None else self.changed.add
        return IncrementalCleaner(
            self.entries, trim_for(self.meta.kind), self.meta.ttl, clock, touch
        )

    def declare(self, meta: StateMeta, clock: Callable[[], int]) -> None:
        """Takes the settings of the first declaration in this run."""
        self.declared = True
        self.meta = meta
        policy = meta.ttl
        if policy is None:
            return
        if policy.cleanup_size:
            self.cleaner = self.new_cleaner(clock)
        on_access = _nothing if self.cleaner is None else self.cleaner.on_access
        self.aging = Aging(policy, clock, on_access)

    def trim_at(self, now: int) -> Callable[[Any], Any] | None:
        """How a full snapshot trims stored values, if it is asked to."""
        policy = self.meta.ttl
        if policy is None or not policy.trim_full_snapshots:
            return None
        trim, horizon = trim_for(self.meta.kind), now - policy.ttl_ms
        return lambda stored: trim(stored, horizon)


T = TypeVar("T", bound=StateTable)


class TableStateBackend(KeyedStateBackend, Generic[T]):
    """A backend over tables.

    Args:
        max_parallelism: Number of key groups.
        clock: Processing time in milliseconds, for time-to-live.
        track_changes: Whether incremental checkpoints are taken, which costs a little per write.
        operator_uid: Names the operator in errors.
    """

    def __init__(
        self,
        max_parallelism: int,
        clock: Callable[[], int],
        track_changes: bool = False,
        *,
        operator_uid: str | None = None,
    ) -> None:
        self.max_parallelism = max_parallelism
        self._clock = clock
        self._track_changes = track_changes
        self._operator_uid = operator_uid
        self._tables: dict[str, T] = {}
        self._record_cleaners: list[IncrementalCleaner] = []
        self._history = ChangeHistory(
            track_changes, lambda: [table.tracker for table in self._tables.values()]
        )
        self._disposed = False

    # What a backend adds.

    @abstractmethod
    def _new_table(self, meta: StateMeta) -> T:
        """An empty table."""

    @abstractmethod
    def _views(
        self, tables: Sequence[T], changes: Sequence[set[Any]] | None, now: int, deferred: bool
    ) -> Sequence[View]:
        """The tables at the barrier, or only what changed in each."""

    @abstractmethod
    def _free(self) -> None:
        """Frees all tables."""

    # The interface.

    def get_or_create(
        self, descriptor: StateDescriptor, cell: KeyCell, namespaced: bool = False
    ) -> Any:
        self._require_alive()
        table = self._declared(descriptor, describe(descriptor, namespaced))
        stored = stored_descriptor(descriptor)
        if table.aging is None:
            state = create_state(stored, cell, table.entries, table.changed)
        else:
            state = create_ttl_state(stored, cell, table.entries, table.changed, table.aging)
        return state if stored is descriptor else opened(descriptor, state)

    def _declared(self, descriptor: StateDescriptor, meta: StateMeta) -> T:
        table = self._tables.get(meta.name)
        upgrade = None
        if table is None:
            table = self._tables[meta.name] = self._new_table(meta)
        else:
            restored = not table.declared
            upgrade = upgrade_of(table.meta, meta, descriptor) if restored else None
            require_compatible(
                table.meta,
                meta,
                self._operator_uid,
                restored=restored,
                upgradable=upgrade is not None,
            )
        if not table.declared:
            table.decode()
            if upgrade is not None:
                table.upgrade(upgrade)
            table.declare(meta, self._clock)
            if table.cleaner is not None and meta.ttl and meta.ttl.cleanup_for_every_record:
                self._record_cleaners.append(table.cleaner)
        return table

    def state_names(self) -> list[str]:
        return list(self._tables)

    def keys(self, state_name: str, namespace: Any = None) -> list[Any]:
        table = self._existing(state_name)
        if not table.meta.namespaced:
            return list(table.addresses())
        if namespace is None:
            return list(dict.fromkeys(key for key, _ in table.addresses()))
        return [key for key, found in table.addresses() if found == namespace]

    def keys_and_namespaces(self, state_name: str) -> list[tuple[Any, Any]]:
        table = self._existing(state_name)
        if not table.meta.namespaced:
            raise StateError(f"state {state_name!r} has no namespaces; ask for its keys()")
        return list(table.addresses())

    def stored(self, state_name: str) -> Iterator[tuple[Any, Any]]:
        """Address and what is stored there, for all entries of a state."""
        table = self._existing(state_name)
        return ((address, table.entries.get(address)) for address in table.addresses())

    def apply_to_all_keys(
        self,
        descriptor: StateDescriptor,
        fn: Callable[[Any, Any], Any],
        cell: KeyCell | None = None,
    ) -> None:
        cell = KeyCell() if cell is None else cell
        state = self.get_or_create(descriptor, cell)
        before = cell.key
        try:
            for cell.key in self._existing(descriptor.get_name()).addresses():
                fn(cell.key, state)
        finally:
            cell.key = before

    def number_of_entries(self, state_name: str | None = None) -> int:
        tables = self._decoded() if state_name is None else [self._existing(state_name)]
        return sum(table.count() for table in tables)

    def known_size(self) -> int | None:
        sizes = [table.known_size() for table in self._decoded()]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def forget_all(self) -> None:
        for table in self._tables.values():
            for address in list(table.addresses()):
                del table.entries[address]
                if table.changed is not None:
                    table.changed.add(address)

    def after_batch(self, records: int) -> None:
        for cleaner in self._record_cleaners:
            cleaner.after_batch(records)

    def epoch_end(self) -> None:
        self._history.epoch_end()

    def snapshot(
        self,
        kind: SnapshotKind | str = SnapshotKind.FULL,
        checkpoint_id: CheckpointId | None = None,
        *,
        deferred: bool = False,
    ) -> StateSnapshot:
        self._require_alive()
        tables = self._decoded()
        for table in tables:
            table.sync()
        base = self._history.base if SnapshotKind(kind) is SnapshotKind.CHANGES else None
        changes = None if base is None else [table.tracker.since_complete() for table in tables]
        snapshot = StateSnapshot(
            kind=SnapshotKind.FULL if base is None else SnapshotKind.CHANGES,
            max_parallelism=self.max_parallelism,
            checkpoint_id=checkpoint_id,
            base=base,
            states={table.meta.name: table.meta for table in tables},
            views=list(self._views(tables, changes, self._clock(), deferred)),
        )
        if not deferred:
            # First, so that a value that cannot be saved leaves the tracking as it was.
            snapshot.serialize()
        if checkpoint_id is not None:
            self._history.begin(checkpoint_id)
        return snapshot

    def changes_since(self, base: CheckpointId) -> int | None:
        if base != self._history.base:
            return None
        tables = self._decoded()
        for table in tables:
            table.sync()
        return sum(len(table.tracker.since_complete()) for table in tables)

    def detach(self) -> None:
        for table in self._tables.values():
            table.detach()

    def notify_checkpoint_complete(self, checkpoint_id: CheckpointId) -> None:
        self._history.complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: CheckpointId) -> None:
        self._history.abort(checkpoint_id)

    def restore(
        self,
        snapshots: Iterable[RestorableState],
        key_group_range: range,
        base: CheckpointId | None = None,
    ) -> None:
        self._require_alive()
        if self._tables:
            raise StateError("state must be restored before the first state is declared")
        restored_checkpoints: set[CheckpointId] = set()
        full_blocks: set[tuple[str, KeyGroup]] = set()
        for snapshot in snapshots:
            self._require_restorable(snapshot, restored_checkpoints)
            if snapshot.checkpoint_id is not None:
                restored_checkpoints.add(snapshot.checkpoint_id)
            if snapshot.kind is SnapshotKind.FULL:
                places = {place for place in snapshot.places() if place[1] in key_group_range}
                _require_disjoint(full_blocks, places)
                full_blocks.update(places)
            self._take_over(snapshot.states, snapshot.pieces(key_group_range))
        self._history.start_from(base)

    def dispose(self) -> None:
        self._disposed = True
        self._record_cleaners.clear()
        self._free()
        for table in self._tables.values():
            table.blocks.clear()
            table.tracker.forget()
        self._tables.clear()

    def _take_over(
        self, states: dict[str, StateMeta], pieces: Iterable[tuple[str, Blocks]]
    ) -> None:
        for name, meta in states.items():
            table = self._tables.get(name)
            if table is None:
                self._tables[name] = self._new_table(meta)
            else:
                require_compatible(table.meta, meta, self._operator_uid, restored=True)
                table.meta = meta
        for name, piece in pieces:
            self._tables[name].blocks.append(piece)

    def _require_restorable(
        self, snapshot: RestorableState, restored_checkpoints: set[CheckpointId]
    ) -> None:
        if snapshot.version > FORMAT_VERSION:
            raise StateError(
                f"the snapshot has format version {snapshot.version}, this release reads up to "
                f"{FORMAT_VERSION}; restore it with the release that wrote it or a newer one"
            )
        if snapshot.max_parallelism != self.max_parallelism:
            raise StateError(
                f"the state was saved with maximum parallelism {snapshot.max_parallelism}, but the "
                f"operator has {self.max_parallelism} now; call set_max_parallelism("
                f"{snapshot.max_parallelism}), it cannot change while state is kept"
            )
        if snapshot.kind is SnapshotKind.CHANGES and snapshot.base not in restored_checkpoints:
            raise StateError(
                f"the changes of checkpoint {snapshot.checkpoint_id} build on checkpoint "
                f"{snapshot.base}, which is missing; restore the whole chain in order"
            )

    def _existing(self, state_name: str) -> T:
        self._require_alive()
        table = self._tables.get(state_name)
        if table is None:
            raise StateError(
                f"there is no state {state_name!r}; the known ones are "
                f"{sorted(self._tables) or 'none'}"
            )
        table.decode()
        return table

    def _decoded(self) -> list[T]:
        for table in self._tables.values():
            table.decode()
        return list(self._tables.values())

    def _require_alive(self) -> None:
        if self._disposed:
            raise StateError("the state of this operator was disposed of: its subtask is closed")


def _require_disjoint(seen: set[tuple[str, KeyGroup]], places: set[tuple[str, KeyGroup]]) -> None:
    for name, key_group in seen & places:
        raise StateError(
            f"key group {key_group} of state {name!r} is in two full snapshots; give each chain of "
            "snapshots once, from its full one on"
        )
