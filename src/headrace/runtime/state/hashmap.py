"""The `hashmap` backend: Python objects in dicts, one dict for each state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from headrace.runtime.state.declaration import StateMeta
from headrace.runtime.state.snapshot import TableView, decode_block
from headrace.runtime.state.table_backend import StateTable, TableStateBackend

__all__ = ["HashMapStateBackend"]


class _DictTable(StateTable):
    """Entries in a dict."""

    __slots__ = ()

    def __init__(self, meta: StateMeta, track_changes: bool) -> None:
        super().__init__(meta, {}, track_changes)

    def addresses(self) -> Iterator[Any]:
        return iter(list(self.entries))

    def count(self) -> int:
        return len(self.entries)

    def sync(self) -> None:
        """State objects report to the tracker directly."""

    def decode(self) -> None:
        restored: dict[Any, Any] = {}
        for key_group, data in chain.from_iterable(self.blocks):
            present, gone = decode_block(self.meta, key_group, data)
            restored.update(present)
            for address in gone:
                restored.pop(address, None)
        # All or nothing: state objects hold this very dict, and a half restored one looks complete.
        self.entries.update(restored)
        self.blocks.clear()


class HashMapStateBackend(TableStateBackend[_DictTable]):
    """Keeps the keyed state of an operator in memory, as Python objects."""

    def _new_table(self, meta: StateMeta) -> _DictTable:
        return _DictTable(meta, self._track_changes)

    def _views(
        self,
        tables: Sequence[_DictTable],
        changes: Sequence[set[Any]] | None,
        now: int,
        deferred: bool,
    ) -> list[TableView]:
        if changes is None:
            return [TableView(t.meta, t.entries, None, t.trim_at(now)) for t in tables]
        return [TableView(t.meta, t.entries, c) for t, c in zip(tables, changes, strict=True)]

    def _free(self) -> None:
        for table in self._tables.values():
            table.entries.clear()
