"""`ChangelogMode`: which kinds of rows a stream has."""

from __future__ import annotations

from headrace.common.types import RowKind

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """Kinds of rows."""

    def __init__(self, kinds: frozenset[RowKind]) -> None:
        self.kinds = kinds

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows only ever come."""
        return ChangelogMode(frozenset({RowKind.INSERT}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Rows come, are replaced by key and deleted; of a deleted row only the key counts."""
        return ChangelogMode(frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE}))

    @staticmethod
    def all() -> ChangelogMode:
        """All kinds."""
        return ChangelogMode(frozenset(RowKind))

    @property
    def replaces(self) -> bool:
        """Whether an update is the new row alone, which replaces the old one by key."""
        return RowKind.UPDATE_AFTER in self.kinds and RowKind.UPDATE_BEFORE not in self.kinds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self.kinds == other.kinds

    def __hash__(self) -> int:
        return hash(self.kinds)
