"""The interface of keyed state backends: what operators and checkpoints ask of a subtask's tables.

`hashmap` keeps Python objects in dicts. A backend on disk implements the same with a write-back
cache of decoded objects. Operators know this interface only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from headrace.datastream.state import StateDescriptor
from headrace.graph.ids import CheckpointId
from headrace.runtime.state.key_cell import KeyCell
from headrace.runtime.state.snapshot import RestorableState, SnapshotKind, StateSnapshot

__all__ = ["KeyedStateBackend", "SnapshotKind", "StateSnapshot"]


class KeyedStateBackend(ABC):
    """The keyed state of one operator in one subtask; used by one thread.

    Calling order: `restore` at most once and before anything else; `get_or_create` at any time;
    `after_batch` for each batch; at the end of an epoch `snapshot` if there is a checkpoint (it is
    answered later by one of the two `notify` methods), then `epoch_end`; finally `dispose`.
    """

    #: Whether values are encoded when they leave the memory: a part of a large one costs all of it.
    encodes_values = False

    max_parallelism: int

    @abstractmethod
    def get_or_create(
        self, descriptor: StateDescriptor, cell: KeyCell, namespaced: bool = False
    ) -> Any:
        """A state object over the table of that name, scoped by `cell`.

        The same name again gives another object over the same table.

        Args:
            descriptor: Declares name, kind, type and time-to-live.
            cell: Where the operator puts the address before it calls user code.
            namespaced: Whether addresses are `(key, namespace)` rather than the key.

        Raises:
            StateMigrationError: Restored entries do not fit the descriptor.
            StateError: The name is in use for another kind or type of state.
        """

    @abstractmethod
    def state_names(self) -> list[str]:
        """Names of all states, including restored ones that have not been used yet."""

    @abstractmethod
    def keys(self, state_name: str, namespace: Any = None) -> list[Any]:
        """The keys that have an entry; of a namespaced state those in `namespace`, if given."""

    @abstractmethod
    def keys_and_namespaces(self, state_name: str) -> list[tuple[Any, Any]]:
        """The addresses of all entries of a namespaced state."""

    @abstractmethod
    def apply_to_all_keys(
        self,
        descriptor: StateDescriptor,
        fn: Callable[[Any, Any], Any],
        cell: KeyCell | None = None,
    ) -> None:
        """Calls `fn(key, state)` for each key with an entry in the (not namespaced) state.

        `cell`, if given, holds the key during each call and gets its old content back at the end,
        so that other states of the operator are in scope of the key too. `fn` may clear the state.
        """

    @abstractmethod
    def number_of_entries(self, state_name: str | None = None) -> int:
        """Entries of one state or of all; a list or map counts as one."""

    @abstractmethod
    def known_size(self) -> int | None:
        """Entries of all states, if that is known without looking at them."""

    @abstractmethod
    def forget_all(self) -> None:
        """Removes all entries of all states."""

    @abstractmethod
    def after_batch(self, records: int) -> None:
        """Called after each batch: runs the clean-up that a time-to-live wants for every record."""

    @abstractmethod
    def epoch_end(self) -> None:
        """The epoch is over: changes that no checkpoint will ask for are forgotten."""

    @abstractmethod
    def snapshot(
        self,
        kind: SnapshotKind | str = SnapshotKind.FULL,
        checkpoint_id: CheckpointId | None = None,
        *,
        deferred: bool = False,
    ) -> StateSnapshot:
        """Takes a consistent snapshot at the barrier.

        Args:
            kind: `full` or `changes`. Changes are those since the last checkpoint that was reported
                complete; without such a one the snapshot is a full one, as its `kind` then says.
            checkpoint_id: Begins a checkpoint that later changes may build upon. Leave it out for
                a snapshot of its own, such as a savepoint: it leaves the tracking alone.
            deferred: Return views, which the caller serializes in a forked child. Otherwise the
                snapshot is serialized already, and what user code changes later is not in it.
        """

    @abstractmethod
    def changes_since(self, base: CheckpointId) -> int | None:
        """How many entries a snapshot of changes on top of a checkpoint would hold.

        None if the changes since that checkpoint are not known, so that it would be a full one.
        """

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint is durable: the next changes build upon it. Unknown ids are ignored."""

    @abstractmethod
    def notify_checkpoint_aborted(self, checkpoint_id: CheckpointId) -> None:
        """The checkpoint is lost: the next one holds its changes too. Unknown ids are ignored."""

    @abstractmethod
    def restore(
        self,
        snapshots: Iterable[RestorableState],
        key_group_range: range,
        base: CheckpointId | None = None,
    ) -> None:
        """Takes over the entries of some key groups.

        Args:
            snapshots: For each subtask that wrote them, in any order of subtasks: one full
                snapshot, followed by the changes on top of it. They are read when their states
                are declared.
            key_group_range: The key groups that belong to this subtask now; others are left out.
            base: The restored checkpoint, if the next changes may build upon it.

        Raises:
            StateError: A piece is missing, twice there, or of another maximum parallelism.
        """

    @abstractmethod
    def detach(self) -> None:
        """The files of the restored snapshots may go away: read what is still needed of them."""

    @abstractmethod
    def dispose(self) -> None:
        """Frees all entries and handles. The backend cannot be used afterwards."""
