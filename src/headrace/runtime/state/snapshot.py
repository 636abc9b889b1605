"""A snapshot of keyed state: for each state and key group one block of bytes.

Until it is serialized a snapshot holds views of the live tables, which are valid as long as no user
code runs: serialize at once, or in a forked child process, whose memory stays as it was at the
barrier. Blocks of a key group can be read alone, so a restore at another parallelism reads ranges.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Protocol

from headrace.common.errors import StateError, shorten_repr
from headrace.graph.ids import CheckpointId, KeyGroup
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.pickling import dumps, first_unpicklable
from headrace.runtime.state.declaration import FORMAT_VERSION, StateMeta
from headrace.runtime.state.entry_codec import is_record_block, read_block

__all__ = [
    "Blocks",
    "RestorableState",
    "SnapshotKind",
    "StateSnapshot",
    "TableView",
    "View",
    "decode_block",
    "unpicklable",
    "unreadable",
]

_MOST_ENTRIES = 4_096

Blocks = Iterable[tuple[KeyGroup, bytes]]
"""Blocks of one state with their key groups; going through them may read a file."""

Block = tuple[dict[Any, Any], list[Any]]
"""Entries that are there, and addresses of entries that are gone since the base."""


class SnapshotKind(StrEnum):
    """What a snapshot holds: everything, or what changed since the last complete checkpoint."""

    FULL = "full"
    CHANGES = "changes"


class View(Protocol):
    """Tables at the barrier, on their way into blocks."""

    def blocks(
        self, max_parallelism: int, whole: bool = True
    ) -> Iterator[tuple[str, KeyGroup, bytes]]:
        """State name, key group and the bytes of each block; key groups together.

        Unless `whole`, a key group may be several blocks, none of them much too large.
        """

    def release(self) -> None:
        """Frees what this process holds for the view."""


class RestorableState(Protocol):
    """Keyed state of one subtask at a barrier, in memory or in a file; see `StateSnapshot`."""

    @property
    def kind(self) -> SnapshotKind: ...
    @property
    def max_parallelism(self) -> int: ...
    @property
    def checkpoint_id(self) -> CheckpointId | None: ...
    @property
    def base(self) -> CheckpointId | None: ...
    @property
    def states(self) -> dict[str, StateMeta]: ...
    @property
    def version(self) -> int: ...

    def places(self) -> Collection[tuple[str, KeyGroup]]:
        """State names and key groups that may have blocks."""

    def pieces(self, key_groups: range) -> Iterator[tuple[str, Blocks]]:
        """The blocks of some key groups, in order, each piece with the name of its state."""


@dataclass(slots=True)
class TableView:
    """One table at the barrier.

    Attributes:
        meta: What the table is.
        entries: The live entries.
        changed: The addresses to write, or None for all.
        trim: Takes a stored value without its expired parts; None if nothing is left of it.
    """

    meta: StateMeta
    entries: Mapping[Any, Any]
    changed: Collection[Any] | None = None
    trim: Callable[[Any], Any] | None = None

    def blocks(
        self, max_parallelism: int, whole: bool = True
    ) -> Iterator[tuple[str, KeyGroup, bytes]]:
        """State name, key group and the bytes of each block."""
        for key_group, block in sorted(_by_key_group(self, max_parallelism).items(), key=_group):
            for piece in (block,) if whole else _cut(block):
                yield self.meta.name, key_group, _encode_block(self.meta, piece)

    def release(self) -> None:
        """There is nothing to free."""

    def key_group(self, address: Any, max_parallelism: int) -> KeyGroup:
        """The key group of an entry."""
        return key_group_of(address[0] if self.meta.namespaced else address, max_parallelism)

    def rows(self) -> Iterator[tuple[Any, Any]]:
        """Address and stored value; None as the value means that the entry is gone."""
        get, trim = self.entries.get, self.trim
        if self.changed is not None:
            for address in self.changed:
                stored = get(address)
                yield address, stored if stored is None or trim is None else trim(stored)
        elif trim is None:
            yield from self.entries.items()
        else:
            for address, stored in self.entries.items():
                kept = trim(stored)
                if kept is not None:
                    yield address, kept


@dataclass(slots=True)
class StateSnapshot:
    """The keyed state of one subtask at a barrier.

    Attributes:
        kind: What it really holds; a snapshot of changes without a base is a full one.
        max_parallelism: Number of key groups.
        checkpoint_id: The checkpoint it belongs to; None for one that others never build upon.
        base: For changes: the complete checkpoint that they come on top of.
        states: Metadata by state name.
        blocks: Bytes by state name and key group; empty until `serialize`.
    """

    kind: SnapshotKind
    max_parallelism: int
    checkpoint_id: CheckpointId | None = None
    base: CheckpointId | None = None
    states: dict[str, StateMeta] = field(default_factory=dict)
    blocks: dict[tuple[str, KeyGroup], bytes] = field(default_factory=dict)
    views: list[View] = field(default_factory=list, repr=False)
    version: int = FORMAT_VERSION

    def serialize(self) -> StateSnapshot:
        """Turns the views into blocks, once, and returns the snapshot itself."""
        views, self.views = self.views, []
        for view in views:
            for name, key_group, block in view.blocks(self.max_parallelism):
                before = self.blocks.get((name, key_group))
                if before is not None:
                    block = _merged(self.states[name], key_group, before, block)
                self.blocks[name, key_group] = block
        return self

    def stream(self) -> Iterator[tuple[str, KeyGroup, bytes]]:
        """State name, key group and bytes of all blocks, made as they are asked for."""
        yield from ((name, group, block) for (name, group), block in self.blocks.items())
        for view in self.views:
            yield from view.blocks(self.max_parallelism, whole=False)

    def places(self) -> Collection[tuple[str, KeyGroup]]:
        """State names and key groups that have blocks."""
        self._require_serialized()
        return self.blocks.keys()

    def pieces(self, key_groups: range) -> Iterator[tuple[str, Blocks]]:
        """The blocks of some key groups, each with the name of its state."""
        self._require_serialized()
        for (name, group), block in self.blocks.items():
            if group in key_groups:
                yield name, [(group, block)]

    def release(self) -> None:
        """A forked child serializes this snapshot: free what this process holds for it."""
        for view in self.views:
            view.release()

    @property
    def is_serialized(self) -> bool:
        return not self.views

    @property
    def size_bytes(self) -> int:
        """Bytes of all blocks."""
        return sum(map(len, self.blocks.values()))

    def restrict(self, key_groups: range) -> StateSnapshot:
        """The part of this snapshot that a subtask with these key groups needs."""
        self._require_serialized()
        return StateSnapshot(
            kind=self.kind,
            max_parallelism=self.max_parallelism,
            checkpoint_id=self.checkpoint_id,
            base=self.base,
            states=self.states,
            blocks={at: block for at, block in self.blocks.items() if at[1] in key_groups},
            version=self.version,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_serialized()
        return StateSnapshot, (
            self.kind,
            self.max_parallelism,
            self.checkpoint_id,
            self.base,
            self.states,
            self.blocks,
            [],
            self.version,
        )

    def _require_serialized(self) -> None:
        if self.views:
            raise StateError(
                "this snapshot still holds views of live state; call serialize() at the barrier or "
                "in a forked child before you pass it on"
            )


def _group(item: tuple[KeyGroup, Block]) -> KeyGroup:
    return item[0]


def _by_key_group(view: TableView, max_parallelism: int) -> dict[KeyGroup, Block]:
    key_group_of_row = view.key_group
    blocks: dict[KeyGroup, Block] = {}
    for address, stored in view.rows():
        key_group = key_group_of_row(address, max_parallelism)
        block = blocks.get(key_group)
        if block is None:
            block = blocks[key_group] = ({}, [])
        if stored is None:
            block[1].append(address)
        else:
            block[0][address] = stored
    return blocks


def _cut(block: Block) -> Iterator[Block]:
    """The same in pieces of a moderate number of entries."""
    present, gone = block
    if len(present) + len(gone) <= _MOST_ENTRIES:
        yield block
        return
    rows = iter(present.items())
    while piece := dict(islice(rows, _MOST_ENTRIES)):
        yield piece, []
    for start in range(0, len(gone), _MOST_ENTRIES):
        yield {}, gone[start : start + _MOST_ENTRIES]


def _encode_block(meta: StateMeta, block: Block) -> bytes:
    try:
        return dumps(block)
    except Exception as error:
        rows = block[0].items()
        address, stored = first_unpicklable(rows, next(iter(rows), (None, None)))
        raise unpicklable(meta, address, stored, error) from error


def _merged(meta: StateMeta, key_group: KeyGroup, before: bytes, after: bytes) -> bytes:
    """One block of two, the second of which counts where both have an entry."""
    present, gone = decode_block(meta, key_group, before)
    new, newly_gone = decode_block(meta, key_group, after)
    for address in newly_gone:
        present.pop(address, None)
    return _encode_block(meta, ({**present, **new}, [*gone, *newly_gone]))


def unpicklable(meta: StateMeta, address: Any, stored: Any, error: Exception) -> StateError:
    """The error for a value that cannot be saved."""
    return StateError(
        f"state {meta.name!r} holds a value that cannot be pickled, so it cannot be saved: "
        f"{shorten_repr(stored)} at key {shorten_repr(address)} "
        f"({type(error).__name__}: {error}); keep connections, locks, files and generators out "
        "of state"
    )


def unreadable(meta: StateMeta, what: str, error: Exception) -> StateError:
    """The error for saved state that cannot be read."""
    return StateError(
        f"{what} of the saved state {meta.name!r} ({meta}) cannot be read: "
        f"{type(error).__name__}: {error}; keep the classes of saved values importable under "
        "their names, or fall back to another checkpoint if the file is damaged"
    )


def decode_block(meta: StateMeta, key_group: KeyGroup, data: bytes) -> Block:
    """Reads one block."""
    try:
        block: Block = (
            read_block(data, meta.namespaced) if is_record_block(data) else pickle.loads(data)
        )
    except Exception as error:
        raise unreadable(meta, f"key group {key_group}", error) from error
    return block
